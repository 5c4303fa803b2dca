"""Checks of reservoirs that are filled for the first time."""

from __future__ import annotations

import numpy as np

from cobre.elements.hydro import labels
from cobre.elements.hydro.inputs.files import BOUNDS, INITIAL
from cobre.elements.hydro.inputs.filling import filled
from cobre.elements.hydro.inputs.models import HydroInitialConditions, HydroInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.system import HM3_PER_M3S_HOUR


def check(files: CaseFiles, report: Report) -> None:
    """Report fillings that make no sense."""
    hydros = {hydro.id: hydro for hydro in files.of(HydroInput)}
    for hydro in hydros.values():
        _check_time(hydro, report)
        if files.has_stages:
            _check_inflow(hydro, files, report)
    initial = files.initial(HydroInitialConditions)
    for entry in initial.filling_storage if initial else ():
        if entry.hydro_id in hydros:
            _check_volume(hydros[entry.hydro_id], entry.value_hm3, report)


def _check_time(hydro: HydroInput, report: Report) -> None:
    if hydro.filling is None:
        return
    start, entry = hydro.filling.start_stage_id, hydro.entry_stage_id
    where = {"entity": f"hydro {hydro.id}", "field": "filling.start_stage_id"}
    if entry is None:
        message = "a reservoir is filled before its plant enters: entry_stage_id is missing"
        remedy = "add entry_stage_id, or remove filling"
        report.error("meaning", labels.FILE, message, remedy, value=start, **where)
    elif start >= entry:
        message = f"filling begins in stage {start}, but must end when the plant enters in stage {entry}"
        remedy = "let it begin in an earlier stage"
        report.error("meaning", labels.FILE, message, remedy, value=start, **where)


def _check_volume(hydro: HydroInput, volume: float, report: Report) -> None:
    where = {"entity": f"hydro {hydro.id}", "field": "filling_storage"}
    least = hydro.reservoir.min_storage_hm3
    if hydro.filling is None:
        message = f"its reservoir is not filled for the first time: {labels.FILE} has no filling of it"
        remedy = "give its volume in storage, or add filling to the plant"
        report.error("meaning", INITIAL, message, remedy, value=volume, **where)
    elif volume > least:
        message = f"the initial volume is above {least:g}, to which the reservoir is to be filled"
        remedy = "lower the volume, or remove filling: the reservoir is full enough"
        report.warn("meaning", INITIAL, message, remedy, value=volume, **where)


def _check_inflow(hydro: HydroInput, files: CaseFiles, report: Report) -> None:
    """Report inflows that are kept while nothing is filled, or that cannot fill it even if all comes."""
    timeline, where = files.timeline, {"entity": f"hydro {hydro.id}"}
    here = filled(hydro, timeline)
    given = BOUNDS.overrides(files).given(hydro.id, "filling_inflow_m3s")
    useless = ~here & (given > 0)
    if useless.any():
        message = f"has no effect {timeline.names(useless)}, when the reservoir is not filled"
        remedy = "remove these values"
        report.warn("meaning", BOUNDS.table.name, message, remedy, field="filling_inflow_m3s", **where)
    if hydro.filling is None or not here.any():
        return
    kept = np.where(np.isnan(given), hydro.filling.filling_inflow_m3s, given) * here
    hours = np.array([sum(block.hours for block in stage.blocks) for stage in timeline.stages])
    volume = float(np.sum(kept * hours)) * HM3_PER_M3S_HOUR
    initial = files.initial(HydroInitialConditions)
    there = [e.value_hm3 for e in initial.filling_storage if e.hydro_id == hydro.id] if initial else []
    missing = hydro.reservoir.min_storage_hm3 - sum(there)
    if 0 < volume < missing:
        message = f"what is kept makes {volume:.6g} hm³, and {missing:.6g} are missing to the least volume"
        remedy = "keep more inflow, begin earlier, or expect to pay for the missing volume"
        report.warn("meaning", labels.FILE, message, remedy, field="filling.filling_inflow_m3s", **where)
