"""Natural inflow of hydro plants: noise in the water balance, or a column where past inflows are states."""

from __future__ import annotations

import numpy as np

from cobre.elements.frame import NoisePlace, StageFrame
from cobre.elements.hydro.data import Hydro


def add_inflow(frame: StageFrame, plant: Hydro) -> None:
    """Add the column of an inflow: one with lags, or one that runs past an absent plant."""
    program, coefficients = frame.program, plant.inflow.coefficients[frame.number]
    inflow = program.add_column(f"inflow:{plant.id}", lower=-np.inf)
    entries = {inflow: 1.0}
    newer = inflow
    for lag in range(1, plant.inflow.order + 1):
        state = f"inflow:{plant.id}:{lag}"
        past = frame.incoming[state] = program.add_column(f"past_{state}", lower=-np.inf)
        if lag <= len(coefficients):
            entries[past] = -float(coefficients[lag - 1])
        if lag == 1:
            frame.outgoing[state] = inflow
        else:
            kept = frame.outgoing[state] = program.add_column(f"kept_{state}", lower=-np.inf)
            program.add_equation(f"kept_{state}", {kept: 1.0, newer: -1.0}, 0.0)
        newer = past
    row = program.add_equation(f"inflow:{plant.id}", entries, 0.0)
    frame.add_noise(plant, NoisePlace("rhs", row))


def add_inflows_to_balance(frame: StageFrame, plant: Hydro, row: int, volume: float) -> None:
    """Add the inflow of a plant to its water balance, and those of absent plants above it."""
    offset = -volume * plant.withdrawal_m3s[frame.number]  # once, whosever inflow is on that side
    for other in frame.network.tributaries[plant.id]:
        if f"inflow:{other.id}" in frame.program:
            frame.program.add_to_entry(row, frame.program[f"inflow:{other.id}"], -volume)
        else:
            frame.add_noise(other, NoisePlace("rhs", row, factor=volume, offset=offset))
            offset = 0.0
