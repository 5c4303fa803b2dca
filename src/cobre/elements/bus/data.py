"""Buses as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import BlockSeries, Series


@dataclass(frozen=True)
class DeficitSegment:
    """A segment of a bus's deficit: its depth, infinite for the last one, and its cost."""

    depth_mw: float
    cost_per_mwh: float


@dataclass(frozen=True, eq=False)
class Bus:
    """A bus with its load: ``(mean + std · η) · factor`` of the block, not below 0."""

    id: int
    name: str
    deficit: tuple[DeficitSegment, ...]
    excess_cost_per_mwh: Series
    load_mean_mw: Series
    load_std_mw: Series
    load_factors: BlockSeries

    @property
    def bus(self) -> int:
        """Itself: like a plant, a bus is at a bus."""
        return self.id
