"""Transmission lines as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import BlockSeries, Series


@dataclass(frozen=True, eq=False)
class Line:
    """A transmission line between two buses. Its capacities are 0 while it is not in service."""

    id: int
    name: str
    source_bus: int
    target_bus: int
    direct_mw: BlockSeries
    reverse_mw: BlockSeries
    exchange_cost_per_mwh: Series
    efficiency: float  # the share of the power that arrives
