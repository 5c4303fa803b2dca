"""Stage programme of hydro plants: releases first, then reservoirs with the water balance.

Between the two, others may add what they take from reservoirs or bring to them. The parts are in modules of
their own: releases, production, reservoir, evaporation, inflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cobre.elements.frame import BuildStep, StageFrame, Variable
from cobre.elements.hydro._production import power_of
from cobre.elements.hydro._releases import add_releases
from cobre.elements.hydro._reservoir import add_constant_storage, add_reservoir
from cobre.elements.hydro.data import Hydro


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
        known = plant.inflow.past_m3s
        for lag in range(1, plant.inflow.order + 1):
            initial[f"inflow:{plant.id}:{lag}"] = known[lag - 1] if lag <= len(known) else 0.0
    return initial


STEPS = {BuildStep.WATER: add_flows, BuildStep.RESERVOIRS: add_balances}

Columns = Callable[[StageFrame, Hydro, int], dict[int, float]]


def _by_block(**factors: float) -> Columns:
    """Return the sum of kinds of columns in a block, as far as they exist: no channel diverts nothing."""

    def columns(frame: StageFrame, plant: Hydro, k: int) -> dict[int, float]:
        return _existing(frame, plant, {f"{kind}:{plant.id}:{k}": factor for kind, factor in factors.items()})

    return columns


def _by_stage(**factors: float) -> Columns:
    """Return likewise a sum of columns of the whole stage."""

    def columns(frame: StageFrame, plant: Hydro, _block: int) -> dict[int, float]:
        return _existing(frame, plant, {f"{kind}:{plant.id}": factor for kind, factor in factors.items()})

    return columns


def _existing(frame: StageFrame, plant: Hydro, factors: dict[str, float]) -> dict[int, float]:
    if not frame.network.is_present(plant.id):
        return {}
    return {frame.program[name]: factor for name, factor in factors.items() if name in frame.program}


def _generation(frame: StageFrame, plant: Hydro, k: int) -> dict[int, float]:
    return power_of(frame, plant, k) if frame.network.is_operating(plant.id) else {}


def _withdrawal_due(frame: StageFrame, plant: Hydro) -> float:
    is_present = frame.network.is_present(plant.id)
    return float(plant.withdrawal_m3s[frame.number]) if is_present else 0.0


VARIABLES = {
    "hydro_storage": Variable(_by_stage(storage=1.0), by_stage=True),
    "hydro_evaporation": Variable(_by_stage(evaporated=1.0), by_stage=True),
    # What is due is certain; columns are only for what is withdrawn above or below that.
    "hydro_withdrawal": Variable(
        _by_stage(withdrawal_below=-1.0, withdrawal_above=1.0), by_stage=True, constant=_withdrawal_due
    ),
    "hydro_turbined": Variable(_by_block(turbined=1.0)),
    "hydro_spillage": Variable(_by_block(spilled=1.0)),
    "hydro_diversion": Variable(_by_block(diverted=1.0)),
    "hydro_outflow": Variable(_by_block(turbined=1.0, spilled=1.0)),
    "hydro_generation": Variable(_generation),
}
