"""Releases of hydro plants: turbined, spilled and diverted flows, their targets and limits."""

from __future__ import annotations

import numpy as np

from cobre.elements.frame import StageFrame
from cobre.elements.hydro.data import Hydro
from cobre.elements.hydro.program._production import add_turbines, power_of


def add_releases(frame: StageFrame, plant: Hydro) -> None:
    """Add what leaves a present plant. While its reservoir is being filled, it can only spill."""
    t, penalties = frame.number, plant.penalties
    operating = frame.network.is_operating(plant.id)
    turbined = add_turbines(frame, plant) if operating else []
    spilled = frame.add_per_block(f"spilled:{plant.id}", 0.0, np.inf, penalties.spillage[t])
    targets = [(turbined, plant.downstream), (spilled, plant.downstream)]
    if plant.diversion is not None and operating:
        limit = plant.max_diversion_m3s[t]
        diverted = frame.add_per_block(f"diverted:{plant.id}", 0.0, limit, penalties.diversion[t])
        targets.append((diverted, plant.diversion))
    for columns, target in targets:
        for k, column in enumerate(columns):
            frame.water.move(column, k, plant.id, target)
    for k in frame.blocks:
        if operating:
            frame.power[plant.bus, k] |= power_of(frame, plant, k)
        _add_limits(frame, plant, k, [columns[k] for columns in (turbined, spilled) if columns])


def _add_limits(frame: StageFrame, plant: Hydro, k: int, released: list[int]) -> None:
    """Add the limits of outflow, turbined flow and generation; missing them costs."""
    t, penalties, hours = frame.number, plant.penalties, frame.hours[k]
    outflow = dict.fromkeys(released, 1.0)
    limits = [("outflow_below", outflow, plant.min_outflow_m3s[t], penalties.outflow_below[t])]
    if frame.network.is_operating(plant.id):
        turbined, power = {released[0]: 1.0}, power_of(frame, plant, k)
        limits += [
            ("turbined_below", turbined, plant.min_turbined_m3s[t], penalties.turbined_below[t]),
            ("generation_below", power, plant.min_generation_mw[t], penalties.generation_below_per_mwh[t]),
        ]
    for kind, entries, least, cost in limits:
        if least > 0:
            name = f"{kind}:{plant.id}:{k}"
            slack = frame.program.add_column(name, cost=cost * hours)
            frame.program.add_row(name, {**entries, slack: 1.0}, lower=least)
    if np.isfinite(plant.max_outflow_m3s[t]):
        name = f"outflow_above:{plant.id}:{k}"
        slack = frame.program.add_column(name, cost=penalties.outflow_above[t] * hours)
        frame.program.add_row(name, {**outflow, slack: -1.0}, upper=plant.max_outflow_m3s[t])
