"""Checks of ``stages.json``: dates, seasons, transitions, blocks; and the stages as resolved data."""

from __future__ import annotations

import itertools
from collections import defaultdict

from cobre import system as resolved
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import StageInput, Stages


def check_blocks(files: CaseFiles, report: Report) -> None:
    """Report blocks that are not numbered from 0 on."""
    for stage in files.timeline.stages:
        found = sorted(block.id for block in stage.blocks)
        if found != list(range(len(found))):
            message = f"block ids must be 0 to {len(found) - 1}, not {found}"
            report.error("dimension", "stages.json", message, entity=f"stage {stage.id}", field="blocks")


def check_meaning(stages: Stages, report: Report) -> None:
    """Report dates, seasons and transitions that make no sense."""
    _check_dates(stages, report)
    _check_seasons(stages, report)
    _check_transitions(stages, report)


def _check_dates(stages: Stages, report: Report) -> None:
    if not stages.stages:
        report.error("meaning", "stages.json", "there are no stages", field="stages")
    for stage in stages.all:
        if stage.start_date >= stage.end_date:
            message = f"it ends on {stage.end_date}, but begins on {stage.start_date}"
            value = str(stage.end_date)
            report.error(
                "meaning", "stages.json", message, entity=f"stage {stage.id}", field="end_date", value=value
            )
    ordered = stages.ordered
    for one, following in itertools.pairwise(ordered):
        if following.start_date < one.end_date:
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
        elif following.start_date > one.end_date:
            message = f"stages leave a gap from {one.end_date} to {following.start_date}"
            report.warn("meaning", "stages.json", message, entity=f"stage {following.id}", field="start_date")


def _check_seasons(stages: Stages, report: Report) -> None:
    definitions = stages.season_definitions
    if definitions:
        known = {season.id for season in definitions.seasons}
        for stage in stages.all:
            if stages.season(stage) not in known:
                message = f"season_definitions has no season {stages.season(stage)}"
                report.error(
                    "reference", "stages.json", message, entity=f"stage {stage.id}", field="season_id"
                )
        for season in definitions.seasons:
            given = (season.day_start, season.month_end, season.day_end)
            if definitions.cycle_type == "custom" and None in given:
                message = "a custom season needs day_start, month_end and day_end"
                report.error("schema", "stages.json", message, entity=f"season {season.id}")
    days = defaultdict(set)
    for stage in stages.stages:
        if stage.season_id is not None:
            days[stage.season_id].add((stage.end_date - stage.start_date).days)
    for number, lengths in sorted(days.items()):
        if max(lengths) - min(lengths) > 7:
            message = (
                f"its stages have from {min(lengths)} to {max(lengths)} days: too different for one model"
            )
            report.error("meaning", "stages.json", message, entity=f"season {number}", field="season_id")


def _check_transitions(stages: Stages, report: Report) -> None:
    known = {stage.id for stage in stages.stages}
    total: dict[int, float] = defaultdict(float)
    for index, transition in enumerate(stages.policy_graph.transitions):
        for field in ("source_id", "target_id"):
            stage = getattr(transition, field)
            if stage not in known:
                where = f"policy_graph.transitions[{index}].{field}"
                report.error(
                    "reference", "stages.json", f"there is no stage {stage}", field=where, value=stage
                )
        total[transition.source_id] += transition.probability
    for stage, probability in sorted(total.items()):
        if abs(probability - 1) > 1e-6:
            message = f"the probabilities of what follows sum to {probability:g}, not to 1"
            where = "policy_graph.transitions"
            report.error(
                "meaning", "stages.json", message, entity=f"stage {stage}", field=where, value=probability
            )


def resolve_stage(stages: Stages, stage: StageInput) -> resolved.Stage:
    """Return a stage as resolved data."""
    risk = stage.risk_measure
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
        risk={"measure": risk} if isinstance(risk, str) else risk.spec(),
        discount=_discount(stages, stage),
    )


def _discount(stages: Stages, stage: StageInput) -> float:
    graph = stages.policy_graph
    rates = [edge.annual_discount_rate_override for edge in graph.transitions if edge.source_id == stage.id]
    rate = next((rate for rate in rates if rate is not None), graph.annual_discount_rate)
    return float((1 + rate) ** (-(stage.end_date - stage.start_date).days / 365.25))
