"""Power of hydro plants: a constant productivity, or planes over volume, turbined and spilled flow."""

from __future__ import annotations

import numpy as np

from cobre.elements.frame import StageFrame
from cobre.elements.hydro.data import Hydro


def add_turbines(frame: StageFrame, plant: Hydro) -> list[int]:
    """Add the turbined flow up to that of the greatest power, and the power itself if planes bound it."""
    t, name = frame.number, f"turbined:{plant.id}"
    productivity, most = plant.mw_per_m3s[t], plant.max_turbined_m3s[t]
    planes = plant.planes[t]
    if planes is not None:
        turbined = frame.add_per_block(name, 0.0, most, plant.penalties.turbined[t])
        frame.add_per_block(f"generation:{plant.id}", 0.0, plant.max_generation_mw[t])
        if np.any(planes.constant_mw < 0) or np.any(planes.mw_per_m3s_spilled < 0):
            # A flood, or an empty reservoir, must not leave the programme without a solution.
            cost = plant.penalties.generation_below_per_mwh[t]
            frame.add_per_block(f"negative_generation:{plant.id}", 0.0, np.inf, cost)
        return turbined
    if productivity > 0:
        with np.errstate(over="ignore"):  # a tiny productivity limits nothing
            most = min(most, plant.max_generation_mw[t] / productivity)
    return frame.add_per_block(name, 0.0, most)


def power_of(frame: StageFrame, plant: Hydro, k: int) -> dict[int, float]:
    """Return the coefficients of columns in the power of an operating plant in a block, in MW."""
    program = frame.program
    if plant.planes[frame.number] is not None:
        columns = {f"generation:{plant.id}:{k}": 1.0, f"negative_generation:{plant.id}:{k}": -1.0}
        return {program[name]: sign for name, sign in columns.items() if name in program}
    return {program[f"turbined:{plant.id}:{k}"]: float(plant.mw_per_m3s[frame.number])}


def add_planes(frame: StageFrame, plant: Hydro, k: int, volumes: tuple[int, int]) -> None:
    """Keep the power of a plant in a block below its planes, at the mean of two volumes."""
    planes = plant.planes[frame.number]
    if planes is None or not frame.network.is_operating(plant.id):
        return
    turbined, spilled = (frame.program[f"{kind}:{plant.id}:{k}"] for kind in ("turbined", "spilled"))
    for m, constant in enumerate(planes.constant_mw):
        entries = dict.fromkeys(volumes, -planes.mw_per_hm3[m] / 2)
        entries |= {turbined: -planes.mw_per_m3s_turbined[m], spilled: -planes.mw_per_m3s_spilled[m]}
        entries |= power_of(frame, plant, k)
        frame.program.add_row(f"plane:{plant.id}:{m}:{k}", entries, upper=constant)
