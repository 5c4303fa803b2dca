"""Checks of the risk measures in ``stages.json``."""

from __future__ import annotations

from collections import defaultdict

from cobre.formatting import count
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages

#: Some write a confidence level for the tail fraction: a larger one is in doubt.
LARGE_TAIL = 0.5


def check(stages: Stages, report: Report) -> None:
    """Report measures that cannot be used together, and tail fractions that look like confidence levels."""
    _check_successors(stages, report)
    _check_tails(stages, report)


def _check_successors(stages: Stages, report: Report) -> None:
    """Report stages that may follow the same one and have different measures.

    One measure acts on the openings of all stages that may follow, since which one does is uncertain, too.
    """
    measures = {stage.id: stage.risk for stage in stages.stages}
    following: dict[int, set[int]] = defaultdict(set)
    for edge in stages.policy_graph.transitions:
        if edge.probability > 0 and edge.target_id in measures:
            following[edge.source_id].add(edge.target_id)
    for source, targets in sorted(following.items()):
        first, *others = sorted(targets)
        differing = [stage for stage in others if measures[stage] != measures[first]]
        if differing:
            message = f"stages {first} and {differing[0]} may follow it, with different risk measures"
            remedy = "give all stages that may follow the same one the same risk_measure"
            entity, field = f"stage {source}", "policy_graph.transitions"
            report.error("unsupported", "stages.json", message, remedy, entity=entity, field=field)


def _check_tails(stages: Stages, report: Report) -> None:
    """Report large fractions; not 1, all outcomes, which is the expectation."""
    tails = {stage.id: stage.risk.get("level", 0.0) for stage in stages.ordered}
    large = {stage: alpha for stage, alpha in tails.items() if alpha > LARGE_TAIL}
    if large:
        first, alpha = next(iter(large.items()))
        message = (
            f"alpha is the fraction of worst outcomes, and above {LARGE_TAIL:g} in "
            f"{count(len(large), 'stage')}, first in stage {first}: the worst {100 * alpha:g} %"
        )
        remedy = f"if the worst {100 * (1 - alpha):.4g} % are meant, give {1 - alpha:.4g}"
        entity, field = f"stage {first}", "risk_measure.cvar.alpha"
        report.warn("meaning", "stages.json", message, remedy, entity=entity, field=field, value=alpha)
