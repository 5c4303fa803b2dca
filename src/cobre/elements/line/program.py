"""Stage programme of transmission lines: exchange in both directions, with losses."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.frame import BuildStep, StageFrame, Variable
from cobre.elements.line.data import Line


def add_to_stage(frame: StageFrame, lines: Sequence[Line]) -> None:
    """Add a flow per direction and block to the power balances of both buses."""
    t = frame.number
    for line in lines:
        cost, arrives = line.exchange_cost_per_mwh[t], line.efficiency
        direct = frame.add_per_block(f"direct:{line.id}", 0.0, line.direct_mw[t], cost)
        reverse = frame.add_per_block(f"reverse:{line.id}", 0.0, line.reverse_mw[t], cost)
        for k in frame.blocks:
            frame.power[line.source_bus, k] |= {direct[k]: -1.0, reverse[k]: arrives}
            frame.power[line.target_bus, k] |= {direct[k]: arrives, reverse[k]: -1.0}


def _flow(frame: StageFrame, line: Line, k: int, **factors: float) -> dict[int, float]:
    return {frame.program[f"{side}:{line.id}:{k}"]: factor for side, factor in factors.items()}


STEPS = {BuildStep.TRANSMISSION: add_to_stage}

VARIABLES = {
    "line_direct": Variable(lambda frame, line, k: _flow(frame, line, k, direct=1.0)),
    "line_reverse": Variable(lambda frame, line, k: _flow(frame, line, k, reverse=1.0)),
    "line_exchange": Variable(lambda frame, line, k: _flow(frame, line, k, direct=1.0, reverse=-1.0)),
}
