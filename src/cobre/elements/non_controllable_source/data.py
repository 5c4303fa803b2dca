"""Non-controllable sources as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import BlockSeries, Series


@dataclass(frozen=True, eq=False)
class NonControllableSource:
    """Wind or sun: available is ``max_generation_mw · (mean + std · η, from 0 to 1) · factor`` of a block."""

    id: int
    name: str
    bus: int
    max_generation_mw: Series  # 0 while it is not in service
    mean: Series
    std: Series
    factors: BlockSeries
    curtailment_cost_per_mwh: Series
