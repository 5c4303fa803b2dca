"""Checks of ``stages.json`` against the calendar: seasons, hours and earlier stages that contradict dates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import date, timedelta

from cobre.formatting import count
from cobre.inputs.calendar import Calendar
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import PreStudyStage, SeasonDefinitions, StageInput, Stages

FILE = "stages.json"
#: By what share the hours of a stage may differ from those of its days: months often have 730 hours.
HOURS_TOLERANCE = 1 / 8


def check(files: CaseFiles, stages: Stages, report: Report) -> None:
    """Report what contradicts the dates of stages. Each check gives one finding, with its worst example."""
    _check_hours(stages, report)
    if stages.season_definitions:
        _check_definitions(stages.season_definitions, report)
        _check_seasons(stages, stages.season_definitions, report)
    if files.is_complete(FILE):
        _check_earlier(stages, report)


def _check_hours(stages: Stages, report: Report) -> None:
    """Report stages whose blocks have far more or fewer hours than their days."""
    found = []
    for stage in stages.ordered:
        days, hours = (stage.end_date - stage.start_date).days, sum(block.hours for block in stage.blocks)
        if days > 0 and abs(hours - 24 * days) > HOURS_TOLERANCE * 24 * days:
            found.append((abs(hours / (24 * days) - 1), hours, days, stage))
    if found:
        _, hours, days, stage = max(found, key=lambda one: one[0])
        message = (
            f"the blocks of {count(len(found), 'stage')} have other hours than the days from start_date to "
            f"end_date, such as {hours:g} hours in {count(days, 'day')}, which have {24 * days}"
        )
        remedy = "correct the hours of the blocks, or the dates"
        entity = f"stage {stage.id}"
        report.warn("meaning", FILE, message, remedy, entity=entity, field="blocks.hours", value=hours)


def _check_definitions(definitions: SeasonDefinitions, report: Report) -> None:
    """Report days of seasons that are not read, and seasons that begin together."""
    for field in ("day_start", "month_end", "day_end"):
        given = [season for season in definitions.seasons if getattr(season, field) is not None]
        if given and definitions.cycle_type != "custom":
            message = f"has no effect: seasons of the type {definitions.cycle_type} have no days of their own"
            where, remedy = f"season_definitions.seasons.{field}", "leave it out, or use the type custom"
            entity = f"season {given[0].id}"
            report.warn("unsupported", FILE, message, remedy, entity=entity, field=where)
    begins: dict[object, int] = {}
    for season in definitions.seasons if definitions.cycle_type == "monthly" else ():
        first = begins.setdefault(season.month_start, season.id)
        if first != season.id:
            message = (
                f"season {first} has month {season.month_start}, too: observations of it are the first's"
            )
            remedy = "give each season a month of its own, or use the type custom"
            where, entity = "season_definitions.seasons.month_start", f"season {season.id}"
            report.warn(
                "meaning", FILE, message, remedy, entity=entity, field=where, value=season.month_start
            )


def _check_seasons(stages: Stages, definitions: SeasonDefinitions, report: Report) -> None:
    """Report stages of which no day is in their season."""
    seasons = {season.id: season for season in definitions.seasons}
    wrong = [
        stage
        for stage in stages.all
        if stages.season(stage) in seasons and not _meets(definitions, stages.season(stage), stage)
    ]
    if wrong:
        first = wrong[0]
        message = (
            f"no day of {count(len(wrong), 'stage')} is in the season that season_id names, such as "
            f"season {stages.season(first)} from {first.start_date} to {first.end_date}"
        )
        remedy = "correct season_id, the dates, or month_start of the season in season_definitions"
        number = stages.season(first)
        report.warn("meaning", FILE, message, remedy, entity=_name(first), field="season_id", value=number)


def _meets(definitions: SeasonDefinitions, season: int, stage: StageInput | PreStudyStage) -> bool:
    return any(definitions.contains(season, day) for day in _days(stage.start_date, stage.end_date))


def _days(start: date, end: date) -> Iterator[date]:
    """The days of a stage; the first 400 tell of all seasons."""
    return (start + timedelta(day) for day in range(min((end - start).days, 400)))


def _name(stage: StageInput | PreStudyStage) -> str:
    return f"stage {stage.id}" if isinstance(stage, StageInput) else f"pre-study stage {stage.id}"


def _check_earlier(stages: Stages, report: Report) -> None:
    """Report earlier stages that do not lead, one after the other, to the first of the study.

    Where seasons are defined, lags look back to those: the study may begin within one, and the stages before
    it be of several lengths; those that are as long as its first season lead to that.
    """
    earlier = sorted(stages.pre_study_stages, key=lambda stage: stage.id)
    first, calendar = stages.ordered[:1], Calendar.of(stages)
    begins = {stage.id: stage.start_date for stage in stages.all}
    if calendar and first:
        own = stages.season(first[0])
        begins[first[0].id] = min(first[0].start_date, calendar.period(own, first[0]).start)
        like = calendar.resolution(own)
        earlier = [stage for stage in earlier if calendar.resolution(stages.season(stage)) == like]
    ordered: list[StageInput | PreStudyStage] = [*earlier, *first]
    for one, following in itertools.pairwise(ordered):
        if one.end_date != begins[following.id]:
            message = (
                f"end_date {one.end_date} is not the start_date of {_name(following)}, {begins[following.id]}"
            )
            remedy = "let each pre-study stage end when the next one begins; ids count back from -1"
            value = str(one.end_date)
            report.warn("meaning", FILE, message, remedy, entity=_name(one), field="end_date", value=value)
