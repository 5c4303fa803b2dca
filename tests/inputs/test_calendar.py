"""Seasons in the calendar, by hand."""

from datetime import date
from itertools import islice

import pytest

from cobre.inputs.calendar import Calendar, Period
from cobre.inputs.stages import PreStudyStage, SeasonDefinitions
from tests.hydrothermal.seasonal_cases import BOTH, MONTHS, custom

WEEKS = {
    "cycle_type": "weekly",
    "seasons": [{"id": week, "label": str(week), "month_start": 1} for week in range(52)],
}
#: Wet from the first of November to the end of April, and dry.
HALVES = {"cycle_type": "custom", "seasons": [custom(0, 11, 4), custom(1, 5, 10)]}


def calendar(definitions):
    return Calendar(SeasonDefinitions.model_validate(definitions))


def stage(start, end):
    return PreStudyStage(id=-1, start_date=date.fromisoformat(start), end_date=date.fromisoformat(end))


def period(season, start, end):
    return Period(season, date.fromisoformat(start), date.fromisoformat(end))


@pytest.mark.parametrize(
    ("definitions", "season", "dates", "expected"),
    [
        (MONTHS, 1, ("2024-02-01", "2024-03-01"), ("2024-02-01", "2024-03-01")),
        (MONTHS, 11, ("2023-12-28", "2024-01-04"), ("2023-12-01", "2024-01-01")),
        (MONTHS, 0, ("2023-12-28", "2024-01-04"), ("2024-01-01", "2024-02-01")),
        (MONTHS, 11, ("2024-01-04", "2024-01-11"), ("2023-12-01", "2024-01-01")),  # the nearest
        (WEEKS, 0, ("2024-12-30", "2025-01-06"), ("2024-12-30", "2025-01-06")),
        (WEEKS, 51, ("2020-12-21", "2020-12-28"), ("2020-12-21", "2021-01-04")),  # with the days of a 53rd
        (BOTH, 1, ("2024-02-01", "2024-03-01"), ("2024-02-01", "2024-03-01")),  # to the 29th
        (BOTH, 12, ("2025-01-01", "2025-04-01"), ("2025-01-01", "2025-04-01")),
        (HALVES, 0, ("2024-03-01", "2024-04-01"), ("2023-11-01", "2024-05-01")),
    ],
)
def test_the_season_of_a_stage(definitions, season, dates, expected):
    assert calendar(definitions).period(season, stage(*dates)) == period(season, *expected)


@pytest.mark.parametrize(
    ("definitions", "start", "before"),
    [
        (MONTHS, period(1, "2024-02-01", "2024-03-01"), [(0, "2024-01-01"), (11, "2023-12-01")]),
        (WEEKS, period(0, "2024-12-30", "2025-01-06"), [(51, "2024-12-23"), (50, "2024-12-16")]),
        (WEEKS, period(0, "2021-01-04", "2021-01-11"), [(51, "2020-12-21")]),
        (BOTH, period(0, "2024-01-01", "2024-02-01"), [(11, "2023-12-01"), (10, "2023-11-01")]),
        (BOTH, period(13, "2024-04-01", "2024-07-01"), [(12, "2024-01-01"), (15, "2023-10-01")]),
        (HALVES, period(0, "2023-11-01", "2024-05-01"), [(1, "2023-05-01"), (0, "2022-11-01")]),
    ],
)
def test_seasons_before_and_after(definitions, start, before):
    own = calendar(definitions)
    found = list(islice(own.before(start), len(before)))
    assert [(one.season, str(one.start)) for one in found] == before
    assert own.after(found[0]) == start


def test_seasons_of_one_length_are_a_resolution():
    resolutions = calendar(BOTH).resolutions
    assert [[season.id for season in own] for own in resolutions] == [[*range(12)], [12, 13, 14, 15]]
    assert [calendar(BOTH).resolution(season) for season in (0, 11, 12, 15)] == [0, 0, 1, 1]
    assert len(calendar(HALVES).resolutions) == len(calendar(MONTHS).resolutions) == 1


def test_a_last_day_that_is_the_first_of_the_next_belongs_to_that():
    shared = [
        custom(0, 1, 6) | {"month_end": 7, "day_end": 1},
        custom(1, 7, 12) | {"month_end": 1, "day_end": 1},
    ]
    own = calendar({"cycle_type": "custom", "seasons": shared})
    assert own.period(0, stage("2024-03-01", "2024-04-01")) == period(0, "2024-01-01", "2024-07-01")
    assert len(own.resolutions) == 1


def test_days_near_the_ends_of_the_calendar_have_seasons():
    """Their neighbours may be of other years: there are no years 0 and 10000."""
    own = calendar(MONTHS)
    for start, end in (("0001-01-01", "0001-02-01"), ("9999-11-01", "9999-12-01")):
        assert len(list(islice(own.before(own.period(0, stage(start, end))), 24))) == 24
