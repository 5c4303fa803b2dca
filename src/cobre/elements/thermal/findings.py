"""Checks of thermal plants across files: generation that is committed in advance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cobre.elements.thermal import labels
from cobre.elements.thermal.inputs import BOUNDS, limits
from cobre.elements.thermal.inputs.commitment import given_mw, narrowest, pipeline
from cobre.elements.thermal.inputs.models import GnlConfig, ThermalInput
from cobre.formatting import count
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Place, Report
from cobre.inputs.kind import KindFindings, Reference, Repeated
from cobre.inputs.timeline import BlockSeries

INITIAL = "initial_conditions.json"
_PIPELINE = "gnl_pipeline"


def references(files: CaseFiles) -> Iterator[Reference]:
    """Yield the plants for which generation is committed before the study."""
    for index, entry in enumerate(pipeline(files)):
        field = f"{_PIPELINE}[{index}].thermal_id"
        yield Reference(INITIAL, "", field, "thermal", entry.thermal_id)


def repeated(files: CaseFiles) -> Iterator[Repeated]:
    """Yield the stages for which each plant's generation is committed."""
    pairs = [(entry.thermal_id, entry.stage_offset) for entry in pipeline(files)]
    yield Repeated(INITIAL, f"{_PIPELINE}, thermal and stage_offset", pairs)


def check_meaning(files: CaseFiles, report: Report) -> None:
    """Report commitments of plants that need none, or for stages that are not before their first decision."""
    plants = {plant.id: plant for plant in files.of(ThermalInput)}
    for index, entry in enumerate(pipeline(files)):
        if entry.thermal_id not in plants:
            continue  # which is reported
        gnl, where = plants[entry.thermal_id].gnl_config, f"{_PIPELINE}[{index}]"
        owner = f"thermal {entry.thermal_id}"
        if gnl is None:
            message, remedy = "the plant has no gnl_config", "remove the entry, or give the plant one"
            report.error("meaning", INITIAL, message, remedy, entity=owner, field=f"{where}.thermal_id")
        elif entry.stage_offset > gnl.lag_stages:
            message = f"what is generated after {count(gnl.lag_stages, 'stage')} is decided in the study"
            place: Place = {"entity": owner, "field": f"{where}.stage_offset", "value": entry.stage_offset}
            report.error("meaning", INITIAL, message, "remove the entry", **place)


def check_amounts(files: CaseFiles, report: Report) -> None:
    """Report plants whose commitments cannot be made, are missing, or miss the limits of their stage."""
    for plant in files.of(ThermalInput):
        if plant.gnl_config is None:
            continue
        if plant.gnl_config.lag_stages >= len(files.timeline):
            _report_lag(files, plant, plant.gnl_config, report)
        elif not any(BOUNDS.crossed(files, plant)):  # which is reported
            lower, upper = limits(files, plant)
            _check_blocks(files, plant, lower, upper, report)
            if files.is_complete(INITIAL):
                _check_initial(files, plant, plant.gnl_config, (lower, upper), report)


def _report_lag(files: CaseFiles, plant: ThermalInput, gnl: GnlConfig, report: Report) -> None:
    message = f"no generation is decided in a study of {count(len(files.timeline), 'stage')}"
    remedy = f"use a lag of at most {len(files.timeline) - 1}, or remove gnl_config"
    if len(files.timeline) == 1:
        remedy = "remove gnl_config"
    owner = f"thermal {plant.id}"
    place: Place = {"entity": owner, "field": "gnl_config.lag_stages", "value": gnl.lag_stages}
    report.error("meaning", labels.FILE, message, remedy, **place)


def _check_blocks(
    files: CaseFiles, plant: ThermalInput, lower: BlockSeries, upper: BlockSeries, report: Report
) -> None:
    """Report stages in which nothing fits the limits of all blocks, or of all stages that may come then."""
    timeline, places = files.timeline, range(len(files.timeline))
    lag = plant.gnl_config.lag_stages if plant.gnl_config else 0
    decided = [timeline.ahead(0, steps) for steps in range(lag)] + [timeline.ahead(p, lag) for p in places]
    wrong = np.zeros(len(timeline), bool)
    for together in filter(None, decided):
        low, high = narrowest(lower, upper, together)
        wrong[list(together)] |= low > high
    if wrong.any():
        message = f"no commitment keeps the limits of all blocks that it is for, {timeline.names(wrong)}"
        remedy = "use limits that overlap"
        report.error("meaning", BOUNDS.table.name, message, remedy, entity=f"thermal {plant.id}")


def _check_initial(
    files: CaseFiles,
    plant: ThermalInput,
    gnl: GnlConfig,
    bounds: tuple[BlockSeries, BlockSeries],
    report: Report,
) -> None:
    """Report what is not committed for a stage in which the plant is in service, or misses its limits."""
    given, missing = given_mw(files, plant.id), []
    where: Place = {"entity": f"thermal {plant.id}", "field": _PIPELINE}
    for offset in range(1, gnl.lag_stages + 1):
        places = files.timeline.ahead(0, offset - 1)
        low, high = narrowest(*bounds, places) if places else (0.0, 0.0)
        if offset not in given and high > 0:
            missing.append(offset)
        elif offset in given and low <= high and not low <= given[offset] <= high:
            message = (
                f"{given[offset]:g} MW at stage_offset {offset} is not between {low:g} and {high:g}, "
                "the plant's limits then"
            )
            report.error("meaning", INITIAL, message, "commit what it can generate", **where)
    if missing:
        shown = ", ".join(map(str, missing))
        message = f"nothing is committed for stage_offset {shown}, and the plant is in service then"
        remedy = "add entries with thermal_id, stage_offset and committed_mw; 0 for no generation"
        report.error("dimension", INITIAL, message, remedy, **where)


FINDINGS = KindFindings(
    references=references, repeated=repeated, amounts=check_amounts, meaning=check_meaning
)
