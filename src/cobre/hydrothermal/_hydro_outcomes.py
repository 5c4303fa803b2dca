"""What solved stages mean for reservoirs and turbines."""

from __future__ import annotations

from typing import Any

import numpy as np

from cobre.elements.hydro.data import Hydro
from cobre.elements.pumping_station.data import PumpingStation
from cobre.hydrothermal._frame import Frame
from cobre.hydrothermal._power_outcomes import AT_LIMIT, ids_of, operative_state, series
from cobre.hydrothermal._solved import Cube, Solved
from cobre.lp import Floats
from cobre.system import System


def hydros(system: System, stage: int, solved: Solved) -> dict[str, Any]:
    """The columns of ``hydros``."""
    ids, frame = ids_of(system.of(Hydro)), Frame(system, stage, {})  # who is there, and where water goes
    turbined, spilled = solved.values("turbined", ids), solved.values("spilled", ids)
    outflow = turbined + spilled
    natural = _natural_inflow(frame, solved, ids)
    generation = _generation(system, stage, solved, turbined)
    initial, final = _volumes(solved, ids)
    return {
        "hydro_id": np.array(ids)[:, None],
        "turbined_m3s": turbined,
        "spillage_m3s": spilled,
        "outflow_m3s": outflow,
        **_diverted(frame, solved, ids),
        "evaporation_m3s": _where_there("evaporated", solved, ids, "stage"),
        "incremental_inflow_m3s": natural,
        "inflow_m3s": natural + _arriving(frame, solved, outflow),
        "storage_initial_hm3": initial,
        "storage_final_hm3": final,
        "generation_mw": generation,
        "generation_mwh": generation * solved.places.stage.hours,
        "productivity_mw_per_m3s": _productivity(system, stage, solved),
        "spillage_cost": solved.costs("spilled", ids),
        # One more hm³ on the right-hand side is one more in the reservoir, and that saves.
        "water_value_per_hm3": 0.0 - solved.duals("balance:storage", ids, "period"),
        "storage_binding_code": _binding(frame, final),
        "operative_state_code": operative_state(turbined, _turbines(frame)),
        "turbined_slack_m3s": solved.values("turbined_below", ids),
        "outflow_slack_below_m3s": solved.values("outflow_below", ids),
        "outflow_slack_above_m3s": solved.values("outflow_above", ids),
        "generation_slack_mw": solved.values("generation_below", ids)
        + solved.values("negative_generation", ids),
        "storage_violation_below_hm3": solved.values("below:storage", ids, "period"),
        "filling_target_violation_hm3": _missing_of_filling(solved, ids),
        "evaporation_violation_pos_m3s": solved.values("evaporation_above", ids, "stage"),
        "evaporation_violation_neg_m3s": solved.values("evaporation_below", ids, "stage"),
        "inflow_nonnegativity_slack_m3s": solved.values("inflow_slack", ids, "stage"),
        "water_withdrawal_violation_pos_m3s": solved.values("withdrawal_above", ids, "stage"),
        "water_withdrawal_violation_neg_m3s": solved.values("withdrawal_below", ids, "stage"),
    }


def _natural_inflow(frame: Frame, solved: Solved, ids: tuple[int, ...]) -> Cube:
    """The inflow of each plant and of absent ones above it, of right-hand sides and columns."""
    volume = frame.hm3[0] if frame.stage.chronological else float(np.sum(frame.hm3))
    balance = solved.rhs("balance:storage", ids, "period")[:, :, :1]
    inflow = balance / volume + series(frame.system.of(Hydro), "withdrawal_m3s", frame.number)
    columns = solved.values("inflow", ids, "stage")
    for i, hydro in enumerate(frame.system.of(Hydro)):
        if frame.phase(hydro.id) == "absent":
            inflow[:, i] = 0.0
        for other in frame.tributaries[hydro.id]:
            inflow[:, i] += columns[:, ids.index(other.id)]
    return inflow


