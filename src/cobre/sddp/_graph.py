"""Properties of the graph of a problem: outcomes, and the depth of trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from cobre.lp import Floats
from cobre.sddp.problem import ROOT, MultistageProblem

#: A cyclic graph is followed until what comes later counts for less than this share.
NEGLIGIBLE = 0.01


@dataclass(frozen=True, eq=False)
class NodeOutcomes:
    """The outcomes after a node: each realisation of each child, and the end.

    Attributes:
        children: the nodes, by number.
        child_probabilities: of each child.
        probabilities: of each realisation of each child, in that order; last that of the end, if any.
        ends: whether all may end here although there are children.
    """

    children: tuple[int, ...]
    child_probabilities: Floats
    probabilities: Floats
    ends: bool

    @property
    def count(self) -> int:
        """The number of outcomes, without the end."""
        return len(self.probabilities) - self.ends


_KNOWN: WeakKeyDictionary[MultistageProblem, list[NodeOutcomes]] = WeakKeyDictionary()


def outcomes(problem: MultistageProblem) -> list[NodeOutcomes]:
    """Return the outcomes after each node, and last, so that it is number -1, those after the root."""
    if problem not in _KNOWN:
        _KNOWN[problem] = [_outcomes(problem, name) for name in (*problem.index, ROOT)]
    return _KNOWN[problem]


def _outcomes(problem: MultistageProblem, name: str) -> NodeOutcomes:
    ways = problem.children(name)
    children = tuple(problem.index[child] for child in ways)
    parts = [
        probability * problem.nodes[child].noise.probabilities
        for child, probability in zip(children, ways.values(), strict=True)
    ]
    child_probabilities = np.array(list(ways.values()))
    missing = 1.0 - float(np.sum(child_probabilities))
    ends = bool(children) and missing > 1e-9
    return NodeOutcomes(
        children, child_probabilities, np.concatenate([*parts, [missing] if ends else []]), ends
    )


def longest_path(problem: MultistageProblem) -> int | None:
    """Return the number of nodes on the longest trajectory; None if there is no limit."""
    if problem.order is None:
        return None
    lengths: dict[str, int] = {}
    for name in reversed(problem.order):
        lengths[name] = 1 + max((lengths[child] for child in problem.children(name)), default=0)
    return max(lengths[child] for child in problem.children(ROOT))


def depth_of(problem: MultistageProblem, depth: int | None) -> int:
    """Return the most nodes on a trajectory: as given, to the end, or until little value is left."""
    longest = longest_path(problem)
    if depth is not None:
        return depth if longest is None else min(depth, longest)
    if longest is not None:
        return longest
    weight = {problem.index[name]: probability for name, probability in problem.children(ROOT).items()}
    steps = 0
    while sum(weight.values()) >= NEGLIGIBLE:
        following: dict[int, float] = {}
        for number, share in weight.items():
            node = problem.nodes[number]
            for child, probability in problem.children(node.name).items():
                index = problem.index[child]
                following[index] = following.get(index, 0.0) + share * node.discount * probability
        weight = following
        steps += 1
    return steps
