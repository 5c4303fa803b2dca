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


#: The mean length of a year, and by how many days a period may differ from years: 52 weeks are two short.
YEAR_DAYS, APART_DAYS = 365.25, 10


def whole_years(start: date, end: date) -> int | None:
    """Return how many years a period has; None if it has no whole number of them.

    >>> whole_years(date(2024, 1, 1), date(2025, 12, 30)), whole_years(date(2024, 1, 1), date(2024, 2, 1))
    (2, None)
    """
    days = (end - start).days
    years = round(days / YEAR_DAYS)
    return years if abs(days - years * YEAR_DAYS) <= APART_DAYS else None


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
        noise_number: what its noise is drawn with; None for its place among the stages. Stages with the
            same number share their openings.
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
    noise_number: int | None = None

    @property
    def hours(self) -> NDArray[np.float64]:
        """The hours of each block."""
        return np.array([block.hours for block in self.blocks])

    @property
    def hm3_per_m3s(self) -> NDArray[np.float64]:
        """The volume of a flow of 1 m³/s in each block."""
        return self.hours * HM3_PER_M3S_HOUR
