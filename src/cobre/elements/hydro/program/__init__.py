"""Stage programme of hydro plants: releases first, then reservoirs with the water balance.

Between the two, other kinds may add what they take from reservoirs or bring to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.frame import BuildStep, StageFrame
from cobre.elements.hydro.data import Hydro
from cobre.elements.hydro.program._releases import add_releases
from cobre.elements.hydro.program._reservoir import add_constant_storage, add_reservoir
from cobre.elements.hydro.program._variables import VARIABLES

__all__ = ["STEPS", "VARIABLES", "states"]


def add_flows(frame: StageFrame, plants: Sequence[Hydro]) -> None:
    """Add what leaves each present plant, to the water balances and the power balance of its bus."""
    for plant in plants:
        if frame.network.is_present(plant.id):
            add_releases(frame, plant)


def add_balances(frame: StageFrame, plants: Sequence[Hydro]) -> None:
    """Add reservoirs and their water balances; those of absent plants first, whose inflow runs on."""
    for plant in plants:
        if not frame.network.is_present(plant.id):
            add_constant_storage(frame, plant)
    for plant in plants:
        if frame.network.is_present(plant.id):
            add_reservoir(frame, plant)


def states(plants: Sequence[Hydro]) -> dict[str, float]:
    """Return the states before the first stage: volumes, then past inflows where a model has lags."""
    initial = {f"storage:{plant.id}": plant.initial_hm3 for plant in plants}
    for plant in plants:
        initial |= zip(plant.inflow_states, plant.inflow.initial_m3s.tolist(), strict=True)
    return initial


STEPS = {BuildStep.WATER: add_flows, BuildStep.RESERVOIRS: add_balances}
