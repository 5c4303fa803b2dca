"""Ids: whether what they name exists, and whether they name one thing only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from cobre.case import _expressions
from cobre.case._constraints import ExchangeFactors
from cobre.case._layout import ANY_STAGE, TABLES
from cobre.case._production import BySeason, ProductionModels
from cobre.case._raw import FILE_OF, Raw
from cobre.case._report import Report
from cobre.case._scenario_files import CorrelationFile, LoadFactors, SourceFactors
from cobre.case._tables import ABSENT

SINGLE = {
    "stages": "stage",
    "buses": "bus",
    "lines": "line",
    "hydros": "hydro",
    "thermals": "thermal",
    "sources": "source",
    "stations": "pumping station",
    "contracts": "contract",
    "constraints": "constraint",
}
#: How many findings of one sort a table may have before the rest are only counted.
MANY = 5


class Reference(NamedTuple):
    """A field of a file that names something of a kind."""

    file: str
    entity: str
    field: str
    kind: str
    id: int


def check(raw: Raw, report: Report) -> None:
    """Report ids that name nothing, and ids that name two things."""
    for reference in _references(raw):
        known = raw.ids(reference.kind)
        if known is not None and reference.id not in known:
            report.error(
                "reference",
                reference.file,
                f"there is no {SINGLE[reference.kind]} {reference.id}",
                entity=reference.entity,
                field=reference.field,
                value=reference.id,
                suggestion=f"add it to {FILE_OF[reference.kind]}, or name another",
            )
    for file in TABLES:
        _check_table(raw, file, report)
    _check_duplicates(raw, report)


def _references(raw: Raw) -> Iterator[Reference]:
    yield from _of_entities(raw)
    yield from _of_hydros(raw)
    yield from _of_initial_conditions(raw)
    yield from _of_factors(raw)
    yield from _of_scenarios(raw)
    yield from _of_expressions(raw)


def _of_entities(raw: Raw) -> Iterator[Reference]:
    for kind in ("hydros", "thermals", "sources", "stations", "contracts"):
        for entity in getattr(raw, kind):
            yield Reference(FILE_OF[kind], f"{SINGLE[kind]} {entity.id}", "bus_id", "buses", entity.bus_id)
    for line in raw.lines:
        for field in ("source_bus_id", "target_bus_id"):
            yield Reference(FILE_OF["lines"], f"line {line.id}", field, "buses", getattr(line, field))
    for station in raw.stations:
        for field in ("source_hydro_id", "destination_hydro_id"):
            owner = f"pumping station {station.id}"
            yield Reference(FILE_OF["stations"], owner, field, "hydros", getattr(station, field))


def _of_hydros(raw: Raw) -> Iterator[Reference]:
    for hydro in raw.hydros:
        owner = f"hydro {hydro.id}"
        if hydro.downstream_id is not None:
            yield Reference(FILE_OF["hydros"], owner, "downstream_id", "hydros", hydro.downstream_id)
        if hydro.diversion:
            target = hydro.diversion.downstream_id
            yield Reference(FILE_OF["hydros"], owner, "diversion.downstream_id", "hydros", target)
    file = "system/hydro_production_models.json"
    models = raw.document(file, ProductionModels)
    for model in models.production_models if models else ():
        yield Reference(file, "", "production_models.hydro_id", "hydros", model.hydro_id)


def _of_initial_conditions(raw: Raw) -> Iterator[Reference]:
    if not raw.initial:
        return
    for name in ("storage", "filling_storage", "past_inflows", "recent_observations"):
        for index, entry in enumerate(getattr(raw.initial, name)):
            yield Reference(
                "initial_conditions.json", "", f"{name}[{index}].hydro_id", "hydros", entry.hydro_id
            )


def _of_factors(raw: Raw) -> Iterator[Reference]:
    loads = raw.document("scenarios/load_factors.json", LoadFactors)
    for index, load in enumerate(loads.load_factors if loads else ()):
        where = f"load_factors[{index}]"
        yield Reference("scenarios/load_factors.json", "", f"{where}.bus_id", "buses", load.bus_id)
        yield Reference("scenarios/load_factors.json", "", f"{where}.stage_id", "stages", load.stage_id)
    file = "scenarios/non_controllable_factors.json"
    sources = raw.document(file, SourceFactors)
    for index, source in enumerate(sources.non_controllable_factors if sources else ()):
        where = f"non_controllable_factors[{index}]"
        yield Reference(file, "", f"{where}.ncs_id", "sources", source.ncs_id)
        yield Reference(file, "", f"{where}.stage_id", "stages", source.stage_id)
    file = "constraints/exchange_factors.json"
    exchange = raw.document(file, ExchangeFactors)
    for index, entry in enumerate(exchange.exchange_factors if exchange else ()):
        where = f"exchange_factors[{index}]"
        yield Reference(file, "", f"{where}.line_id", "lines", entry.line_id)
        yield Reference(file, "", f"{where}.stage_id", "stages", entry.stage_id)


def _of_scenarios(raw: Raw) -> Iterator[Reference]:
    file = "scenarios/correlation.json"
    found = raw.document(file, CorrelationFile)
    if not found:
        return
    kinds = {"inflow": "hydros", "load": "buses", "ncs": "sources"}
    for name, profile in found.profiles.items():
        for group in profile.correlation_groups:
            for entity in group.entities:
                where = f"profiles.{name}.correlation_groups"
                yield Reference(file, f"group {group.name}", where, kinds[entity.type], entity.id)
    for index, entry in enumerate(found.schedule or ()):
        yield Reference(file, "", f"schedule[{index}].stage_id", "stages", entry.stage_id)


def _of_expressions(raw: Raw) -> Iterator[Reference]:
    for constraint in raw.constraints:
        try:
            terms = _expressions.parse(constraint.expression)
        except ValueError:
            continue  # reported where meanings are
        for term in terms:
            kind = _expressions.KIND_OF[term.variable]
            yield Reference(
                FILE_OF["constraints"], f"constraint {constraint.id}", "expression", kind, term.entity
            )


def _check_table(raw: Raw, file: str, report: Report) -> None:
    table = raw.table(file)
    if table is None:
        return
    spec = TABLES[file]
    for column in spec.columns:
        known = raw.ids("stages" if column.of == ANY_STAGE else column.of) if column.of else None
        if known is None:
            continue
        values = np.unique(table[column.name])
        absent = set() if column.required else {ABSENT}
        wrong = [int(value) for value in values if int(value) not in known | absent]
        if column.of == ANY_STAGE:
            wrong = [value for value in wrong if value >= 0]
        kind = "stages" if column.of == ANY_STAGE else column.of
        for value in wrong[:MANY]:
            message = f"there is no {SINGLE[kind]} {value}"
            report.error("reference", file, message, field=column.name, value=value)
        if len(wrong) > MANY:
            report.error("reference", file, f"nor are there {len(wrong) - MANY} others", field=column.name)
    keys = np.stack([table[name].astype(np.float64) for name in spec.key], axis=1)
    rows, counts = np.unique(keys, axis=0, return_counts=True)
    for row in rows[counts > 1][:MANY]:
        which = ", ".join(f"{name} {value:g}" for name, value in zip(spec.key, row, strict=True))
        report.error("duplicate", file, f"there are several rows for {which}", suggestion="keep one")


def _check_duplicates(raw: Raw, report: Report) -> None:
    for kind, file in FILE_OF.items():
        if kind != "stages":
            _once(report, file, f"{SINGLE[kind]} id", [entity.id for entity in getattr(raw, kind)])
    if raw.stages:
        ids = [stage.id for stage in raw.stages.stages]
        _once(report, "stages.json", "stage id", ids)
        _once(
            report, "stages.json", "pre-study stage id", [stage.id for stage in raw.stages.pre_study_stages]
        )
        definitions = raw.stages.season_definitions
        _once(
            report,
            "stages.json",
            "season id",
            [season.id for season in definitions.seasons] if definitions else (),
        )
    if raw.initial:
        storage = [*raw.initial.storage, *raw.initial.filling_storage]
        _once(report, "initial_conditions.json", "storage of hydro", [entry.hydro_id for entry in storage])
        past = [entry.hydro_id for entry in raw.initial.past_inflows]
        _once(report, "initial_conditions.json", "past_inflows of hydro", past)
    models = raw.document("system/hydro_production_models.json", ProductionModels)
    for model in models.production_models if models else ():
        if isinstance(model, BySeason):
            seasons = [entry.season_id for entry in model.seasons]
            _once(report, "system/hydro_production_models.json", f"hydro {model.hydro_id}, season", seasons)
    if models:
        named = [model.hydro_id for model in models.production_models]
        _once(report, "system/hydro_production_models.json", "hydro", named)
    _check_factor_duplicates(raw, report)


def _check_factor_duplicates(raw: Raw, report: Report) -> None:
    loads = raw.document("scenarios/load_factors.json", LoadFactors)
    sources = raw.document("scenarios/non_controllable_factors.json", SourceFactors)
    exchange = raw.document("constraints/exchange_factors.json", ExchangeFactors)
    pairs = [(entry.bus_id, entry.stage_id) for entry in loads.load_factors] if loads else []
    _once(report, "scenarios/load_factors.json", "bus and stage", pairs)
    pairs = [(entry.ncs_id, entry.stage_id) for entry in sources.non_controllable_factors] if sources else []
    _once(report, "scenarios/non_controllable_factors.json", "source and stage", pairs)
    pairs = [(entry.line_id, entry.stage_id) for entry in exchange.exchange_factors] if exchange else []
    _once(report, "constraints/exchange_factors.json", "line and stage", pairs)


def _once(report: Report, file: str, what: str, values: Iterable[int | tuple[int, int]]) -> None:
    for value, count in sorted(Counter(values).items(), key=lambda item: str(item[0])):
        if count > 1:
            report.error(
                "duplicate",
                file,
                f"{what} {value} appears {count} times",
                value=str(value),
                suggestion="keep one",
            )
