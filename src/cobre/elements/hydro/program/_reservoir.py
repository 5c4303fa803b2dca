"""Reservoirs: volumes before and after a stage, the water balance between them, and filling."""

from __future__ import annotations

import numpy as np

from cobre.elements.frame import StageFrame
from cobre.elements.hydro.data import Filling, Hydro
from cobre.elements.hydro.program._evaporation import add_evaporation
from cobre.elements.hydro.program._inflow import (
    add_inflow,
    add_inflows_to_balance,
    add_slack,
    needs_column,
    slacks_in_balance,
)
from cobre.elements.hydro.program._production import add_planes


def add_constant_storage(frame: StageFrame, plant: Hydro) -> None:
    """Add the volume of an absent plant, which stays what it is, and the inflow that runs past it."""
    state = f"storage:{plant.id}"
    before = frame.incoming[state] = frame.program.add_column(f"storage_in:{plant.id}", lower=-np.inf)
    after = frame.outgoing[state] = frame.program.add_column(state)
    frame.program.add_equation(f"kept:{state}", {after: 1.0, before: -1.0}, 0.0)
    add_inflow(frame, plant)
    if frame.system.negative_inflows == "penalty":
        add_slack(frame, plant)


def add_reservoir(frame: StageFrame, plant: Hydro) -> None:
    """Add the volumes and the water balances of a present plant: one for all blocks, or one for each."""
    state, t = f"storage:{plant.id}", frame.number
    before = frame.incoming[state] = frame.program.add_column(f"storage_in:{plant.id}", lower=-np.inf)
    steady = _steady_flows(frame, plant)
    if needs_column(frame, plant):
        add_inflow(frame, plant)
    for name, period in frame.periods(state):
        after = frame.program.add_column(name, upper=plant.max_storage_hm3[t])
        _add_least_volume(frame, plant, name, after)
        volume = float(np.sum(frame.hm3[period]))
        due = -volume * plant.withdrawal_m3s[t]
        row = frame.program.add_equation(f"balance:{name}", {after: 1.0, before: -1.0}, due)
        _add_flows(frame, plant, row, period, steady)
        add_inflows_to_balance(frame, plant, row, volume)
        for k in period:
            add_planes(frame, plant, k, (before, after))
        before = after
    frame.outgoing[state] = before
    if plant.filling is not None:
        _add_filling(frame, plant, plant.filling)
    if plant.evaporation is not None:
        add_evaporation(frame, plant, plant.evaporation)


def _add_flows(
    frame: StageFrame, plant: Hydro, balance: int, period: list[int], steady: dict[int, float]
) -> None:
    """Add what columns bring and take in a period to its water balance, in hm³."""
    volume = float(np.sum(frame.hm3[period]))
    for k in period:
        for column, sign in frame.water[plant.id, k].items():
            frame.program.add_to_entry(balance, column, -sign * frame.hm3[k])
    for column, sign in steady.items():
        frame.program.add_to_entry(balance, column, -sign * volume)


def _steady_flows(frame: StageFrame, plant: Hydro) -> dict[int, float]:
    """Add flows that are the same in all blocks: into the reservoir (1), or out of it (-1)."""
    t, penalties, hours, program = frame.number, plant.penalties, frame.all_hours, frame.program
    flows: dict[int, float] = {}
    for slack in slacks_in_balance(frame, plant):
        flows[slack] = 1.0
    if plant.withdrawal_m3s[t] != 0:
        below = penalties.withdrawal_below[t] * hours
        flows[program.add_column(f"withdrawal_below:{plant.id}", cost=below)] = 1.0
        above = penalties.withdrawal_above[t] * hours
        flows[program.add_column(f"withdrawal_above:{plant.id}", cost=above)] = -1.0
    if plant.evaporation is not None:
        flows[program.add_column(f"evaporated:{plant.id}")] = -1.0
    return flows


def _add_least_volume(frame: StageFrame, plant: Hydro, name: str, volume: int) -> None:
    least = plant.min_storage_hm3[frame.number]
    if least > 0 and frame.network.is_operating(plant.id):
        cost = plant.penalties.storage_below_per_hm3[frame.number]
        slack = frame.program.add_column(f"below:{name}", cost=cost)
        frame.program.add_row(f"least:{name}", {volume: 1.0, slack: 1.0}, lower=least)


def _add_filling(frame: StageFrame, plant: Hydro, filling: Filling) -> None:
    """Add the inflow that should be retained, and the volume that the filling should reach."""
    t, state, cost = frame.number, f"storage:{plant.id}", plant.penalties.filling_below_per_hm3[frame.number]
    after, before, program = frame.outgoing[state], frame.incoming[state], frame.program
    if filling.retained_m3s[t] > 0:
        volume = float(np.sum(frame.hm3))
        slack = program.add_column(f"retained_below:{plant.id}", cost=cost)
        entries = {after: 1.0, before: -1.0, slack: 1.0}
        if plant.evaporation is not None:  # what evaporates was retained before
            entries[program[f"evaporated:{plant.id}"]] = volume
        program.add_row(f"retained:{plant.id}", entries, lower=volume * filling.retained_m3s[t])
    if filling.target_hm3[t] > 0:
        slack = program.add_column(f"filling_below:{plant.id}", cost=cost)
        program.add_row(f"filled:{plant.id}", {after: 1.0, slack: 1.0}, lower=filling.target_hm3[t])
