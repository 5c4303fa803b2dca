"""Risk measures of stages as the engine takes them: by the node after which they act.

The measure of a stage acts on the stage's own openings, that of a node on all that follows the node. So the
root has the measure of the first stage, and each node that of the stage that comes next.
"""

from __future__ import annotations

from cobre.sddp import MultistageProblem, RiskMeasure
from cobre.sddp.problem import ROOT
from cobre.sddp.risk import from_spec
from cobre.system import System


def risk_of(system: System, problem: MultistageProblem) -> dict[str, RiskMeasure]:
    """Return the risk measure of what follows the root and each node: that of the stages that follow it.

    Nodes that end the graph have none. Where several stages may follow, one measure acts on the openings of
    all of them together; the checks of a case refuse those with different measures.

    Args:
        system: whose stages have measures.
        problem: its policy graph, with nodes called by the ids of stages.
    """
    measures = {str(stage.id): from_spec(stage.risk) for stage in system.stages}
    risk: dict[str, RiskMeasure] = {}
    for name in (ROOT, *problem.index):
        following = {measures[child] for child in problem.children(name)}
        if following:
            (risk[name],) = following
    return risk
