"""What may follow each node, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from cobre.lp import Floats
from cobre.sddp.problem import ROOT, MultistageProblem

#: A cyclic graph is followed until what comes later counts for less than this share.
NEGLIGIBLE = 0.01


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What may follow a node: each realisation of each child, and the end.

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
        """How many there are, without the end."""
        return len(self.probabilities) - self.ends


_KNOWN: WeakKeyDictionary[MultistageProblem, list[Outcomes]] = WeakKeyDictionary()


def outcomes(problem: MultistageProblem) -> list[Outcomes]:
    """Return what may follow each node, and last, so that it is number -1, the beginning."""
    if problem not in _KNOWN:
        _KNOWN[problem] = [_outcomes(problem, name) for name in (*problem.index, ROOT)]
    return _KNOWN[problem]


def _outcomes(problem: MultistageProblem, name: str) -> Outcomes:
    ways = problem.children(name)
    children = tuple(problem.index[child] for child in ways)
    parts = [
        probability * problem.nodes[child].noise.probabilities
        for child, probability in zip(children, ways.values(), strict=True)
    ]
    child_probabilities = np.array(list(ways.values()))
    missing = 1.0 - float(np.sum(child_probabilities))
    ends = bool(children) and missing > 1e-9
    return Outcomes(children, child_probabilities, np.concatenate([*parts, [missing] if ends else []]), ends)


def longest_path(problem: MultistageProblem) -> int | None:
    """How many nodes a trajectory can visit; None if there is no limit."""
    if problem.has_cycle:
        return None
    lengths: dict[str, int] = {}

    def length(name: str) -> int:
        if name not in lengths:
            lengths[name] = 1 + max((length(child) for child in problem.children(name)), default=0)
        return lengths[name]

    for node in reversed(problem.nodes):  # usually children come later, so the recursion stays shallow
        length(node.name)
    return max(length(child) for child in problem.children(ROOT))


def depth_of(problem: MultistageProblem, depth: int | None) -> int:
    """How many nodes trajectories visit at most: as asked, to the end, or until little is left."""
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
