"""Reservoirs, what runs into them and what leaves them."""

from __future__ import annotations

import numpy as np

from cobre.hydrothermal._frame import Affine, Frame
from cobre.system import Hydro


def add_releases(frame: Frame, hydro: Hydro) -> None:
    """Add what leaves a plant, and where it goes."""
    t, penalties = frame.number, hydro.penalties
    productivity, most = hydro.mw_per_m3s[t], hydro.max_turbined_m3s[t]
    if productivity > 0:
        most = min(most, hydro.max_generation_mw[t] / productivity)
    turbined = frame.by_block(f"turbined:{hydro.id}", 0.0, most)
    spilled = frame.by_block(f"spilled:{hydro.id}", 0.0, np.inf, penalties.spillage[t])
    ways = [(turbined, hydro.downstream), (spilled, hydro.downstream)]
    if hydro.diversion is not None:
        limit = hydro.max_diversion_m3s[t]
        diverted = frame.by_block(f"diverted:{hydro.id}", 0.0, limit, penalties.diversion[t])
        ways.append((diverted, hydro.diversion))
    for columns, to in ways:
        for k, column in enumerate(columns):
            frame.water[hydro.id, k][column] = -1.0
            if to is not None:
                frame.water[to, k][column] = 1.0
    for k in frame.blocks:
        frame.power[hydro.bus, k][turbined[k]] = productivity
        _add_limits(frame, hydro, k, turbined[k], spilled[k])


def _add_limits(frame: Frame, hydro: Hydro, k: int, turbined: int, spilled: int) -> None:
    """Add what should be released at least or at most, and what it costs not to."""
    t, penalties, hours = frame.number, hydro.penalties, frame.hours[k]
    outflow = {turbined: 1.0, spilled: 1.0}
    power = {turbined: float(hydro.mw_per_m3s[t])}
    for kind, entries, least, cost in (
        ("outflow_below", outflow, hydro.min_outflow_m3s[t], penalties.outflow_below[t]),
        ("turbined_below", {turbined: 1.0}, hydro.min_turbined_m3s[t], penalties.turbined_below[t]),
        ("generation_below", power, hydro.min_generation_mw[t], penalties.generation_below_per_mwh[t]),
    ):
        if least > 0:
            name = f"{kind}:{hydro.id}:{k}"
            slack = frame.rows.column(name, cost=cost * hours)
            frame.rows.row(name, {**entries, slack: 1.0}, lower=least)
    if np.isfinite(hydro.max_outflow_m3s[t]):
        name = f"outflow_above:{hydro.id}:{k}"
        slack = frame.rows.column(name, cost=penalties.outflow_above[t] * hours)
        frame.rows.row(name, {**outflow, slack: -1.0}, upper=hydro.max_outflow_m3s[t])


def add_pumping(frame: Frame) -> None:
    """Add what is pumped from one plant to another."""
    for pumping in frame.system.pumping:
        low, high = pumping.min_m3s[frame.number], pumping.max_m3s[frame.number]
        for k, column in enumerate(frame.by_block(f"pumped:{pumping.id}", low, high)):
            frame.water[pumping.source_hydro, k][column] = -1.0
            frame.water[pumping.target_hydro, k][column] = 1.0
            frame.power[pumping.bus, k][column] = -pumping.mw_per_m3s


def add_reservoir(frame: Frame, hydro: Hydro) -> None:
    """Add volumes before and after, and the balance between them: one for all blocks, or one for each."""
    state, t = f"storage:{hydro.id}", frame.number
    before = frame.incoming[state] = frame.rows.column(f"storage_in:{hydro.id}", lower=-np.inf)
    steady = _steady_flows(frame, hydro)
    inflow = _add_lagged_inflow(frame, hydro)
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
        if inflow is None:
            frame.inflows[hydro.id].append(Affine(row, volume, -volume * hydro.withdrawal_m3s[t]))
        else:
            frame.rows.add(row, inflow, -volume)
        before = after
    frame.outgoing[state] = before
    if hydro.evaporation is not None:
        _add_evaporation(frame, hydro, frame.incoming[state], frame.outgoing[state])


def _add_least_volume(frame: Frame, hydro: Hydro, name: str, volume: int) -> None:
    least = hydro.min_storage_hm3[frame.number]
    if least > 0:
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


def _add_lagged_inflow(frame: Frame, hydro: Hydro) -> int | None:
    """Add the column of an inflow that depends on those before it, or that later ones depend on."""
    order = frame.orders[hydro.id]
    if not order:
        return None
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
    return inflow
