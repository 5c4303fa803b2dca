"""Stage programme of non-controllable sources: generation up to what is available, curtailment at a cost."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.frame import BuildStep, NoisePlace, StageFrame, Variable
from cobre.elements.non_controllable_source.data import NonControllableSource


def add_to_stage(frame: StageFrame, sources: Sequence[NonControllableSource]) -> None:
    """Add the generation of each source and block to the power balances."""
    t = frame.number
    for source in sources:
        most = source.max_generation_mw[t] * min(max(source.mean[t], 0.0), 1.0) * source.factors[t]
        # What is curtailed costs; counted from nothing available, what is generated earns.
        columns = frame.add_per_block(f"source:{source.id}", 0.0, most, -source.curtailment_cost_per_mwh[t])
        for k, column in enumerate(columns):
            frame.power[source.bus, k][column] = 1.0
            frame.add_noise(source, NoisePlace("column_upper", column, k))


def _generation(frame: StageFrame, source: NonControllableSource, k: int) -> dict[int, float]:
    return {frame.program[f"source:{source.id}:{k}"]: 1.0}


def _curtailment(frame: StageFrame, source: NonControllableSource, k: int) -> dict[int, float]:
    """Return the column of what is available and not used. Only constraints need it, so they add it."""
    name, used = f"curtailed:{source.id}:{k}", f"source:{source.id}:{k}"
    program = frame.program
    if name not in program:
        column = program.add_column(name)
        entries = {program[used]: 1.0, column: 1.0}
        row = program.add_equation(f"available:{source.id}:{k}", entries, program.upper(used))
        frame.add_noise(source, NoisePlace("rhs", row, k))
    return {program[name]: 1.0}


STEPS = {BuildStep.GENERATION: add_to_stage}

VARIABLES = {
    "non_controllable_generation": Variable(_generation),
    "non_controllable_curtailment": Variable(_curtailment),
}
