"""The linear programme of one stage of a hydrothermal system.

Variables, rows and costs are those of the Cobre specification (``lp-formulation`` and
``equipment-formulations``). A slack exists only where what it relaxes can be missed, so a plain case is a
small programme. Columns are called by kind, element and block: ``turbined:3:0``.
"""

from __future__ import annotations

from cobre.elements.frame import BuildStep, StageFrame
from cobre.elements.registry import collect, elements_of
from cobre.hydrothermal._future import add_future
from cobre.system import System


def build_stage(system: System, number: int) -> StageFrame:
    """Build the programme of a stage.

    Args:
        system: with all its elements.
        number: which of its stages.
    """
    frame = StageFrame(system, number)
    for step in BuildStep:
        for kind, steps in collect("program", "STEPS").items():
            if step in steps:
                steps[step](frame, elements_of(system, kind))
    if system.future is not None and not system.graph.following[number]:
        add_future(frame, system.future)
    return frame
