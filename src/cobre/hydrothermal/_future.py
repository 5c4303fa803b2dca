"""The value of what follows the last stage: cuts of another study as rows over its final state."""

from __future__ import annotations

import numpy as np

from cobre.elements.frame import StageFrame
from cobre.system import Future


def add_future(frame: StageFrame, future: Future) -> None:
    """Add a column for the discounted cost to come, and rows that keep it above all cuts."""
    program = frame.program
    outcomes = future.mixtures.shape[1] if len(future.mixtures) else 0
    columns = [program.add_column("future", cost=frame.stage.discount, lower=future.least)]
    columns += [program.add_column(f"future:{i}", lower=-np.inf) for i in range(1, outcomes + 1)]
    for j, weights in enumerate(future.mixtures):
        entries = {column: -float(weight) for column, weight in zip(columns[1:], weights, strict=True)}
        program.add_row(f"mixture:{j}", {columns[0]: 1.0, **entries}, lower=0.0)
    for i, (cut, family) in enumerate(zip(future.cuts, future.families, strict=True)):
        slopes = zip(future.states, cut[1:], strict=True)
        entries = {frame.outgoing[state]: -float(slope) for state, slope in slopes if slope != 0}
        program.add_row(f"cut:{i}", {columns[family]: 1.0, **entries}, lower=cut[0])
