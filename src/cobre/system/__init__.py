"""A hydrothermal system as resolved data: its stages, and its elements by kind.

All defaults, overrides and factors are resolved: a number that may vary has one element per stage, in the
order of `System.stages`; one that may vary by block has an array per stage. The classes of elements are in
`cobre.elements`.
"""

from cobre.system._future import Future
from cobre.system._graph import PolicyGraph, negligible_after
from cobre.system._stages import HM3_PER_M3S_HOUR, Block, BlockSeries, Series, Stage, whole_years
from cobre.system._system import Element, System

__all__ = [
    "HM3_PER_M3S_HOUR",
    "Block",
    "BlockSeries",
    "Element",
    "Future",
    "PolicyGraph",
    "Series",
    "Stage",
    "System",
    "negligible_after",
    "whole_years",
]
