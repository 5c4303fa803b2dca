"""Checks of noise: given openings and scenarios, sampling methods, and where trajectories come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cobre.case._layout import OPENINGS
from cobre.case._scenarios import noise_entities, noise_inputs
from cobre.formatting import count
from cobre.inputs.config import Config, ScenarioSource
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import NoiseInputs
from cobre.inputs.tables import Table
from cobre.stochastic import MOST_SOBOL


def check_amounts(files: CaseFiles, report: Report) -> None:
    """Report openings and given scenarios that do not fit the stages and what is random."""
    _check_openings(files, report)
    _check_external(files, report)


def _check_openings(files: CaseFiles, report: Report) -> None:
    table, entities, timeline = files.table(OPENINGS), noise_entities(files), files.timeline
    if table is None or entities is None or not files.is_complete("stages.json"):
        return
    found = sorted(set(table["stage_id"].tolist()))
    if found not in (timeline.ids, list(range(len(timeline)))):
        message = f"there must be noise for all {len(timeline)} stages, and for no others"
        remedy = "give openings for every stage, numbered as in stages.json or from 0 on"
        report.error("dimension", OPENINGS.name, message, remedy, field="stage_id")
        return
    wrong: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for place, stage in zip(found, timeline.stages, strict=True):
        rows = table["stage_id"] == place
        for finding in _misfits(table, rows, stage.num_scenarios, len(entities)):
            wrong[finding].append(stage.id)
    for (field, message, remedy), stages in wrong.items():
        more = f", and so in {count(len(stages) - 1, 'other stage')}" if len(stages) > 1 else ""
        where = f"stage {stages[0]}"
        report.error("dimension", OPENINGS.name, message + more, remedy, entity=where, field=field)


def _misfits(
    table: Table, rows: NDArray[np.bool_], openings: int, entities: int
) -> Iterator[tuple[str, str, str]]:
    """Yield the column, message and remedy of openings or entities that are not numbered as they must be.

    Without one of these, yield those of a wrong number of rows, which would follow from it.
    """
    complete = True
    for column, size, what in (
        ("opening_index", openings, "openings, as num_scenarios of the stage says"),
        ("entity_index", entities, "entities: hydros, buses with a random load, sources with statistics"),
    ):
        given = np.unique(table[column][rows])
        if len(given) != size or (size and given[-1] != size - 1):
            message = f"must go from 0 to {size - 1}, because there are {size} {what}"
            yield column, message, "number them from 0 on, without gaps"
            complete = False
    if complete and rows.sum() != openings * entities:
        message = f"there are {rows.sum()} rows, not {openings} openings of {entities} entities"
        yield "", message, "give one row for each opening and entity"


def _check_external(files: CaseFiles, report: Report) -> None:
    """Report given scenarios that do not cover all stages, or have gaps."""
    _check_external_entities(files, report)
    for noise in noise_inputs(files).values():
        file, table = noise.scenarios.name, files.table(noise.scenarios)
        if table is None:
            continue
        entities = np.unique(table[noise.key])
        if not set(files.timeline.ids) <= set(table["stage_id"].tolist()):
            remedy = "add the missing stages"
            report.error(
                "dimension", file, "there must be scenarios for all stages", remedy, field="stage_id"
            )
        for stage in np.unique(table["stage_id"]).tolist():
            scenarios = table["scenario_id"][table["stage_id"] == stage]
            count = int(scenarios.max()) + 1
            if len(scenarios) != count * len(entities):
                message = f"there must be scenarios 0 to {count - 1} for each of the {len(entities)} entities"
                remedy = "give every entity the same scenarios"
                report.error("dimension", file, message, remedy, entity=f"stage {stage}", field="scenario_id")


def _check_external_entities(files: CaseFiles, report: Report) -> None:
    """Report given scenarios, where they are to be used, of others than those that have noise."""
    sections = (files.config.training, files.config.simulation) if files.config else ()
    random = noise_entities(files)
    for name, noise in noise_inputs(files).items():
        file, key = noise.scenarios.name, noise.key
        used = any(
            s.scenario_source and getattr(s.scenario_source, name).scheme == "external" for s in sections
        )
        table = files.table(noise.scenarios)
        if not used or table is None or random is None:
            continue
        wanted = {entity.id for entity in random if entity.type == name}
        given = set(table[key].tolist())
        if missing := sorted(wanted - given):
            message = f"there are no scenarios for {missing[0]}, which is random"
            remedy = "add its scenarios, or make it deterministic"
            report.error("dimension", file, message, remedy, field=key, value=missing[0])
        if more := sorted(given - wanted):
            message = f"there are scenarios for {more[0]}, of which nothing is random"
            suggestion = "give statistics with a standard deviation, or remove the rows"
            report.error("dimension", file, message, field=key, value=more[0], suggestion=suggestion)


def check_sources(config: Config, files: CaseFiles, report: Report) -> None:
    """Report schemes whose files are missing."""
    for section, source in (("training", config.training), ("simulation", config.simulation)):
        given = source.scenario_source or ScenarioSource()
        for name, noise in noise_inputs(files).items():
            where = f"{section}.scenario_source.{name}.scheme"
            _check_scheme(getattr(given, name).scheme, where, noise, files, report)


def _check_scheme(scheme: str, where: str, noise: NoiseInputs, files: CaseFiles, report: Report) -> None:
    if scheme == "historical" and not noise.history:
        message = "only inflows have a history"
        remedy = "use another scheme here"
        report.error("meaning", "config.json", message, remedy, field=where, value=scheme)
        return
    needed = {"external": noise.scenarios, "historical": noise.history}.get(scheme)
    if needed is not None and not files.has(needed):
        message = f"needs {needed.name}, which is not there"
        remedy = "add the file, or use the scheme in_sample"
        report.error("missing_file", "config.json", message, remedy, field=where, value=scheme)


def check_unsupported(files: CaseFiles, report: Report) -> None:
    """Report openings that somebody else has to choose, and more dimensions than a sequence has."""
    given = files.has(OPENINGS)
    count = len(noise_entities(files) or ())
    for stage in files.stages.stages if files.stages and not given else ():
        if stage.sampling_method == "selective":
            message = "openings cannot be chosen by what they represent yet"
        elif stage.sampling_method == "qmc_sobol" and count > MOST_SOBOL:
            message = f"there are {count} random numbers, and direction numbers for {MOST_SOBOL} of them"
        else:
            continue
        report.error(
            "unsupported",
            "stages.json",
            message,
            entity=f"stage {stage.id}",
            field="sampling_method",
            value=stage.sampling_method,
            suggestion="use another method, or give scenarios/noise_openings.parquet",
        )
