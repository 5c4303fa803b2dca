"""Reservoirs, the inflows of nature, and the balance of water."""

from __future__ import annotations

import numpy as np

from cobre.elements.hydro.data import Filling, Hydro
from cobre.hydrothermal._frame import Affine, Frame
from cobre.hydrothermal._water import power_of


def add_kept(frame: Frame, hydro: Hydro) -> None:
    """Add the volume of a plant that is absent, which stays what it is, and the inflow past it."""
    state = f"storage:{hydro.id}"
    before = frame.incoming[state] = frame.rows.column(f"storage_in:{hydro.id}", lower=-np.inf)
    after = frame.outgoing[state] = frame.rows.column(state)
    frame.rows.equation(f"kept:{state}", {after: 1.0, before: -1.0}, 0.0)
    _add_inflow(frame, hydro)


def add_reservoir(frame: Frame, hydro: Hydro) -> None:
    """Add volumes before and after, and the balance between them: one for all blocks, or one for each."""
    state, t = f"storage:{hydro.id}", frame.number
    before = frame.incoming[state] = frame.rows.column(f"storage_in:{hydro.id}", lower=-np.inf)
    steady = _steady_flows(frame, hydro)
    if frame.orders[hydro.id]:
        _add_inflow(frame, hydro)
    for name, period in frame.periods(state):
        after = frame.rows.column(name, upper=hydro.max_storage_hm3[t])
        _add_least_volume(frame, hydro, name, after)
        volume = float(np.sum(frame.hm3[period]))
        row = frame.rows.equation(
            f"balance:{name}", {after: 1.0, before: -1.0}, -volume * hydro.withdrawal_m3s[t]
        )
        for k in period:
            for column, sign in frame.water[hydro.id, k].items():
                frame.rows.add(row, column, -sign * frame.hm3[k])
        for column, sign in steady.items():
            frame.rows.add(row, column, -sign * volume)
        _add_inflows(frame, hydro, row, volume)
        for k in period:
            _add_planes(frame, hydro, k, (before, after))
        before = after
    frame.outgoing[state] = before
    if hydro.filling is not None:
        _add_filling(frame, hydro, hydro.filling)
    if hydro.evaporation is not None:
        _add_evaporation(frame, hydro, frame.incoming[state], frame.outgoing[state])


def _add_planes(frame: Frame, hydro: Hydro, k: int, volumes: tuple[int, int]) -> None:
    """Add the planes below which the power of a plant is in a block."""
    planes = hydro.planes[frame.number]
    if planes is None or frame.phase(hydro.id) != "operating":
        return
    turbined, spilled = (frame.rows[f"{kind}:{hydro.id}:{k}"] for kind in ("turbined", "spilled"))
    for m, constant in enumerate(planes.constant_mw):
        entries = dict.fromkeys(volumes, -planes.mw_per_hm3[m] / 2)
        entries |= {turbined: -planes.mw_per_m3s_turbined[m], spilled: -planes.mw_per_m3s_spilled[m]}
        entries |= power_of(frame, hydro, k)
        frame.rows.row(f"plane:{hydro.id}:{m}:{k}", entries, upper=constant)


def _add_inflows(frame: Frame, hydro: Hydro, row: int, volume: float) -> None:
    """Add the inflow of a plant to its balance, and those of absent plants above it."""
    offset = -volume * hydro.withdrawal_m3s[frame.number]  # once, whoever's inflow is on that side
    for other in frame.tributaries[hydro.id]:
        if f"inflow:{other.id}" in frame.rows:
            frame.rows.add(row, frame.rows[f"inflow:{other.id}"], -volume)
        else:
            frame.inflows[other.id].append(Affine(row, volume, offset))
            offset = 0.0


