"""Bounds on the value of what follows each node, which training needs before there is any cut.

They come from the programmes alone, one after the other: a node costs no less than its programme does when
states arrive as suits it best, between the bounds of what leaves the nodes before. Where these do not bound
the cost, states are followed from the initial ones: what can leave a node, given what can arrive. The effort
is linear in nodes and edges, and made once per problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from cobre.errors import InvalidProblem
from cobre.lp import Floats
from cobre.sddp._arrivals import Arrivals
from cobre.sddp._graph import outcomes
from cobre.sddp._relaxation import SLACK, Minimizer, Relaxation
from cobre.sddp.problem import MultistageProblem

ADVICE = "give value_bound: a number that the value of what follows a node cannot pass"
#: Nodes without a bound that an error tells of.
NAMED = 3

_KNOWN: WeakKeyDictionary[MultistageProblem, Floats] = WeakKeyDictionary()


def value_bounds(problem: MultistageProblem) -> Floats:
    """Return, per node, a lower bound on the cost of what follows it (rewards count as negative costs).

    Raises:
        InvalidProblem: there is none to be found; it names the variable that is unbounded.
    """
    if problem not in _KNOWN:
        _KNOWN[problem] = _computed(problem)
    return _KNOWN[problem]


def _computed(problem: MultistageProblem) -> Floats:
    sign = 1.0 if problem.sense == "min" else -1.0
    if problem.value_bound is not None:
        return np.full(len(problem.nodes), sign * problem.value_bound)
    least = _least_costs(problem, sign)
    if problem.order is None:
        return np.full(len(problem.nodes), _perpetual(problem, float(least.min())))
    bounds, follows = np.zeros(len(problem.nodes)), outcomes(problem)
    discounts = np.array([node.discount for node in problem.nodes])
    for name in reversed(problem.order):
        number = problem.index[name]
        if after := list(follows[number].children):
            lowest = float(np.min(least[after] + discounts[after] * bounds[after]))
            bounds[number] = min(lowest, 0.0) if follows[number].ends else lowest
    return bounds


def _perpetual(problem: MultistageProblem, least: float) -> float:
    """A bound on the value of what follows any node, if each step costs ``least`` or more.

    Some number of steps, that of the nodes at most, goes through a discount whatever the way. With the
    largest discount factors after 0, 1, ... steps, so many steps cost their sum times the least, and what
    follows them counts for the last factor at most.
    """
    if least >= 0:
        return 0.0
    discounts = np.array([node.discount for node in problem.nodes])
    children = [np.array(follows.children, np.intp) for follows in outcomes(problem)[:-1]]
    factor, total, reach = 1.0, 0.0, np.ones(len(problem.nodes))
    for _ in problem.nodes:
        total += factor
        reach = np.array([np.max(discounts[after] * reach[after], initial=0.0) for after in children])
        factor = float(reach.max())
        if factor < 1:
            return least * total / (1 - factor)
    raise InvalidProblem([f"a cycle of the graph has no discount; {ADVICE}"])


def _least_costs(problem: MultistageProblem, sign: float) -> Floats:
    """The least cost of each node that follows another, over all realisations and arriving states."""
    arrivals, least = Arrivals.by_columns(problem), np.zeros(len(problem.nodes))
    later = sorted({child for follows in outcomes(problem)[:-1] for child in follows.children})
    minimizer = Minimizer()
    for number in later:
        relaxed = Relaxation(problem.nodes[number], arrivals.at(number), sign)
        cost = relaxed.cost_of_columns()
        least[number] = cost if np.isfinite(cost) else relaxed.cost(minimizer)
    unbounded = [number for number in later if np.isinf(least[number])]
    if not unbounded:
        return least
    arrivals = Arrivals.by_programmes(problem)
    for number in unbounded:
        cost = Relaxation(problem.nodes[number], arrivals.at(number), sign).cost(minimizer)
        least[number] = cost - SLACK * (1 + abs(cost))
    if unbounded := [number for number in unbounded if np.isinf(least[number])]:
        raise InvalidProblem(list(_findings(problem, arrivals, unbounded, sign)))
    return least


def _findings(
    problem: MultistageProblem, arrivals: Arrivals, unbounded: Sequence[int], sign: float
) -> Iterator[str]:
    what = "cost" if problem.sense == "min" else "reward"
    for number in unbounded[:NAMED]:
        node = problem.nodes[number]
        column, states = Relaxation(node, arrivals.at(number), sign).unbounded()
        reason = f": nothing limits column {column!r}" if column else ""
        if states:
            reason += f", because state {states[0]!r} arrives without a bound"
        more = len(unbounded) - NAMED
        others = (
            f" (nor on that of {more} other nodes)" if number == unbounded[:NAMED][-1] and more > 0 else ""
        )
        yield f"no bound on the {what} of node {node.name!r} could be computed{reason}{others}; {ADVICE}"
