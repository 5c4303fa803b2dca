"""Stage programme of thermal plants: generation between bounds, at a linear cost."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.frame import BuildStep, StageFrame, Variable
from cobre.elements.thermal.data import Thermal


def add_to_stage(frame: StageFrame, plants: Sequence[Thermal]) -> None:
    """Add the generation of each plant and block to the power balances."""
    t = frame.number
    for plant in plants:
        name, cost = f"thermal:{plant.id}", plant.cost_per_mwh[t]
        for k, column in enumerate(frame.add_per_block(name, plant.min_mw[t], plant.max_mw[t], cost)):
            frame.power[plant.bus, k][column] = 1.0


STEPS = {BuildStep.GENERATION: add_to_stage}

VARIABLES = {
    "thermal_generation": Variable(lambda frame, plant, k: {frame.program[f"thermal:{plant.id}:{k}"]: 1.0})
}
