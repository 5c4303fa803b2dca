"""Natural inflow of hydro plants: noise in the water balance, or a column where past inflows are states."""

from __future__ import annotations

import numpy as np

from cobre.elements.frame import NoisePlace, StageFrame
from cobre.elements.hydro.data import Hydro
from cobre.elements.hydro.noise import TRUNCATING


def needs_column(frame: StageFrame, plant: Hydro) -> bool:
    """True if an inflow is a column: it has lags, or the programme lifts it to 0."""
    return plant.inflow.order > 0 or frame.system.negative_inflows == "truncation_with_penalty"


def add_inflow(frame: StageFrame, plant: Hydro) -> None:
    """Add the column of an inflow, and those of its states: past inflows."""
    program, psi = frame.program, plant.inflow.psi[frame.number]
    lifted = _is_lifted(frame, plant)
    inflow = program.add_column(f"inflow:{plant.id}", lower=0.0 if lifted else -np.inf)
    entries = {inflow: 1.0}
    for i, state in enumerate(plant.inflow_states):
        past = _past_column(frame, state)
        if psi[i] != 0:
            entries[past] = -float(psi[i])
        frame.outgoing[state] = _state_after(frame, plant, i, inflow)
    if lifted:
        entries[add_slack(frame, plant)] = -1.0
    row = program.add_equation(f"inflow:{plant.id}", entries, 0.0)
    frame.add_noise(plant, NoisePlace("rhs", row))


def _past_column(frame: StageFrame, state: str) -> int:
    """The column of a state on arrival, added where it is first needed."""
    if state not in frame.incoming:
        frame.incoming[state] = frame.program.add_column(f"past_{state}", lower=-np.inf)
    return frame.incoming[state]


def _state_after(frame: StageFrame, plant: Hydro, i: int, inflow: int) -> int:
    """The column of a state on leaving: that of the inflow itself for the first state that is just that."""
    state, transition = plant.inflow_states[i], plant.inflow.transitions[frame.number]
    carried, share = transition.carried[i], float(transition.share[i])
    others = (frame.outgoing[other] for other in plant.inflow_states[:i])
    if share == 1 and not carried.any() and inflow not in others:
        return inflow
    kept = frame.program.add_column(f"kept_{state}", lower=-np.inf)
    parts = {_past_column(frame, plant.inflow_states[j]): -float(carried[j]) for j in np.flatnonzero(carried)}
    if share != 0:
        parts[inflow] = -share
    frame.program.add_equation(f"kept_{state}", {kept: 1.0, **parts}, 0.0)
    return kept


def _is_lifted(frame: StageFrame, plant: Hydro) -> bool:
    """True if the programme lifts the inflow to 0, because only it knows the lags, or as that has a cost."""
    if frame.system.negative_inflows == "truncation":
        return plant.inflow.is_negative_by_state(frame.number)
    return frame.system.negative_inflows in TRUNCATING


def add_slack(frame: StageFrame, plant: Hydro) -> int:
    """Add the slack of a negative inflow, whose limit is a number of its noise; truncation has no cost."""
    cost = 0.0
    if frame.system.negative_inflows != "truncation":
        cost = plant.penalties.negative_inflow[frame.number] * frame.all_hours
    slack = frame.program.add_column(f"inflow_slack:{plant.id}", cost=cost)
    frame.add_noise(plant, NoisePlace("column_upper", slack, number=1))
    return slack


def slacks_in_balance(frame: StageFrame, plant: Hydro) -> list[int]:
    """Return the slacks that add water to a plant's balance: its own, and those of absent plants above it."""
    if frame.system.negative_inflows != "penalty":
        return []
    return [
        add_slack(frame, other) if other.id == plant.id else frame.program[f"inflow_slack:{other.id}"]
        for other in frame.network.tributaries[plant.id]
    ]


def add_inflows_to_balance(frame: StageFrame, plant: Hydro, row: int, volume: float) -> None:
    """Add the inflow of a plant to its water balance, and those of absent plants above it."""
    offset = -volume * plant.withdrawal_m3s[frame.number]  # once, whosever inflow is on that side
    for other in frame.network.tributaries[plant.id]:
        if f"inflow:{other.id}" in frame.program:
            frame.program.add_to_entry(row, frame.program[f"inflow:{other.id}"], -volume)
        else:
            frame.add_noise(other, NoisePlace("rhs", row, factor=volume, offset=offset))
            offset = 0.0
