"""Properties of a problem that need no solution of it: outcomes, the depth of trajectories, value bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import highspy
import numpy as np

from cobre.errors import InvalidProblem
from cobre.lp import Floats, highs_of, realized
from cobre.sddp.problem import ROOT, MultistageProblem, Node

#: A cyclic graph is followed until what comes later counts for less than this share.
NEGLIGIBLE = 0.01

ADVICE = "give value_bound: a number that the value of what follows a node cannot pass"


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


def value_bounds(problem: MultistageProblem) -> Floats:
    """Return, per node, a lower bound on the cost of what follows it (rewards count as negative costs).

    Training needs one before there is any cut. It is the sum of the least cost of each column; where that is
    infinite, the programme itself is minimised, its incoming state free between its bounds.

    Raises:
        InvalidProblem: there is none to be found; the caller has to give one.
    """
    sign = 1.0 if problem.sense == "min" else -1.0
    if problem.value_bound is not None:
        return np.full(len(problem.nodes), sign * problem.value_bound)
    least = np.array([_least_cost(problem, node, sign) for node in problem.nodes])
    if unbounded := [node.name for node, cost in zip(problem.nodes, least, strict=True) if np.isinf(cost)]:
        names = ", ".join(map(repr, unbounded))
        raise InvalidProblem([f"no bound on the value of nodes {names} could be computed; {ADVICE}"])
    if problem.has_cycle:
        return np.full(len(problem.nodes), _perpetual(problem, float(least.min())))
    bounds = np.zeros(len(problem.nodes))
    done: set[str] = set()
    while len(done) < len(problem.nodes):
        for number, node in enumerate(problem.nodes):
            children = problem.children(node.name)
            if node.name not in done and children.keys() <= done:
                places = [problem.index[child] for child in children]
                ends = [0.0] if sum(children.values()) < 1 - 1e-9 or not places else []
                after = [least[i] + problem.nodes[i].discount * bounds[i] for i in places]
                bounds[number] = min(*after, *ends, np.inf)
                done.add(node.name)
    return bounds


def _perpetual(problem: MultistageProblem, least: float) -> float:
    if least >= 0:
        return 0.0
    discount = max(node.discount for node in problem.nodes)
    if discount == 1:
        raise InvalidProblem([f"a node of a cyclic graph has no discount; {ADVICE}"])
    return least / (1 - discount)


def _least_cost(problem: MultistageProblem, node: Node, sign: float) -> float:
    """The least cost of a node's programme over all realisations and incoming states."""
    incoming = _incoming_bounds(problem, node)
    costs, lower, upper = _extremes(node, sign)
    for column, (low, high) in incoming.items():
        lower[column], upper[column] = low, high
    with np.errstate(invalid="ignore"):
        products = np.stack([cost * bound for cost in costs for bound in (lower, upper)])
    products[np.isnan(products)] = 0.0  # 0 times infinity: the column costs nothing
    total = float(np.sum(np.min(products, axis=0))) + sign * node.program.offset
    if np.isfinite(total):
        return total
    solutions = [_minimum(node, row, sign, incoming) for row in range(len(node.noise))]
    return min(solutions) + sign * node.program.offset


def _incoming_bounds(problem: MultistageProblem, node: Node) -> dict[int, tuple[float, float]]:
    bounds: dict[int, tuple[float, float]] = {}
    for name in (ROOT, *problem.index):
        if node.name not in problem.children(name):
            continue
        for state, column in node.incoming.items():
            if name == ROOT:
                low = high = problem.initial_state[state]
            else:
                parent = problem.nodes[problem.index[name]]
                _, lower, upper = _extremes(parent, 1.0)
                low, high = lower[parent.outgoing[state]], upper[parent.outgoing[state]]
            before = bounds.get(column, (low, high))
            bounds[column] = min(low, before[0]), max(high, before[1])
    return bounds


def _extremes(node: Node, sign: float) -> tuple[list[Floats], Floats, Floats]:
    """The least and greatest cost of each column over all realisations, and its widest bounds."""
    low_cost, high_cost = sign * node.program.costs, sign * node.program.costs
    lower, upper = node.program.column_lower.copy(), node.program.column_upper.copy()
    for (target, place), series in zip(node.noise.places, node.noise.table.T, strict=True):
        if target == "cost":
            low_cost[place], high_cost[place] = (sign * series).min(), (sign * series).max()
        if target in ("fix", "column_lower"):
            lower[place] = series.min()
        if target in ("fix", "column_upper"):
            upper[place] = series.max()
    return [low_cost, high_cost], lower, upper


def _minimum(node: Node, row: int, sign: float, incoming: dict[int, tuple[float, float]]) -> float:
    program = realized(node.program, node.noise.places, node.noise.table[row])
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    for column, (low, high) in incoming.items():
        lower[column], upper[column] = low, high
    relaxed = replace(program, costs=sign * program.costs, column_lower=lower, column_upper=upper, offset=0.0)
    highs = highs_of(relaxed)
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        return float(highs.getObjectiveValue())
    return -np.inf
