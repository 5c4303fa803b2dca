"""The time of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: One number per stage.
Series = NDArray[np.float64]
#: Per stage, one number per block.
BlockSeries = tuple[NDArray[np.float64], ...]
#: The volume of a flow of 1 m³/s in an hour, in hm³.
HM3_PER_M3S_HOUR = 3600 / 1e6


@dataclass(frozen=True)
class Block:
    """A block of hours of a stage, in which all flows and powers are constant."""

    id: int
    name: str
    hours: float


@dataclass(frozen=True)
class Stage:
    """A stage: the period between two decisions.

    Attributes:
        id: as in the case.
        start: its first day.
        end: the day after its last.
        blocks: its hours; in the order of time if ``chronological``.
        chronological: whether blocks follow one another, with a balance of storage in each, or are parallel.
        season: which of the seasonal models is in force.
        openings: how many realisations the stage has.
        risk: its risk measure: a name, and the arguments that ``cobre.sddp.risk.from_spec`` takes with it.
        discount: the factor on the costs of the stages that follow.
    """

    id: int
    start: date
    end: date
    blocks: tuple[Block, ...]
    chronological: bool
    season: int
    openings: int
    risk: Mapping[str, Any] = field(default_factory=lambda: {"measure": "expectation"})
    discount: float = 1.0

    @property
    def hours(self) -> NDArray[np.float64]:
        """The hours of each block."""
        return np.array([block.hours for block in self.blocks])

    @property
    def hm3_per_m3s(self) -> NDArray[np.float64]:
        """The volume of a flow of 1 m³/s in each block."""
        return self.hours * HM3_PER_M3S_HOUR
