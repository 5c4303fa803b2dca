"""The time of a study."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

#: One number per stage.
Series = NDArray[np.float64]
#: Per stage, one number per block.
BlockSeries = tuple[NDArray[np.float64], ...]
#: hm³ that a flow of 1 m³/s makes in an hour.
HM3_PER_M3S_HOUR = 3600 / 1e6


@dataclass(frozen=True)
class Block:
    """Some hours of a stage in which all flows and powers are constant."""

    id: int
    name: str
    hours: float


@dataclass(frozen=True)
class Stage:
    """A period between two decisions.

    Attributes:
        id: as in the case.
        start: its first day.
        end: the day after its last.
        blocks: its hours; in the order of time if ``chronological``.
        chronological: whether water can be kept from one block for the next, rather than for all alike.
        season: which of the seasonal models is in force.
        openings: how many realisations the stage has.
        risk: the weight of, and the share in, the conditional value at risk: 0 and 1 for the expectation.
        discount: what a cost of the stages that follow counts for.
    """

    id: int
    start: date
    end: date
    blocks: tuple[Block, ...]
    chronological: bool
    season: int
    openings: int
    risk: tuple[float, float] = (0.0, 1.0)
    discount: float = 1.0

    @property
    def hours(self) -> NDArray[np.float64]:
        """Of each block."""
        return np.array([block.hours for block in self.blocks])

    @property
    def hm3_per_m3s(self) -> NDArray[np.float64]:
        """What a flow of 1 m³/s makes in each block."""
        return self.hours * HM3_PER_M3S_HOUR
