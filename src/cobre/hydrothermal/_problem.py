"""A hydrothermal system as a multistage problem: one node per stage, with the states of its elements."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.registry import collect, elements_of
from cobre.hydrothermal._noise import StageNoise
from cobre.hydrothermal._stage import build_stage
from cobre.lp import Floats
from cobre.sddp import MultistageProblem, Node, RiskMeasure
from cobre.sddp.risk import from_spec
from cobre.system import System


def problem_of(system: System, noise: Sequence[Floats]) -> MultistageProblem:
    """Return the problem whose realisations have the given standard normal noise.

    Args:
        system: with all its elements.
        noise: per stage, realisations by elements, in the order of `cobre.elements.noise.random_elements`.
    """
    nodes = []
    for number, stage in enumerate(system.stages):
        frame = build_stage(system, number)
        nodes.append(
            Node(
                str(stage.id),
                frame.program.program(),
                frame.incoming,
                frame.outgoing,
                StageNoise.of(frame, noise[number]),
                stage.discount,
            )
        )
    return MultistageProblem.linear(nodes, initial_state(system))


def initial_state(system: System) -> dict[str, float]:
    """Return the states of all elements before the first stage, by name."""
    return {
        state: value
        for kind, states in collect("program", "states").items()
        for state, value in states(elements_of(system, kind)).items()
    }


def risk_of(system: System) -> dict[str, RiskMeasure]:
    """Return the risk measure of each stage, applied to the cost of what follows it."""
    return {str(stage.id): from_spec(stage.risk) for stage in system.stages}
