"""Checks of ``stages.json``: dates, seasons, blocks; and the stages as resolved data."""

from __future__ import annotations

from collections import defaultdict

from cobre import system as resolved
from cobre.case import _graph
from cobre.elementary import power
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import StageInput, Stages


def check_blocks(files: CaseFiles, report: Report) -> None:
    """Report blocks that are not numbered from 0 on."""
    for stage in files.timeline.stages:
        found = sorted(block.id for block in stage.blocks)
        if found != list(range(len(found))):
            message = f"block ids must be 0 to {len(found) - 1}, not {found}"
            remedy = "number the blocks from 0 on"
            report.error(
                "dimension", "stages.json", message, remedy, entity=f"stage {stage.id}", field="blocks"
            )


def check_meaning(files: CaseFiles, stages: Stages, report: Report) -> None:
    """Report dates, seasons and transitions that make no sense."""
    if not stages.stages and files.is_complete("stages.json"):
        report.error("meaning", "stages.json", "there are no stages", "add at least one", field="stages")
    _check_dates(stages, report, is_complete=files.is_complete("stages.json"))
    _check_seasons(stages, report)
    _graph.check(files, stages, report)


def _check_dates(stages: Stages, report: Report, *, is_complete: bool) -> None:
    for stage in stages.all:
        if stage.start_date >= stage.end_date:
            message = f"it ends on {stage.end_date}, but begins on {stage.start_date}"
            value = str(stage.end_date)
            remedy = "correct one of the two dates: a stage ends on the first day of the next"
            report.error(
                "meaning",
                "stages.json",
                message,
                remedy,
                entity=f"stage {stage.id}",
                field="end_date",
                value=value,
            )
    for one, following in _graph.successions(stages):
        if one.start_date < following.end_date and following.start_date < one.end_date:
            message = f"it begins on {following.start_date}, before stage {one.id} ends on {one.end_date}"
            remedy = "correct the dates, if the days that both stages have are not meant to count twice"
            value = str(following.start_date)
            report.warn(
                "meaning",
                "stages.json",
                message,
                remedy,
                entity=f"stage {following.id}",
                field="start_date",
                value=value,
            )
        elif following.start_date < one.end_date:
            message = f"it begins on {following.start_date}, before stage {one.id} ends on {one.end_date}"
            report.error(
                "meaning",
                "stages.json",
                message,
                entity=f"stage {following.id}",
                field="start_date",
                value=str(following.start_date),
                suggestion="the ids of stages must be in the order of their dates",
            )
        elif is_complete and following.start_date > one.end_date:
            message = f"stages leave a gap from {one.end_date} to {following.start_date}"
            remedy = "correct the dates, if the gap is not meant"
            report.warn(
                "meaning", "stages.json", message, remedy, entity=f"stage {following.id}", field="start_date"
            )


def _check_seasons(stages: Stages, report: Report) -> None:
    definitions = stages.season_definitions
    if definitions:
        known = {season.id for season in definitions.seasons}
        for stage in stages.all:
            if stages.season(stage) not in known:
                message = f"season_definitions has no season {stages.season(stage)}"
                remedy = "define the season, or name another"
                report.error(
                    "reference", "stages.json", message, remedy, entity=f"stage {stage.id}", field="season_id"
                )
        for season in definitions.seasons:
            given = (season.day_start, season.month_end, season.day_end)
            if definitions.cycle_type == "custom" and None in given:
                message = "a custom season needs day_start, month_end and day_end"
                remedy = "add what is missing, or use the cycle type monthly or weekly"
                report.error("schema", "stages.json", message, remedy, entity=f"season {season.id}")
    days = defaultdict(set)
    for stage in stages.stages:
        if stage.season_id is not None:
            days[stage.season_id].add((stage.end_date - stage.start_date).days)
    for number, lengths in sorted(days.items()):
        if max(lengths) - min(lengths) > 7:
            message = (
                f"its stages have from {min(lengths)} to {max(lengths)} days: too different for one model"
            )
            remedy = "give stages of other lengths seasons of their own"
            report.error(
                "meaning", "stages.json", message, remedy, entity=f"season {number}", field="season_id"
            )


def resolve_stage(stages: Stages, stage: StageInput) -> resolved.Stage:
    """Return a stage as resolved data."""
    return resolved.Stage(
        id=stage.id,
        start=stage.start_date,
        end=stage.end_date,
        blocks=tuple(
            resolved.Block(block.id, block.name, block.hours)
            for block in sorted(stage.blocks, key=lambda block: block.id)
        ),
        chronological=stage.block_mode == "chronological",
        season=stages.season(stage),
        openings=stage.num_scenarios,
        risk=stage.risk,
        discount=_discount(stages, stage),
        noise_number=stages.noise_groups[stage.id],
    )


def _discount(stages: Stages, stage: StageInput) -> float:
    rate = _graph.rate_of(stages, stage.id)
    return power(1 + rate, -(stage.end_date - stage.start_date).days / 365.25)
