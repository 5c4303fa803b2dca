"""Checks of hydro plants across files: inflow models, cascade, reservoirs and generation models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cobre.elements.hydro import filling_findings, idle_findings, inflow_findings, labels
from cobre.elements.hydro.inputs.files import COEFFICIENTS, GEOMETRY, HISTORY, INITIAL, PRODUCTION, STATISTICS
from cobre.elements.hydro.inputs.filling import exists
from cobre.elements.hydro.inputs.models import BySeason, HydroInitialConditions, HydroInput
from cobre.elements.hydro.inputs.production import ProductionChoices, choices, production_models
from cobre.inputs.checks import check_coverage
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import KindFindings, Reference, Repeated


def references(files: CaseFiles) -> Iterator[Reference]:
    """Yield the plants that generation models and initial conditions name."""
    for model in production_models(files):
        yield Reference(PRODUCTION.name, "", "production_models.hydro_id", "hydro", model.hydro_id)
    initial = files.initial(HydroInitialConditions)
    for name in HydroInitialConditions.model_fields if initial else ():
        for index, entry in enumerate(getattr(initial, name)):
            yield Reference(INITIAL, "", f"{name}[{index}].hydro_id", "hydro", entry.hydro_id)


def repeated(files: CaseFiles) -> Iterator[Repeated]:
    """Yield lists in which no plant, or season of a plant, may appear twice."""
    initial = files.initial(HydroInitialConditions)
    if initial:
        storage = [*initial.storage, *initial.filling_storage]
        yield Repeated(INITIAL, "storage of hydro", [entry.hydro_id for entry in storage])
        yield Repeated(INITIAL, "past_inflows of hydro", [entry.hydro_id for entry in initial.past_inflows])
    models = production_models(files)
    for model in models:
        if isinstance(model, BySeason):
            seasons = [entry.season_id for entry in model.seasons]
            yield Repeated(PRODUCTION.name, f"hydro {model.hydro_id}, season", seasons)
    yield Repeated(PRODUCTION.name, "hydro", [model.hydro_id for model in models])


def check_amounts(files: CaseFiles, report: Report) -> None:
    """Report inflow and generation models that lack what they need."""
    hydros = files.of(HydroInput)
    if hydros and not files.has(STATISTICS) and not files.has(HISTORY):
        message = f"hydro plants need the statistics of their inflows, or {HISTORY.name}"
        report.error("missing_file", STATISTICS.name, message, "add one of the two files")
    needed = {hydro.id: exists(hydro, files.timeline) for hydro in hydros}
    check_coverage(files, STATISTICS, "hydro", needed, report)
    _check_coefficients(files, report)
    _check_past_inflows(files, report)
    inflow_findings.check(files, report)
    files.derived(ProductionChoices).check(report)


def _check_coefficients(files: CaseFiles, report: Report) -> None:
    table, statistics = files.table(COEFFICIENTS), files.table(STATISTICS)
    if table is None:
        return
    known = None if statistics is None else statistics.pairs("hydro_id")
    models: dict[tuple[int, int], tuple[list[int], set[float]]] = {}
    columns = ("hydro_id", "stage_id", "lag", "residual_std_ratio")
    for hydro, stage, lag, ratio in zip(*(table[name].tolist() for name in columns), strict=True):
        lags, ratios = models.setdefault((hydro, stage), ([], set()))
        lags.append(lag)
        ratios.add(ratio)
    file = COEFFICIENTS.name
    for (hydro, stage), (lags, ratios) in sorted(models.items()):
        where = {"entity": f"hydro {hydro}, stage {stage}"}
        if known is not None and (hydro, stage) not in known:
            message, remedy = (
                f"there is no such row in {STATISTICS.name}",
                "add it, or remove the coefficients",
            )
            report.error("dimension", file, message, remedy, **where)
        if len(set(lags)) != max(lags):  # none is below 1
            message = f"lags must be 1 to {max(lags)} without a gap, not {sorted(lags)}"
            report.error("dimension", file, message, "number the lags from 1 on", field="lag", **where)
        if len(ratios) > 1:
            message = "all lags must have the same residual_std_ratio"
            remedy = "give every row of the plant and stage the same"
            report.error("meaning", file, message, remedy, field="residual_std_ratio", **where)


def _check_past_inflows(files: CaseFiles, report: Report) -> None:
    initial = files.initial(HydroInitialConditions)
    definitions = files.stages.season_definitions if files.stages else None
    for entry in initial.past_inflows if initial else ():
        where = {"entity": f"hydro {entry.hydro_id}", "field": "season_ids"}
        if entry.season_ids is not None and len(entry.season_ids) != len(entry.values_m3s):
            message = f"there are {len(entry.season_ids)} season_ids for {len(entry.values_m3s)} values"
            report.error("dimension", INITIAL, message, "give one season for each value", **where)
        given = set(entry.season_ids or ())
        known = {season.id for season in definitions.seasons} if definitions else given
        for season in sorted(given - known):
            message = f"season_definitions has no season {season}"
            report.error(
                "reference", INITIAL, message, "name a season that is defined", value=season, **where
            )


def check_meaning(files: CaseFiles, report: Report) -> None:
    """Report rivers and reservoirs that make no sense."""
    _check_cascade(files, report)
    _check_geometry(files, report)
    _check_evaporation(files, report)
    _check_storage(files, report)
    filling_findings.check(files, report)


def _check_cascade(files: CaseFiles, report: Report) -> None:
    hydros = files.of(HydroInput)
    for cycle in _cycles({hydro.id: hydro.downstream_id for hydro in hydros}):
        names = " → ".join(str(hydro) for hydro in [*cycle, cycle[0]])
        report.error(
            "meaning",
            labels.FILE,
            f"water would run in a circle: {names}",
            entity=f"hydro {cycle[0]}",
            field="downstream_id",
            suggestion="change a downstream_id",
        )
    for hydro in hydros:
        if hydro.diversion and hydro.diversion.downstream_id == hydro.id:
            where = {"entity": f"hydro {hydro.id}", "field": "diversion.downstream_id"}
            remedy = "name another plant, or remove the diversion"
            report.error("meaning", labels.FILE, "the plant diverts to itself", remedy, **where)


def _cycles(below: dict[int, int | None]) -> Iterator[list[int]]:
    """Yield each circle of plants once, from the one at which it is entered."""
    known: set[int] = set()
    for start in below:
        seen: list[int] = []
        here: int | None = start
        while here is not None and here not in seen and here not in known:
            seen.append(here)
            here = below.get(here)
        if here is not None and here in seen:
            cycle = seen[seen.index(here) :]
            known |= set(cycle)
            yield cycle


def _check_geometry(files: CaseFiles, report: Report) -> None:
    table = files.table(GEOMETRY)
    if table is None:
        return
    for hydro in np.unique(table["hydro_id"]).tolist():
        rows = np.flatnonzero(table["hydro_id"] == hydro)
        rows = rows[np.argsort(table["volume_hm3"][rows], kind="stable")]
        for column in ("height_m", "area_km2"):
            if np.any(np.diff(table[column][rows]) < 0):
                message = "must not decrease as the volume grows"
                remedy, where = "correct the points of the reservoir", f"hydro {hydro}"
                report.error("meaning", GEOMETRY.name, message, remedy, entity=where, field=column)


def _check_evaporation(files: CaseFiles, report: Report) -> None:
    table = files.table(GEOMETRY)
    for hydro in files.of(HydroInput):
        if hydro.evaporation is None:
            continue
        where = {"entity": f"hydro {hydro.id}"}
        low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
        for month, volume in enumerate(hydro.evaporation.reference_volumes_hm3 or ()):
            if not low <= volume <= high:
                field = f"evaporation.reference_volumes_hm3[{month}]"
                message = f"must lie between {low:g} and {high:g}, the bounds of the reservoir"
                remedy = "correct the volume, or leave reference_volumes_hm3 out"
                report.error("meaning", labels.FILE, message, remedy, field=field, value=volume, **where)
        reported = files.has(GEOMETRY) and table is None
        areas = np.array([0.0]) if table is None else table["area_km2"][table["hydro_id"] == hydro.id]
        if not reported and not np.any(areas > 0):
            message = f"evaporation needs the plant's areas in {GEOMETRY.name}"
            remedy = "add them, or remove evaporation"
            report.error("dimension", labels.FILE, message, remedy, field="evaporation", **where)
        if files.has_stages and any(season >= 12 for season in files.timeline.seasons):
            message = "evaporation is by month, so all seasons must be 0 to 11"
            remedy = "number the seasons by calendar months from 0 on, or remove evaporation"
            report.error("meaning", labels.FILE, message, remedy, field="evaporation", **where)


def _check_storage(files: CaseFiles, report: Report) -> None:
    initial = files.initial(HydroInitialConditions)
    if initial is None:
        return
    given = {entry.hydro_id: entry.value_hm3 for entry in initial.storage}
    being_filled = {entry.hydro_id for entry in initial.filling_storage}
    for hydro in files.of(HydroInput):
        low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
        where = {"entity": f"hydro {hydro.id}", "field": "storage"}
        volume = given.get(hydro.id)
        if volume is None:
            if high > 0 and hydro.id not in being_filled and files.is_complete(INITIAL):
                message = "no initial volume is given: it is taken to be 0"
                report.warn("dimension", INITIAL, message, "add the plant to storage", **where)
        elif volume < low:  # one above the capacity is an error, with all bounds by stage known
            message = f"the initial volume is below {low:g}, the least of the reservoir"
            remedy = "correct the volume, or the bound"
            report.warn("meaning", INITIAL, message, remedy, value=volume, **where)


def check_unsupported(files: CaseFiles, report: Report) -> None:
    """Report what has no effect, and heads, which are not modelled."""
    idle_findings.check(files, report)
    for hydro in files.of(HydroInput):
        owner = f"hydro {hydro.id}"
        if hydro.generation.model == "linearized_head":
            message = "the head is not modelled: the productivity is used in all stages"
            where = {"entity": owner, "field": "generation.model"}
            remedy = "use constant_productivity, which says so, or fpha, which models the head"
            report.warn("unsupported", labels.FILE, message, remedy, value="linearized_head", **where)
    _check_linearized_heads(files, report)


def _check_linearized_heads(files: CaseFiles, report: Report) -> None:
    for model in production_models(files):
        names = {entry.model for entry in choices(model)}
        names |= {model.default_model} if isinstance(model, BySeason) else set()
        if "linearized_head" in names:
            message = "the head is not modelled: the productivity is used"
            where = {"entity": f"hydro {model.hydro_id}", "field": "model"}
            remedy = "use constant_productivity, which says so, or fpha, which models the head"
            report.warn("unsupported", PRODUCTION.name, message, remedy, value="linearized_head", **where)


FINDINGS = KindFindings(
    references=references,
    repeated=repeated,
    amounts=check_amounts,
    meaning=check_meaning,
    unsupported=check_unsupported,
)
