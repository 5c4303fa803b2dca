"""Whether what the files say makes sense: time and chance."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

from cobre.case._config import Config, ScenarioSource
from cobre.case._noise import default_profile
from cobre.case._raw import Raw
from cobre.case._report import Report
from cobre.case._scenario_files import CorrelationFile, CorrelationGroup
from cobre.case._stages import Stages

CORRELATION = "scenarios/correlation.json"


def check(raw: Raw, report: Report) -> None:
    """Report what no study can be like."""
    if raw.stages:
        _check_dates(raw.stages, report)
        _check_seasons(raw.stages, report)
        _check_transitions(raw.stages, report)
    correlation = raw.document(CORRELATION, CorrelationFile)
    if correlation:
        _check_correlation(correlation, raw, report)
    if raw.config:
        _check_sources(raw.config, raw, report)


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
            message = f"nothing is said of the time from {one.end_date} to {following.start_date}"
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


def _check_correlation(file: CorrelationFile, raw: Raw, report: Report) -> None:
    for name, profile in file.profiles.items():
        seen: set[tuple[str, int]] = set()
        for group in profile.correlation_groups:
            owner = f"profile {name}, group {group.name}"
            _check_group(group, owner, report)
            members = {(entity.type, entity.id) for entity in group.entities}
            if len(members) < len(group.entities) or members & seen:
                message = "an entity may be in one group only, and once"
                report.error("duplicate", CORRELATION, message, entity=owner, field="entities")
            seen |= members
    for index, entry in enumerate(file.schedule or ()):
        if entry.profile_name not in file.profiles:
            where = f"schedule[{index}].profile_name"
            message = f"there is no profile {entry.profile_name!r}"
            report.error("reference", CORRELATION, message, field=where, value=entry.profile_name)
    scheduled = {entry.stage_id for entry in file.schedule or ()}
    if default_profile(file) is None and not (raw.ids("stages") or set()) <= scheduled:
        message = "of several profiles, one must be called 'default', for stages that are not in the schedule"
        report.error("meaning", CORRELATION, message, field="profiles")


def _check_group(group: CorrelationGroup, owner: str, report: Report) -> None:
    if len({entity.type for entity in group.entities}) > 1:
        message = "all entities of a group must have the same type"
        report.error("meaning", CORRELATION, message, entity=owner, field="entities")
    size = len(group.entities)
    if [len(row) for row in group.matrix] != [size] * size:
        return  # reported where dimensions are
    matrix = np.array(group.matrix).reshape(size, size)
    if np.any(np.abs(matrix - matrix.T) > 1e-9):
        report.error("meaning", CORRELATION, "the matrix is not symmetric", entity=owner, field="matrix")
    elif np.any(np.abs(np.diag(matrix) - 1) > 1e-9):
        report.error(
            "meaning", CORRELATION, "the diagonal of the matrix must be 1", entity=owner, field="matrix"
        )
    elif size and np.linalg.eigvalsh(matrix)[0] < -1e-9:
        message = "the matrix is not positive semidefinite; the nearest one that is has to be used"
        report.warn("meaning", CORRELATION, message, entity=owner, field="matrix")


def _check_sources(config: Config, raw: Raw, report: Report) -> None:
    sections = {"training": config.training.scenario_source, "simulation": config.simulation.scenario_source}
    for section, source in sections.items():
        for name in ("inflow", "load", "ncs"):
            _check_scheme(source or ScenarioSource(), f"{section}.scenario_source.{name}", name, raw, report)


def _check_scheme(source: ScenarioSource, where: str, name: str, raw: Raw, report: Report) -> None:
    scheme = getattr(source, name).scheme
    if scheme == "historical" and name != "inflow":
        message = "only inflows have a history"
        report.error("meaning", "config.json", message, field=f"{where}.scheme", value=scheme)
        return
    history = "scenarios/inflow_history.parquet"
    needed = {"external": f"scenarios/external_{name}_scenarios.parquet", "historical": history}.get(scheme)
    if needed is not None and needed not in raw.tables:
        message = f"needs {needed}, which is not there"
        report.error("missing_file", "config.json", message, field=f"{where}.scheme", value=scheme)
