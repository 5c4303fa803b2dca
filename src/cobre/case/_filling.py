"""When a hydro plant is there, and how its new reservoir is filled before it operates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cobre.case._entities import Hydro
from cobre.case._raw import FILE_OF, Raw
from cobre.case._report import Report
from cobre.case._series import Overrides, Series, Timeline
from cobre.elements.hydro.data import Filling, Phase
from cobre.system import HM3_PER_M3S_HOUR

BOUNDS = "constraints/hydro_bounds.parquet"


def phases(hydro: Hydro, timeline: Timeline) -> tuple[Phase, ...]:
    """What a plant is, by stage."""
    return tuple(_phase(hydro, stage) for stage in timeline.ids)


def exists(hydro: Hydro, timeline: Timeline) -> NDArray[np.bool_]:
    """Whether a plant is there at all, by stage."""
    return np.array([phase != "absent" for phase in phases(hydro, timeline)])


def _phase(hydro: Hydro, stage: int) -> Phase:
    if hydro.serves(stage):
        return "operating"
    entry = hydro.entry_stage_id
    fills = hydro.filling is not None and entry is not None and hydro.filling.start_stage_id <= stage < entry
    return "filling" if fills else "absent"


def resolve(hydro: Hydro, bounds: Mapping[str, Series], timeline: Timeline) -> Filling | None:
    """How a reservoir is filled; None if it never is."""
    filled = _filled(hydro, timeline)
    if not filled.any():
        return None
    after = [hydro.serves(stage) for stage in timeline.ids[1:]] + [hydro.serves(timeline.ids[-1] + 1)]
    retained = np.where(filled, bounds["filling_inflow_m3s"], 0.0)
    return Filling(retained, np.where(filled & np.array(after), bounds["min_storage_hm3"], 0.0))


def _filled(hydro: Hydro, timeline: Timeline) -> NDArray[np.bool_]:
    return np.array([phase == "filling" for phase in phases(hydro, timeline)])


def check(raw: Raw, timeline: Timeline | None, report: Report) -> None:
    """Report fillings that make no sense."""
    for hydro in raw.hydros:
        _check_time(hydro, report)
        if timeline is not None:
            _check_inflow(hydro, raw, timeline, report)
    hydros = {hydro.id: hydro for hydro in raw.hydros}
    for entry in raw.initial.filling_storage if raw.initial else ():
        if entry.hydro_id in hydros:
            _check_volume(hydros[entry.hydro_id], entry.value_hm3, report)


def _check_time(hydro: Hydro, report: Report) -> None:
    if hydro.filling is None:
        return
    start, entry = hydro.filling.start_stage_id, hydro.entry_stage_id
    where = {"entity": f"hydro {hydro.id}", "field": "filling.start_stage_id"}
    if entry is None:
        message = "a reservoir is filled before its plant enters: entry_stage_id is missing"
        report.error("meaning", FILE_OF["hydros"], message, value=start, **where)
    elif start >= entry:
        message = f"filling begins in stage {start}, but must end when the plant enters in stage {entry}"
        report.error("meaning", FILE_OF["hydros"], message, value=start, **where)


def _check_volume(hydro: Hydro, volume: float, report: Report) -> None:
    where = {"entity": f"hydro {hydro.id}", "field": "filling_storage"}
    least = hydro.reservoir.min_storage_hm3
    if hydro.filling is None:
        message = f"its reservoir is not filled for the first time: {FILE_OF['hydros']} has no filling of it"
        report.error("meaning", "initial_conditions.json", message, value=volume, **where)
    elif volume > least:
        message = f"the initial volume is above {least:g}, to which the reservoir is to be filled"
        report.warn("meaning", "initial_conditions.json", message, value=volume, **where)


def _check_inflow(hydro: Hydro, raw: Raw, timeline: Timeline, report: Report) -> None:
    """Report inflows that are kept while nothing is filled, or that cannot fill it even if all comes."""
    filled, where = _filled(hydro, timeline), {"entity": f"hydro {hydro.id}"}
    given = Overrides(timeline, raw.table(BOUNDS), "hydro_id").given(hydro.id, "filling_inflow_m3s")
    if useless := timeline.names(~filled & (given > 0)) if (~filled & (given > 0)).any() else "":
        message = f"has no effect {useless}, when the reservoir is not filled"
        report.warn("meaning", BOUNDS, message, field="filling_inflow_m3s", **where)
    if hydro.filling is None or not filled.any():
        return
    kept = np.where(np.isnan(given), hydro.filling.filling_inflow_m3s, given) * filled
    hours = np.array([sum(block.hours for block in stage.blocks) for stage in timeline.stages])
    volume = float(np.sum(kept * hours)) * HM3_PER_M3S_HOUR
    initial = raw.initial.filling_storage if raw.initial else ()
    missing = hydro.reservoir.min_storage_hm3 - sum(e.value_hm3 for e in initial if e.hydro_id == hydro.id)
    if 0 < volume < missing:
        message = f"what is kept makes {volume:.6g} hm³, and {missing:.6g} are missing to the least volume"
        report.warn("meaning", FILE_OF["hydros"], message, field="filling.filling_inflow_m3s", **where)
