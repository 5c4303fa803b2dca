"""A hydrothermal system as a multistage problem: one node per stage, with the states of its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cobre.elements.registry import collect, elements_of
from cobre.hydrothermal._noise import StageNoise
from cobre.hydrothermal._stage import build_stage
from cobre.lp import Floats
from cobre.sddp import MultistageProblem, Node
from cobre.system import System


def problem_of(system: System, noise: Sequence[Floats]) -> MultistageProblem:
    """Return the problem whose realisations have the given standard normal noise.

    Args:
        system: with all its elements.
        noise: per stage, realisations by elements, in the order of `cobre.elements.noise.random_elements`.
    """
    nodes = []
    known: dict[tuple[tuple[str, int], ...], Mapping[str, int]] = {}  # most stages have the same columns
    for number, stage in enumerate(system.stages):
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are findings
            frame = build_stage(system, number)
        nodes.append(
            Node(
                str(stage.id),
                frame.program.program(),
                known.setdefault(tuple(frame.incoming.items()), frame.incoming),
                known.setdefault(tuple(frame.outgoing.items()), frame.outgoing),
                StageNoise.of(frame, noise[number]),
                stage.discount,
            )
        )
    names = [node.name for node in nodes]
    ways = zip(names, system.graph.following, strict=True)
    transitions = {name: {names[child]: p for child, p in after.items()} for name, after in ways if after}
    return MultistageProblem(nodes, initial_state(system), {names[0]: 1.0}, transitions)


def initial_state(system: System) -> dict[str, float]:
    """Return the states of all elements before the first stage, by name."""
    return {
        state: value
        for kind, states in collect("program", "states").items()
        for state, value in states(elements_of(system, kind)).items()
    }