def _add_filling(frame: Frame, hydro: Hydro, filling: Filling) -> None:
    """Add what should be kept of the inflow, and what should be reached by the end of the filling."""
    t, state, cost = frame.number, f"storage:{hydro.id}", hydro.penalties.filling_below_per_hm3[frame.number]
    after, before = frame.outgoing[state], frame.incoming[state]
    if filling.retained_m3s[t] > 0:
        volume = float(np.sum(frame.hm3))
        slack = frame.rows.column(f"retained_below:{hydro.id}", cost=cost)
        entries = {after: 1.0, before: -1.0, slack: 1.0}
        if hydro.evaporation is not None:  # it was kept, and evaporates then
            entries[frame.rows[f"evaporated:{hydro.id}"]] = volume
        frame.rows.row(f"retained:{hydro.id}", entries, lower=volume * filling.retained_m3s[t])
    if filling.target_hm3[t] > 0:
        slack = frame.rows.column(f"filling_below:{hydro.id}", cost=cost)
        frame.rows.row(f"filled:{hydro.id}", {after: 1.0, slack: 1.0}, lower=filling.target_hm3[t])


def _add_least_volume(frame: Frame, hydro: Hydro, name: str, volume: int) -> None:
    least = hydro.min_storage_hm3[frame.number]
    if least > 0 and frame.phase(hydro.id) == "operating":
        cost = hydro.penalties.storage_below_per_hm3[frame.number]
        slack = frame.rows.column(f"below:{name}", cost=cost)
        frame.rows.row(f"least:{name}", {volume: 1.0, slack: 1.0}, lower=least)


def _steady_flows(frame: Frame, hydro: Hydro) -> dict[int, float]:
    """Add flows that are the same in all blocks: into the reservoir, or out of it."""
    t, penalties, hours = frame.number, hydro.penalties, frame.all_hours
    flows: dict[int, float] = {}
    if "penalty" in frame.system.negative_inflows:
        name = f"inflow_slack:{hydro.id}"
        flows[frame.rows.column(name, cost=penalties.negative_inflow[t] * hours)] = 1.0
    if hydro.withdrawal_m3s[t] != 0:
        below = penalties.withdrawal_below[t] * hours
        flows[frame.rows.column(f"withdrawal_below:{hydro.id}", cost=below)] = 1.0
        above = penalties.withdrawal_above[t] * hours
        flows[frame.rows.column(f"withdrawal_above:{hydro.id}", cost=above)] = -1.0
    if hydro.evaporation is not None:
        flows[frame.rows.column(f"evaporated:{hydro.id}")] = -1.0
    return flows


def _add_evaporation(frame: Frame, hydro: Hydro, before: int, after: int) -> None:
    if hydro.evaporation is None:
        return
    t, hours, penalties = frame.number, frame.all_hours, hydro.penalties
    slope = hydro.evaporation.slope_m3s_per_hm3[t]
    entries = {frame.rows[f"evaporated:{hydro.id}"]: 1.0, before: -slope / 2, after: -slope / 2}
    below = penalties.evaporation_below[t] * hours
    entries[frame.rows.column(f"evaporation_below:{hydro.id}", cost=below)] = 1.0
    above = penalties.evaporation_above[t] * hours
    entries[frame.rows.column(f"evaporation_above:{hydro.id}", cost=above)] = -1.0
    frame.rows.equation(f"evaporation:{hydro.id}", entries, hydro.evaporation.constant_m3s[t])


def _add_inflow(frame: Frame, hydro: Hydro) -> None:
    """Add the column of an inflow: one with a memory, or one that runs past an absent plant."""
    order = frame.orders[hydro.id]
    coefficients = hydro.inflow.coefficients[frame.number]
    inflow = frame.rows.column(f"inflow:{hydro.id}", lower=-np.inf)
    entries = {inflow: 1.0}
    newer = inflow
    for lag in range(1, order + 1):
        state = f"inflow:{hydro.id}:{lag}"
        past = frame.incoming[state] = frame.rows.column(f"past_{state}", lower=-np.inf)
        if lag <= len(coefficients):
            entries[past] = -float(coefficients[lag - 1])
        if lag == 1:
            frame.outgoing[state] = inflow
        else:
            kept = frame.outgoing[state] = frame.rows.column(f"kept_{state}", lower=-np.inf)
            frame.rows.equation(f"kept_{state}", {kept: 1.0, newer: -1.0}, 0.0)
        newer = past
    row = frame.rows.equation(f"inflow:{hydro.id}", entries, 0.0)
    frame.inflows[hydro.id].append(Affine(row, 1.0))
