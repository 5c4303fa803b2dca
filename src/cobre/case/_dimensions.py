"""Whether there is as much data as the entities, stages and blocks need."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cobre.case import _expressions
from cobre.case._constraints import ExchangeFactor, ExchangeFactors
from cobre.case._filling import exists
from cobre.case._noise import noise_entities
from cobre.case._raw import FILE_OF, Raw
from cobre.case._report import Report
from cobre.case._scenario_files import CorrelationFile, LoadFactor, LoadFactors, SourceFactor, SourceFactors
from cobre.case._series import Timeline
from cobre.case._tables import ABSENT, Table

HISTORY = "scenarios/inflow_history.parquet"
INFLOWS = "scenarios/inflow_seasonal_stats.parquet"
COEFFICIENTS = "scenarios/inflow_ar_coefficients.parquet"
LOADS = "scenarios/load_seasonal_stats.parquet"
SOURCES = "scenarios/non_controllable_stats.parquet"
OPENINGS = "scenarios/noise_openings.parquet"
THERMALS = "constraints/thermal_bounds.parquet"
GENERIC = "constraints/generic_constraint_bounds.parquet"


def check(raw: Raw, timeline: Timeline, report: Report) -> None:
    """Report what is missing, and what is too much."""
    _check_blocks(timeline, report)
    _check_statistics(raw, timeline, report)
    _check_coefficients(raw, report)
    _check_factors(raw, timeline, report)
    _check_thermal_blocks(raw, timeline, report)
    _check_generic_blocks(raw, timeline, report)
    _check_openings(raw, timeline, report)
    _check_correlation(raw, report)
    _check_past_inflows(raw, report)


def _check_blocks(timeline: Timeline, report: Report) -> None:
    for stage in timeline.stages:
        found = sorted(block.id for block in stage.blocks)
        if found != list(range(len(found))):
            message = f"block ids must be 0 to {len(found) - 1}, not {found}"
            report.error("dimension", "stages.json", message, entity=f"stage {stage.id}", field="blocks")


def _check_statistics(raw: Raw, timeline: Timeline, report: Report) -> None:
    hydros = [(hydro.id, exists(hydro, timeline)) for hydro in raw.hydros]
    if raw.hydros and INFLOWS not in raw.tables and HISTORY not in raw.tables:
        message = f"hydro plants need the statistics of their inflows, or {HISTORY}"
        report.error("missing_file", INFLOWS, message)
    always = np.ones(len(timeline), dtype=bool)
    _check_coverage(raw.table(INFLOWS), INFLOWS, "hydro_id", "hydro", hydros, timeline, report)
    loads = raw.table(LOADS)
    if LOADS not in raw.tables or (loads is not None and not loads.rows):
        report.warn("dimension", LOADS, "there are no loads: all are 0")
    else:
        buses = [(bus.id, always) for bus in raw.buses]
        _check_coverage(loads, LOADS, "bus_id", "bus", buses, timeline, report)
    sources = raw.table(SOURCES)
    if sources is not None:
        random = set(sources["ncs_id"].tolist())
        wanted = [(source.id, always) for source in raw.sources if source.id in random]
        _check_coverage(sources, SOURCES, "ncs_id", "source", wanted, timeline, report)


def _check_coverage(  # noqa: PLR0913, PLR0917 - a table and who must be in it
    table: Table | None,
    file: str,
    key: str,
    what: str,
    entities: Iterable[tuple[int, np.ndarray[tuple[int], np.dtype[np.bool_]]]],
    timeline: Timeline,
    report: Report,
) -> None:
    if table is None:
        return
    pairs = set(zip(table[key].tolist(), table["stage_id"].tolist(), strict=True))
    for entity, needed in entities:
        absent = needed & np.array([(entity, stage) not in pairs for stage in timeline.ids], dtype=bool)
        if absent.any():
            message = f"there is no row {timeline.names(absent)}"
            report.error("dimension", file, message, entity=f"{what} {entity}", field="stage_id")


def _check_coefficients(raw: Raw, report: Report) -> None:
    table, statistics = raw.table(COEFFICIENTS), raw.table(INFLOWS)
    if table is None:
        return
    known = None
    if statistics is not None:
        known = set(zip(statistics["hydro_id"].tolist(), statistics["stage_id"].tolist(), strict=True))
    models: dict[tuple[int, int], tuple[list[int], set[float]]] = {}
    columns = ("hydro_id", "stage_id", "lag", "residual_std_ratio")
    for hydro, stage, lag, ratio in zip(*(table[name].tolist() for name in columns), strict=True):
        lags, ratios = models.setdefault((hydro, stage), ([], set()))
        lags.append(lag)
        ratios.add(ratio)
    for (hydro, stage), (lags, ratios) in sorted(models.items()):
        where = {"entity": f"hydro {hydro}, stage {stage}"}
        if known is not None and (hydro, stage) not in known:
            report.error("dimension", COEFFICIENTS, f"there is no such row in {INFLOWS}", **where)
        if len(set(lags)) != max(lags):  # none is below 1
            message = f"lags must be 1 to {max(lags)} without a gap, not {sorted(lags)}"
            report.error("dimension", COEFFICIENTS, message, field="lag", **where)
        if len(ratios) > 1:
            message = "all lags must have the same residual_std_ratio"
            report.error("meaning", COEFFICIENTS, message, field="residual_std_ratio", **where)


def _check_factors(raw: Raw, timeline: Timeline, report: Report) -> None:
    blocks = {stage.id: len(stage.blocks) for stage in timeline.stages}
    loads = raw.document("scenarios/load_factors.json", LoadFactors)
    sources = raw.document("scenarios/non_controllable_factors.json", SourceFactors)
    exchange = raw.document("constraints/exchange_factors.json", ExchangeFactors)
    entries: list[tuple[str, str, LoadFactor | SourceFactor | ExchangeFactor]] = [
        *(
            ("scenarios/load_factors.json", f"bus {e.bus_id}", e)
            for e in (loads.load_factors if loads else ())
        ),
        *(
            ("scenarios/non_controllable_factors.json", f"source {s.ncs_id}", s)
            for s in (sources.non_controllable_factors if sources else ())
        ),
        *(
            ("constraints/exchange_factors.json", f"line {x.line_id}", x)
            for x in (exchange.exchange_factors if exchange else ())
        ),
    ]
    for file, entity, entry in entries:
        ids = [factor.block_id for factor in entry.block_factors]
        where = f"{entity}, stage {entry.stage_id}"
        for block in ids:
            if entry.stage_id in blocks and block >= blocks[entry.stage_id]:
                message = f"the stage has no block {block}"
                report.error("dimension", file, message, entity=where, field="block_id", value=block)
        if len(set(ids)) < len(ids):
            report.error("duplicate", file, "a block appears twice", entity=where, field="block_id")


def _check_thermal_blocks(raw: Raw, timeline: Timeline, report: Report) -> None:
    table = raw.table(THERMALS)
    blocks = {stage.id: len(stage.blocks) for stage in timeline.stages}
    if table is None:
        return
    columns = (table[name].tolist() for name in ("thermal_id", "stage_id", "block_id"))
    for plant, stage, block in zip(*columns, strict=True):
        if stage in blocks and block >= blocks[stage]:
            where = f"thermal {plant}, stage {stage}"
            message = f"the stage has no block {block}"
            report.error("dimension", THERMALS, message, entity=where, field="block_id", value=block)


def _check_generic_blocks(raw: Raw, timeline: Timeline, report: Report) -> None:
    table = raw.table(GENERIC)
    blocks = {stage.id: len(stage.blocks) for stage in timeline.stages}
    bounded: dict[int, dict[int, set[int]]] = {}
    if table is not None:
        columns = (table[name].tolist() for name in ("constraint_id", "stage_id", "block_id"))
        for constraint, stage, block in zip(*columns, strict=True):
            bounded.setdefault(constraint, {}).setdefault(stage, set()).add(block)
    for constraint, stages in sorted(bounded.items()):
        for stage, found in sorted(stages.items()):
            where = f"constraint {constraint}, stage {stage}"
            wrong = [block for block in found if stage in blocks and block >= blocks[stage]]
            for block in wrong:
                message = f"the stage has no block {block}"
                report.error("dimension", GENERIC, message, entity=where, field="block_id", value=block)
            if ABSENT in found and len(found) > 1:
                message = "there is a row for all blocks and another for one of them"
                report.error("duplicate", GENERIC, message, entity=where, field="block_id")
    for entry in raw.constraints:
        fewest = min((blocks[stage] for stage in bounded.get(entry.id, {}) if stage in blocks), default=None)
        try:
            terms = _expressions.parse(entry.expression)
        except ValueError:
            continue  # reported where meanings are
        for term in terms:
            if term.block is not None and fewest is not None and term.block >= fewest:
                message = f"not all stages with a bound have a block {term.block}"
                where = f"constraint {entry.id}"
                report.error("dimension", FILE_OF["constraints"], message, entity=where, field="expression")


def _check_openings(raw: Raw, timeline: Timeline, report: Report) -> None:
    table, entities = raw.table(OPENINGS), noise_entities(raw)
    if table is None or entities is None:
        return
    found = sorted(set(table["stage_id"].tolist()))
    if found not in (timeline.ids, list(range(len(timeline)))):
        message = f"there must be noise for all {len(timeline)} stages, and for no others"
        report.error("dimension", OPENINGS, message, field="stage_id")
        return
    for place, stage in zip(found, timeline.stages, strict=True):
        rows = table["stage_id"] == place
        where = f"stage {stage.id}"
        for column, count, what in (
            ("opening_index", stage.num_scenarios, "openings, as num_scenarios of the stage says"),
            (
                "entity_index",
                len(entities),
                "entities: hydros, buses with a random load, sources with statistics",
            ),
        ):
            given = np.unique(table[column][rows])
            if len(given) != count or (count and given[-1] != count - 1):
                message = f"must go from 0 to {count - 1}, because there are {count} {what}"
                report.error("dimension", OPENINGS, message, entity=where, field=column)
        if rows.sum() != stage.num_scenarios * len(entities):
            message = (
                f"there are {rows.sum()} rows, not {stage.num_scenarios} openings of {len(entities)} entities"
            )
            report.error("dimension", OPENINGS, message, entity=where)


def _check_correlation(raw: Raw, report: Report) -> None:
    file = "scenarios/correlation.json"
    found = raw.document(file, CorrelationFile)
    for name, profile in found.profiles.items() if found else ():
        for group in profile.correlation_groups:
            size = len(group.entities)
            if [len(row) for row in group.matrix] != [size] * size:
                message = f"the matrix must be {size} by {size}, one row for each entity"
                report.error(
                    "dimension", file, message, entity=f"profile {name}, group {group.name}", field="matrix"
                )


def _check_past_inflows(raw: Raw, report: Report) -> None:
    for entry in raw.initial.past_inflows if raw.initial else ():
        if entry.season_ids is not None and len(entry.season_ids) != len(entry.values_m3s):
            message = f"there are {len(entry.season_ids)} season_ids for {len(entry.values_m3s)} values"
            where = f"hydro {entry.hydro_id}"
            report.error("dimension", "initial_conditions.json", message, entity=where, field="season_ids")
        definitions = raw.stages.season_definitions if raw.stages else None
        known = {season.id for season in definitions.seasons} if definitions else set(entry.season_ids or ())
        for season in sorted(set(entry.season_ids or ()) - known):
            message, where = f"season_definitions has no season {season}", f"hydro {entry.hydro_id}"
            field = "season_ids"
            report.error(
                "reference", "initial_conditions.json", message, entity=where, field=field, value=season
            )
