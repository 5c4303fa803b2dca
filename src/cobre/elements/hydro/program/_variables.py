"""Variables of hydro plants in generic constraints, and the columns that each is the sum of."""

from __future__ import annotations

from collections.abc import Callable

from cobre.elements.frame import StageFrame, Variable
from cobre.elements.hydro.data import Hydro
from cobre.elements.hydro.program._production import power_of

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
