"""Whether what the files say makes sense: the system."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from cobre.case import _expressions, _filling
from cobre.case._bounds import Bounds
from cobre.case._evaporation import FILE as GEOMETRY
from cobre.case._penalties import DeficitSegment
from cobre.case._raw import FILE_OF, Raw
from cobre.case._references import SINGLE
from cobre.case._report import Report
from cobre.case._series import Timeline


def check(raw: Raw, timeline: Timeline | None, report: Report) -> None:
    """Report what no system can be like."""
    _check_deficits(raw, report)
    _check_cascade(raw, report)
    _check_service(raw, report)
    _check_lines(raw, report)
    _check_expressions(raw, report)
    _check_geometry(raw, report)
    _check_evaporation(raw, timeline, report)
    if raw.ids("buses") == set():
        report.error("meaning", FILE_OF["buses"], "there are no buses", field="buses")
    if timeline is not None:
        _check_bounds(Bounds(raw, timeline), report)
    _check_storage(raw, report)
    _filling.check(raw, timeline, report)


def _check_deficits(raw: Raw, report: Report) -> None:
    if raw.penalties:
        _check_segments(raw.penalties.bus.deficit_segments, "penalties.json", "", "bus.", report)
    for bus in raw.buses:
        if bus.deficit_segments:
            _check_segments(bus.deficit_segments, FILE_OF["buses"], f"bus {bus.id}", "", report)


def _check_segments(
    segments: Sequence[DeficitSegment], file: str, entity: str, prefix: str, report: Report
) -> None:
    field = f"{prefix}deficit_segments"
    for index, (one, next_) in enumerate(itertools.pairwise(segments)):
        if next_.cost <= one.cost:
            message = f"costs must increase, but {next_.cost:g} follows {one.cost:g}"
            where = f"{field}[{index + 1}].cost"
            report.error("meaning", file, message, entity=entity, field=where, value=next_.cost)
        if one.depth_mw is None:
            message = "only the last segment may be without a depth"
            report.error("meaning", file, message, entity=entity, field=f"{field}[{index}].depth_mw")
    if segments[-1].depth_mw is not None:
        message = "the last segment must be without a depth (null), so that any load can go unserved"
        where = f"{field}[{len(segments) - 1}].depth_mw"
        report.error("meaning", file, message, entity=entity, field=where, value=segments[-1].depth_mw)


def _check_cascade(raw: Raw, report: Report) -> None:
    below = {hydro.id: hydro.downstream_id for hydro in raw.hydros}
    in_cycles: set[int] = set()
    for start in below:
        seen: list[int] = []
        here: int | None = start
        while here is not None and here not in seen and here not in in_cycles:
            seen.append(here)
            here = below.get(here)
        if here in seen and here is not None:
            in_cycles |= set(cycle := seen[seen.index(here) :])
            names = " → ".join(str(hydro) for hydro in [*cycle, here])
            message = f"water would run in a circle: {names}"
            suggestion = "change a downstream_id"
            report.error(
                "meaning",
                FILE_OF["hydros"],
                message,
                entity=f"hydro {here}",
                field="downstream_id",
                suggestion=suggestion,
            )
    for hydro in raw.hydros:
        if hydro.diversion and hydro.diversion.downstream_id == hydro.id:
            message = "the plant diverts to itself"
            report.error(
                "meaning",
                FILE_OF["hydros"],
                message,
                entity=f"hydro {hydro.id}",
                field="diversion.downstream_id",
            )


def _check_service(raw: Raw, report: Report) -> None:
    for kind in ("lines", "hydros", "thermals", "sources", "stations", "contracts"):
        for entity in getattr(raw, kind):
            entry, leave = entity.entry_stage_id, entity.exit_stage_id
            if entry is not None and leave is not None and entry >= leave:
                message = f"it leaves in stage {leave}, but enters in stage {entry}"
                owner = f"{SINGLE[kind]} {entity.id}"
                report.error(
                    "meaning", FILE_OF[kind], message, entity=owner, field="exit_stage_id", value=leave
                )


def _check_lines(raw: Raw, report: Report) -> None:
    for line in raw.lines:
        if line.source_bus_id == line.target_bus_id:
            message = "it joins a bus to itself"
            report.error(
                "meaning", FILE_OF["lines"], message, entity=f"line {line.id}", field="target_bus_id"
            )
    for station in raw.stations:
        if station.source_hydro_id == station.destination_hydro_id:
            message = "it pumps from a reservoir into the same"
            owner = f"pumping station {station.id}"
            report.error("meaning", FILE_OF["stations"], message, entity=owner, field="destination_hydro_id")


def _check_bounds(bounds: Bounds, report: Report) -> None:
    for entry, entity, low, high, lower, upper in bounds.crossed():
        wrong = lower > upper
        worst = int(np.argmax(wrong))
        message = f"{low} {lower[worst]:g} is above {high} {upper[worst]:g} {bounds.timeline.names(wrong)}"
        changed = bounds.raw.table(entry.file) is not None and not wrong.all()
        file = entry.file if changed else FILE_OF[entry.kind]
        owner = f"{SINGLE[entry.kind]} {entity.id}"
        report.error("meaning", file, message, entity=owner, field=low, value=float(lower[worst]))


def _check_expressions(raw: Raw, report: Report) -> None:
    types = {contract.id: contract.type for contract in raw.contracts}
    for constraint in raw.constraints:
        where = {"entity": f"constraint {constraint.id}", "field": "expression"}
        try:
            terms = _expressions.parse(constraint.expression)
        except ValueError as error:
            value = constraint.expression
            report.error("meaning", FILE_OF["constraints"], str(error), value=value, **where)
            continue
        for term in terms:
            kind = term.variable.removeprefix("contract_")
            if kind in ("import", "export") and types.get(term.entity, kind) != kind:
                message = f"contract {term.entity} is one of {types[term.entity]}"
                report.error("meaning", FILE_OF["constraints"], message, value=term.variable, **where)


def _check_geometry(raw: Raw, report: Report) -> None:
    table = raw.table(GEOMETRY)
    for hydro in [] if table is None else np.unique(table["hydro_id"]).tolist():
        assert table is not None  # noqa: S101 - for the type checker
        rows = np.flatnonzero(table["hydro_id"] == hydro)
        rows = rows[np.argsort(table["volume_hm3"][rows], kind="stable")]
        for column in ("height_m", "area_km2"):
            if np.any(np.diff(table[column][rows]) < 0):
                message = "must not decrease as the volume grows"
                report.error("meaning", GEOMETRY, message, entity=f"hydro {hydro}", field=column)


def _check_evaporation(raw: Raw, timeline: Timeline | None, report: Report) -> None:
    table = raw.table(GEOMETRY)
    for hydro in raw.hydros:
        if hydro.evaporation is None:
            continue
        where = {"entity": f"hydro {hydro.id}"}
        low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
        for month, volume in enumerate(hydro.evaporation.reference_volumes_hm3 or ()):
            if not low <= volume <= high:
                field = f"evaporation.reference_volumes_hm3[{month}]"
                message = f"must lie between {low:g} and {high:g}, the bounds of the reservoir"
                report.error("meaning", FILE_OF["hydros"], message, field=field, value=volume, **where)
        reported = GEOMETRY in raw.tables and table is None
        areas = np.array([0.0]) if table is None else table["area_km2"][table["hydro_id"] == hydro.id]
        if not reported and not np.any(areas > 0):
            message = f"evaporation needs the plant's areas in {GEOMETRY}"
            report.error("dimension", FILE_OF["hydros"], message, field="evaporation", **where)
        if timeline is not None and any(season >= 12 for season in timeline.seasons):
            message = "evaporation is by month, so all seasons must be 0 to 11"
            report.error("meaning", FILE_OF["hydros"], message, field="evaporation", **where)


def _check_storage(raw: Raw, report: Report) -> None:
    if raw.initial is None:
        return
    given = {entry.hydro_id: entry.value_hm3 for entry in raw.initial.storage}
    filling = {entry.hydro_id for entry in raw.initial.filling_storage}
    for hydro in raw.hydros:
        low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
        where = {"entity": f"hydro {hydro.id}", "field": "storage"}
        volume = given.get(hydro.id)
        if volume is None:
            if high > 0 and hydro.id not in filling:
                message = "no initial volume is given: it is taken to be 0"
                report.warn("dimension", "initial_conditions.json", message, **where)
        elif not low <= volume <= high:
            message = f"the initial volume is not between {low:g} and {high:g}, the bounds of the reservoir"
            report.warn("meaning", "initial_conditions.json", message, value=volume, **where)
