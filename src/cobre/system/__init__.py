"""A hydrothermal system as data: what there is, and every number of it, for every stage.

All defaults, overrides and factors are resolved: a number that may vary has one element per stage, in the
order of `System.stages`; one that may vary by block has an array per stage. Entities are sorted by id, so the
order in which files name them changes nothing. Powers are in MW, flows in m³/s, volumes in hm³.
"""

from cobre.system._entities import (
    Bus,
    Contract,
    DeficitSegment,
    Evaporation,
    Filling,
    Hydro,
    HydroPenalties,
    Inflow,
    Line,
    Phase,
    Planes,
    Pumping,
    Source,
    Thermal,
)
from cobre.system._future import Future
from cobre.system._generic import GenericConstraint, Term
from cobre.system._stages import HM3_PER_M3S_HOUR, Block, Stage
from cobre.system._system import System

__all__ = [
    "HM3_PER_M3S_HOUR",
    "Block",
    "Bus",
    "Contract",
    "DeficitSegment",
    "Evaporation",
    "Filling",
    "Future",
    "GenericConstraint",
    "Hydro",
    "HydroPenalties",
    "Inflow",
    "Line",
    "Phase",
    "Planes",
    "Pumping",
    "Source",
    "Stage",
    "System",
    "Term",
    "Thermal",
]