def _arriving(frame: Frame, solved: Solved, outflow: Cube) -> Cube:
    """What each plant gets from others."""
    system, ids = frame.system, ids_of(frame.system.of(Hydro))
    arriving = np.zeros_like(outflow)
    diverted, pumped = (
        solved.values("diverted", ids),
        solved.values("pumped", ids_of(system.of(PumpingStation))),
    )
    ways = [(hydro.downstream, outflow[:, i]) for i, hydro in enumerate(system.of(Hydro))]
    ways += [(hydro.diversion, diverted[:, i]) for i, hydro in enumerate(system.of(Hydro))]
    ways += [(station.target_hydro, pumped[:, i]) for i, station in enumerate(system.of(PumpingStation))]
    for target, flow in ways:
        to = frame.arrival(target)
        if to is not None:
            arriving[:, ids.index(to)] += flow
    return arriving


def _diverted(frame: Frame, solved: Solved, ids: tuple[int, ...]) -> dict[str, Cube]:
    out = solved.values("diverted", ids)
    into = np.full_like(out, np.nan)
    for i, hydro in enumerate(frame.system.of(Hydro)):
        to = frame.arrival(hydro.diversion)
        if to is not None:
            place = ids.index(to)
            into[:, place] = np.nan_to_num(into[:, place]) + out[:, i]
        if hydro.diversion is None:
            out[:, i] = np.nan
    return {"diverted_inflow_m3s": into, "diverted_outflow_m3s": out}


def _where_there(kind: str, solved: Solved, ids: tuple[int, ...], by: str) -> Cube:
    there = solved.places.columns(kind, ids, by) >= 0
    return np.where(there, solved.values(kind, ids, by), np.nan)


def _generation(system: System, stage: int, solved: Solved, turbined: Cube) -> Cube:
    """Of a column of its own where production is a function of planes; else that of the turbined flow."""
    ids = ids_of(system.of(Hydro))
    planes = solved.places.columns("generation", ids, "block") >= 0
    constant = turbined * series(system.of(Hydro), "mw_per_m3s", stage)
    power = solved.values("generation", ids) - solved.values("negative_generation", ids)
    return np.where(planes, power, constant)


def _productivity(system: System, stage: int, solved: Solved) -> Cube:
    planes = solved.places.columns("generation", ids_of(system.of(Hydro)), "block") >= 0
    return np.where(planes, np.nan, series(system.of(Hydro), "mw_per_m3s", stage))[None]


def _volumes(solved: Solved, ids: tuple[int, ...]) -> tuple[Cube, Cube]:
    """Before and after the stage, or each block of a chronological one."""
    first, final = solved.values("storage_in", ids, "stage"), solved.values("storage", ids, "period")
    there = solved.places.columns("storage", ids, "period") >= 0  # an absent plant has one volume for all
    final = np.where(there, final, final[:, :, -1:])
    return np.concatenate([first, final[:, :, :-1]], axis=2), final


def _missing_of_filling(solved: Solved, ids: tuple[int, ...]) -> Cube:
    return solved.values("retained_below", ids, "stage") + solved.values("filling_below", ids, "stage")


def _turbines(frame: Frame) -> Floats:
    """The most that can be turbined; 0 where a plant is absent or its reservoir is filled."""
    operating = np.array([frame.phase(hydro.id) == "operating" for hydro in frame.system.of(Hydro)])
    return operating[:, None] * series(frame.system.of(Hydro), "max_turbined_m3s", frame.number)


def _binding(frame: Frame, final: Cube) -> Cube:
    hydros = frame.system.of(Hydro)
    least, most = (series(hydros, f"{side}_storage_hm3", frame.number) for side in ("min", "max"))
    close = AT_LIMIT * np.maximum(most, 1.0)
    binding = np.where(final <= least + close, 1.0, 0.0) + np.where(final >= most - close, 2.0, 0.0)
    there = np.array([frame.phase(hydro.id) != "absent" for hydro in hydros])
    return np.where(there[:, None], binding, 0.0)
