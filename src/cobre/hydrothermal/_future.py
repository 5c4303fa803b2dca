"""What comes after the last stage, as rows over the state in which it is left."""

from __future__ import annotations

import numpy as np

from cobre.hydrothermal._frame import Frame
from cobre.system import Future


def add_future(frame: Frame, future: Future) -> None:
    """Add one column that costs what is to come, discounted, and is above all cuts."""
    rows = frame.rows
    outcomes = future.mixtures.shape[1] if len(future.mixtures) else 0
    columns = [rows.column("future", cost=frame.stage.discount, lower=future.least)]
    columns += [rows.column(f"future:{i}", lower=-np.inf) for i in range(1, outcomes + 1)]
    for j, weights in enumerate(future.mixtures):
        entries = {column: -float(weight) for column, weight in zip(columns[1:], weights, strict=True)}
        rows.row(f"mixture:{j}", {columns[0]: 1.0, **entries}, lower=0.0)
    for i, (cut, family) in enumerate(zip(future.cuts, future.families, strict=True)):
        slopes = zip(future.states, cut[1:], strict=True)
        entries = {frame.outgoing[state]: -float(slope) for state, slope in slopes if slope != 0}
        rows.row(f"cut:{i}", {columns[family]: 1.0, **entries}, lower=cut[0])
