"""Dates of the stages of trajectories, which go on where a cyclic study begins its cycle again."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

from cobre.system import System, whole_years


class Period(NamedTuple):
    """A stage of a trajectory: its first day, the day after its last, and its season."""

    start: date
    end: date
    season: int


def periods(system: System) -> list[Period]:
    """Return the period of each stage of a trajectory; none if they differ among trajectories."""
    ways = [[system.stages[stage] for stage in stages] for stages in system.graph.steps]
    if any(len({(one.start, one.end, one.season) for one in stages}) > 1 for stages in ways):
        return []
    path = [stages[0] for stages in ways]
    found, years, days = [Period(path[0].start, path[0].end, path[0].season)], 0, 0
    for before, stage in pairwise(path):
        if stage.start < before.end:  # back to the beginning of the cycle
            cycle = whole_years(stage.start, before.end)
            years += cycle or 0
            days += (before.end - stage.start).days if cycle is None else 0
        start, end = (_later(day, years, days) for day in (stage.start, stage.end))
        found.append(Period(start, end, stage.season))
    return found


def _later(day: date, years: int, days: int) -> date:
    try:
        moved = day.replace(year=day.year + years)
    except ValueError:  # 29 February in a year that has none
        moved = date(day.year + years, 3, 1)
    return moved + timedelta(days)
