"""What solved stages mean for reservoirs and turbines."""

from __future__ import annotations

from typing import Any

import numpy as np

from cobre.hydrothermal._power_outcomes import AT_LIMIT, ids_of, operative_state, series
from cobre.hydrothermal._solved import Cube, Solved
from cobre.system import System


def hydros(system: System, stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``hydros``."""
    ids = ids_of(system.hydros)
    turbined, spilled = solved.values("turbined", ids), solved.values("spilled", ids)
    outflow = turbined + spilled
    natural = _natural_inflow(system, stage, solved, ids)
    generation = _generation(system, stage, solved, turbined)
    initial, final = _volumes(solved, ids)
    return {
        "hydro_id": np.array(ids)[:, None],
        "turbined_m3s": turbined,
        "spillage_m3s": spilled,
        "outflow_m3s": outflow,
        **_diverted(system, solved, ids),
        "evaporation_m3s": _where_there("evaporated", solved, ids, "stage"),
        "incremental_inflow_m3s": natural,
        "inflow_m3s": natural + _arriving(system, solved, outflow),
        "storage_initial_hm3": initial,
        "storage_final_hm3": final,
        "generation_mw": generation,
        "generation_mwh": generation * solved.places.stage.hours,
        "productivity_mw_per_m3s": _productivity(system, stage, solved),
        "spillage_cost": solved.costs("spilled", ids),
        # One more hm³ on the right-hand side is one more in the reservoir, and that saves.
        "water_value_per_hm3": -solved.duals("balance:storage", ids, "period"),
        "storage_binding_code": _binding(system, stage, final),
        "operative_state_code": operative_state(turbined, series(system.hydros, "max_turbined_m3s", stage)),
        "turbined_slack_m3s": solved.values("turbined_below", ids),
        "outflow_slack_below_m3s": solved.values("outflow_below", ids),
        "outflow_slack_above_m3s": solved.values("outflow_above", ids),
        "generation_slack_mw": solved.values("generation_below", ids),
        "storage_violation_below_hm3": solved.values("below:storage", ids, "period"),
        "filling_target_violation_hm3": solved.values("filling_below", ids, "stage"),
        "evaporation_violation_pos_m3s": solved.values("evaporation_above", ids, "stage"),
        "evaporation_violation_neg_m3s": solved.values("evaporation_below", ids, "stage"),
        "inflow_nonnegativity_slack_m3s": solved.values("inflow_slack", ids, "stage"),
        "water_withdrawal_violation_pos_m3s": solved.values("withdrawal_above", ids, "stage"),
        "water_withdrawal_violation_neg_m3s": solved.values("withdrawal_below", ids, "stage"),
    }


def _natural_inflow(system: System, stage: int, solved: Solved, ids: tuple[int, ...]) -> Cube:
    """The inflow that has a column because others depend on it, or that of the balance's right-hand side."""
    volumes = solved.places.stage.hm3_per_m3s
    volume = volumes[0] if solved.places.stage.chronological else float(np.sum(volumes))
    balance = solved.rhs("balance:storage", ids, "period")[:, :, :1]
    free = balance / volume + series(system.hydros, "withdrawal_m3s", stage)
    lagged = solved.places.columns("inflow", ids, "stage") >= 0
    return np.where(lagged, solved.values("inflow", ids, "stage"), free)


def _arriving(system: System, solved: Solved, outflow: Cube) -> Cube:
    """What each plant gets from others."""
    index = {hydro.id: i for i, hydro in enumerate(system.hydros)}
    arriving = np.zeros_like(outflow)
    diverted = solved.values("diverted", ids_of(system.hydros))
    for i, hydro in enumerate(system.hydros):
        for to, flow in ((hydro.downstream, outflow), (hydro.diversion, diverted)):
            if to is not None:
                arriving[:, index[to]] += flow[:, i]
    pumped = solved.values("pumped", ids_of(system.pumping))
    for i, station in enumerate(system.pumping):
        arriving[:, index[station.target_hydro]] += pumped[:, i]
    return arriving


def _diverted(system: System, solved: Solved, ids: tuple[int, ...]) -> dict[str, Cube]:
    out = solved.values("diverted", ids)
    into = np.full_like(out, np.nan)
    for i, hydro in enumerate(system.hydros):
        if hydro.diversion is None:
            out[:, i] = np.nan
        else:
            to = ids.index(hydro.diversion)
            into[:, to] = np.nan_to_num(into[:, to]) + out[:, i]
    return {"diverted_inflow_m3s": into, "diverted_outflow_m3s": out}


def _where_there(kind: str, solved: Solved, ids: tuple[int, ...], by: str) -> Cube:
    there = solved.places.columns(kind, ids, by) >= 0
    return np.where(there, solved.values(kind, ids, by), np.nan)


def _generation(system: System, stage: int, solved: Solved, turbined: Cube) -> Cube:
    """Of a column of its own where production is a function of planes; else that of the turbined flow."""
    ids = ids_of(system.hydros)
    planes = solved.places.columns("generation", ids, "block") >= 0
    constant = turbined * series(system.hydros, "mw_per_m3s", stage)
    return np.where(planes, solved.values("generation", ids), constant)


def _productivity(system: System, stage: int, solved: Solved) -> Cube:
    planes = solved.places.columns("generation", ids_of(system.hydros), "block") >= 0
    return np.where(planes, np.nan, series(system.hydros, "mw_per_m3s", stage))[None]


def _volumes(solved: Solved, ids: tuple[int, ...]) -> tuple[Cube, Cube]:
    """Before and after the stage, or each block of a chronological one."""
    first, final = solved.values("storage_in", ids, "stage"), solved.values("storage", ids, "period")
    return np.concatenate([first, final[:, :, :-1]], axis=2), final


def _binding(system: System, stage: int, final: Cube) -> Cube:
    least, most = (series(system.hydros, f"{side}_storage_hm3", stage) for side in ("min", "max"))
    close = AT_LIMIT * np.maximum(most, 1.0)
    return np.where(final <= least + close, 1.0, 0.0) + np.where(final >= most - close, 2.0, 0.0)
