"""Stage programme of buses: deficit, surplus generation, and the power balance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.bus.data import Bus
from cobre.elements.frame import BuildStep, NoisePlace, StageFrame, Variable


def add_to_stage(frame: StageFrame, buses: Sequence[Bus]) -> None:
    """Add the balance of each bus and block, which must come after all that contributes to it."""
    t = frame.number
    for bus in buses:
        for s, segment in enumerate(bus.deficit):
            name, cost = f"deficit:{bus.id}:{s}", segment.cost_per_mwh
            for k, column in enumerate(frame.add_per_block(name, 0.0, segment.depth_mw, cost)):
                frame.power[bus.id, k][column] = 1.0
        excess = frame.add_per_block(f"excess:{bus.id}", 0.0, np.inf, bus.excess_cost_per_mwh[t])
        for k, column in enumerate(excess):
            frame.power[bus.id, k][column] = -1.0
        for k in frame.blocks:
            load = float(bus.load_mean_mw[t]) * float(bus.load_factors[t][k])
            row = frame.program.add_equation(f"load:{bus.id}:{k}", frame.power[bus.id, k], load)
            frame.add_noise(bus, NoisePlace("rhs", row, k))


def _deficit(frame: StageFrame, bus: Bus, k: int) -> dict[int, float]:
    return {frame.program[f"deficit:{bus.id}:{s}:{k}"]: 1.0 for s in range(len(bus.deficit))}


def _excess(frame: StageFrame, bus: Bus, k: int) -> dict[int, float]:
    return {frame.program[f"excess:{bus.id}:{k}"]: 1.0}


STEPS = {BuildStep.BUSES: add_to_stage}

VARIABLES = {"bus_deficit": Variable(_deficit), "bus_excess": Variable(_excess)}
