"""Seasons in the calendar: when each begins and ends in a year, and which one comes before it.

Seasons of different length may cover the same days, as months and quarters do. Each length is a resolution of
its own: the season before a quarter is a quarter, whatever months there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import NamedTuple

from cobre.inputs.stages import PreStudyStage, Season, SeasonDefinitions, StageInput, Stages

DAY = timedelta(days=1)
#: A year without a 29th of February, to compare seasons in.
_USUAL = 2023


class Period(NamedTuple):
    """A season of some year, from its first day to the one after its last."""

    season: int
    start: date
    end: date

    def days(self, start: date, end: date) -> int:
        """The number of its days in another period."""
        return max((min(self.end, end) - max(self.start, start)).days, 0)


@dataclass(frozen=True)
class Calendar:
    """The seasons of a case, by resolution."""

    definitions: SeasonDefinitions

    @staticmethod
    def of(stages: Stages) -> Calendar | None:
        """The seasons of a file; None if it defines none, one for all, or not those that stages name."""
        definitions = stages.season_definitions
        if definitions is None or len(definitions.seasons) == 1:
            return None
        known = {season.id for season in definitions.seasons}
        whole = all(None not in (one.day_start, one.month_end, one.day_end) for one in definitions.seasons)
        named = {stages.season(stage) for stage in stages.all}
        usable = len(known) == len(definitions.seasons) and named <= known
        return Calendar(definitions) if usable and (whole or definitions.cycle_type != "custom") else None

    @cached_property
    def resolutions(self) -> tuple[tuple[Season, ...], ...]:
        """Seasons that do not overlap, in the order of the year; the shortest ones first."""
        found: list[list[Season]] = []
        for season in sorted(self.definitions.seasons, key=lambda season: (self._length(season), season.id)):
            fitting = [own for own in found if not any(self._overlap(season, other) for other in own)]
            own = fitting[0] if fitting else []
            own.append(season)
            if not fitting:
                found.append(own)
        return tuple(tuple(sorted(own, key=lambda one: self._dates(one, _USUAL)[0])) for own in found)

    def resolution(self, season: int) -> int:
        """The number of a season's resolution."""
        return next(i for i, own in enumerate(self.resolutions) if any(one.id == season for one in own))

    def period(self, season: int, stage: StageInput | PreStudyStage) -> Period:
        """The year's season that a stage is of: the one that has most of its days, or is nearest."""
        near = [self._period(season, stage.start_date.year + more) for more in (-1, 0, 1)]

        def distance(period: Period) -> tuple[int, int]:
            apart = abs((period.start - stage.start_date).days)
            return -period.days(stage.start_date, stage.end_date), apart

        return min(near, key=distance)

    def before(self, period: Period) -> Iterator[Period]:
        """Yield the periods before one, the latest first, in its resolution."""
        return self._walk(period, -1)

    def after(self, period: Period) -> Period:
        """The period that follows in its resolution."""
        return next(self._walk(period, 1))

    def _walk(self, period: Period, step: int) -> Iterator[Period]:
        own = self.resolutions[self.resolution(period.season)]
        place = [season.id for season in own].index(period.season)
        year = self._year(period)
        while True:
            place += step
            if not 0 <= place < len(own):
                place %= len(own)
                year += step
            yield self._period(own[place].id, year)

    def _year(self, period: Period) -> int:
        """The year whose season a period is: an ISO week may begin in December of the year before."""
        return period.start.isocalendar().year if self._is_weekly else period.start.year

    @property
    def _is_weekly(self) -> bool:
        return self.definitions.cycle_type == "weekly"

    def _period(self, season: int, year: int) -> Period:
        found = next(one for one in self.definitions.seasons if one.id == season)
        return Period(season, *self._dates(found, year))

    def _dates(self, season: Season, year: int) -> tuple[date, date]:
        """The first day of a season, and the day after its last; the 28th of February ends that month."""
        year = min(max(year, _USUAL - 2000), _USUAL + 6000)  # dates beyond have no year before or after
        if self._is_weekly:
            start = date.fromisocalendar(year, min(season.id + 1, 52), 1)
            following = date.fromisocalendar(year + 1, 1, 1)
            return start, following if season.id + 1 >= 52 else start + 7 * DAY
        start = _day(year, *season.begins)
        if self.definitions.cycle_type == "monthly":
            return start, _day(year + season.month_start // 12, season.month_start % 12 + 1, 1)
        month, last = season.month_end or season.month_start, season.day_end or 31
        ends_later = (month, last) < season.begins
        end = _day(year + ends_later, month, 31 if (month, last) == (2, 28) else last) + DAY
        shared = any(other.begins == (month, last) for other in self.definitions.seasons)
        return start, end - DAY if shared and end - DAY > start else end

    def _length(self, season: Season) -> int:
        start, end = self._dates(season, _USUAL)
        return (end - start).days

    def _overlap(self, one: Season, other: Season) -> bool:
        period = Period(one.id, *self._dates(one, _USUAL))
        return any(period.days(*self._dates(other, year)) for year in (_USUAL - 1, _USUAL, _USUAL + 1))


def _day(year: int, month: int, day: int) -> date:
    """A day of a month, or its last where it has no such day."""
    following = date(year + month // 12, month % 12 + 1, 1)
    return min(date(year, month, 1) + (day - 1) * DAY, following - DAY)
