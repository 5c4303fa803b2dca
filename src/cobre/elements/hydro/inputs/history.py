"""Observed inflows, by year and season."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from cobre.elements.hydro.inputs.files import HISTORY
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages
from cobre.inputs.tables import Table

_NOWHERE = -1


@dataclass(frozen=True, eq=False)
class SeasonalHistory:
    """Observations of all plants by year and season; those that share a season are one, by their days.

    Attributes:
        hydros: by id.
        first_year: of the first row.
        seasons: of a year, in their order.
        values_m3s: rows by plants, a row for each season of each year; NaN where nothing was observed.
        homeless: days that belong to no season.
        shared: how many observations share a season of a year with another.
    """

    hydros: tuple[int, ...]
    first_year: int
    seasons: tuple[int, ...]
    values_m3s: NDArray[np.float64]
    homeless: tuple[date, ...]
    shared: int

    @staticmethod
    def of(table: Table, stages: Stages) -> SeasonalHistory:
        """The history of a table."""
        days, which = np.unique(table["date"], return_inverse=True)
        dates: list[date] = days.astype(object).tolist()
        cycle = stages.cycle
        found = [stages.season_of(day) for day in dates]
        homeless = tuple(day for day, place in zip(dates, found, strict=True) if place is None)
        first_year = min((place[0] for place in found if place is not None), default=0)
        rows = np.array(
            [
                _NOWHERE if place is None else (place[0] - first_year) * len(cycle) + cycle.index(place[1])
                for place in found
            ],
            np.int64,
        )[which]
        length = np.array([monthrange(day.year, day.month)[1] for day in dates], np.float64)[which]
        hydros, columns = np.unique(table["hydro_id"], return_inverse=True)
        shape = (int(rows.max(initial=-1)) // max(len(cycle), 1) + 1) * len(cycle), len(hydros)
        known = rows != _NOWHERE
        cells = (rows * len(hydros) + columns)[known]
        values, shared = _means(cells, table["value_m3s"][known], length[known], shape[0] * shape[1])
        return SeasonalHistory(
            tuple(hydros.tolist()), first_year, cycle, values.reshape(shape), homeless, shared
        )

    def observations(self, hydro: int) -> list[tuple[int, int, float]]:
        """Year, place of the season in the year, and inflow of all that is known of a plant."""
        if hydro not in self.hydros:
            return []
        values = self.values_m3s[:, self.hydros.index(hydro)]
        rows = np.flatnonzero(~np.isnan(values)).tolist()
        count = len(self.seasons)
        return [(row // count, row % count, value) for row, value in zip(rows, values[rows], strict=True)]

    def counts(self) -> NDArray[np.int64]:
        """Number of observations, by season and plant."""
        years = len(self.values_m3s) // max(len(self.seasons), 1)
        by_year = ~np.isnan(self.values_m3s.reshape(years, len(self.seasons), len(self.hydros)))
        counts: NDArray[np.int64] = np.count_nonzero(by_year, axis=0)
        return counts

    def row(self, year: int, season: int) -> int:
        """The row of a season of a year; it may be beyond all that there are."""
        return (year - self.first_year) * len(self.seasons) + self.seasons.index(season)

    def before(self, hydro: int, row: int) -> list[float]:
        """The observations before a row, the latest first, until the first that is missing."""
        found: list[float] = []
        if hydro not in self.hydros:
            return found
        values = self.values_m3s[:, self.hydros.index(hydro)]
        while 0 <= (row := row - 1) < len(values) and not np.isnan(values[row]):
            found.append(float(values[row]))
        return found


def _means(
    cells: NDArray[np.int64], values: NDArray[np.float64], weights: NDArray[np.float64], size: int
) -> tuple[NDArray[np.float64], int]:
    """The weighted mean of the values of each cell, NaN where there are none; and how many share a cell."""
    count = np.bincount(cells, minlength=size)
    result = np.full(size, np.nan)
    result[cells] = values  # the value itself where it is alone, without a division
    several = count > 1
    total = np.bincount(cells, weights, size)
    shares = weights / total[cells]
    result[several] = np.bincount(cells, values * shares, size)[several]
    return result, int(count[several].sum())


def check_days(history: SeasonalHistory, report: Report) -> None:
    """Report observations of which nobody can say the season, and those that have to be merged."""
    if history.homeless:
        shown = ", ".join(str(day) for day in history.homeless[:3])
        more = f" and {len(history.homeless) - 3} other days" if len(history.homeless) > 3 else ""
        report.error(
            "meaning",
            HISTORY.name,
            f"{shown}{more} belong to no season, or to several",
            field="date",
            suggestion="season_definitions of stages.json must cover the year, and no day twice",
        )
    if history.shared:
        message = f"{history.shared} observations share a season of a year with others: their mean is used"
        remedy = "give one observation for each season of a year, if their mean is not meant"
        report.warn("meaning", HISTORY.name, message, remedy, field="date")
