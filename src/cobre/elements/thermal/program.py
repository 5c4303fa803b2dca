"""Stage programme of thermal plants: generation between bounds, at a linear cost.

Where it is committed in advance, what is committed for the stages to come are states.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cobre.elements.frame import BuildStep, StageFrame, Variable
from cobre.elements.thermal.data import AdvanceCommitment, Thermal


def add_to_stage(frame: StageFrame, plants: Sequence[Thermal]) -> None:
    """Add the generation of each plant and block to the power balances."""
    t = frame.number
    for plant in plants:
        # What is committed keeps the limits of the stage it is for: here it must fit to the last bit.
        lower, upper = (plant.min_mw[t], plant.max_mw[t]) if plant.commitment is None else (0.0, np.inf)
        columns = frame.add_per_block(f"thermal:{plant.id}", lower, upper, plant.cost_per_mwh[t])
        for k, column in enumerate(columns):
            frame.power[plant.bus, k][column] = 1.0
        if plant.commitment is not None:
            _add_commitment(frame, plant.id, plant.commitment, columns)


def _add_commitment(frame: StageFrame, plant: int, ahead: AdvanceCommitment, columns: Sequence[int]) -> None:
    """Generate what was committed for this stage, pass on the rest, and commit for the last stage ahead."""
    program, states = frame.program, _states(plant, ahead)
    for offset, state in enumerate(states, 1):
        frame.incoming[state] = program.add_column(f"committed_in:{plant}:{offset}", lower=-np.inf)
    for k, column in enumerate(columns):
        program.add_equation(f"dispatch:{plant}:{k}", {column: 1.0, frame.incoming[states[0]]: -1.0}, 0.0)
    for nearer, state in pairwise(states):
        kept = frame.outgoing[nearer] = program.add_column(nearer)
        program.add_equation(f"kept:{nearer}", {kept: 1.0, frame.incoming[state]: -1.0}, 0.0)
    lower, upper = ahead.min_mw[frame.number], ahead.max_mw[frame.number]
    frame.outgoing[states[-1]] = program.add_column(states[-1], lower=lower, upper=upper)


def _states(plant: int, ahead: AdvanceCommitment) -> list[str]:
    """The commitments for the stages to come, the next one first."""
    return [f"committed:{plant}:{offset}" for offset in range(1, ahead.lag_stages + 1)]


def states(plants: Sequence[Thermal]) -> dict[str, float]:
    """Return what is committed before the first stage."""
    return {
        state: initial
        for plant in plants
        if plant.commitment is not None
        for state, initial in zip(
            _states(plant.id, plant.commitment), plant.commitment.initial_mw, strict=True
        )
    }


STEPS = {BuildStep.GENERATION: add_to_stage}

VARIABLES = {
    "thermal_generation": Variable(lambda frame, plant, k: {frame.program[f"thermal:{plant.id}:{k}"]: 1.0})
}
