"""Thermal plants as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import BlockSeries


@dataclass(frozen=True, eq=False)
class Thermal:
    """A thermal plant: generation at a linear cost, between hard bounds."""

    id: int
    name: str
    bus: int
    min_mw: BlockSeries  # 0 while it is not in service, as is the upper bound
    max_mw: BlockSeries
    cost_per_mwh: BlockSeries
