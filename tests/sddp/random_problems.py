"""Random problems that always have a solution, small enough for `tests.sddp.extensive`.

Hypothesis draws the shape: graph, states, kinds of noise, risk. A generator with a drawn seed fills in the
numbers, on a coarse grid, so that ties and degenerate bases are common.
"""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from cobre.lp import LinearProgram, Noise
from cobre.sddp import MultistageProblem, Node

LEAVES = 300  # of the scenario tree, at most
PENALTY = 40.0  # of a unit by which a row is missed
CAPACITY = 8.0  # of a state

KINDS = ("rhs", "row_lower", "fix", "column_upper", "cost", "coefficient")
RISKS = (
    [(1.0, 1.0)],
    [(1.0, 0.5)],
    [(1.0, 0.05)],
    [(0.5, 1.0), (0.5, 0.25)],
    [(0.9, 1.0), (0.1, 0.0)],
    [(1.0, 0.0)],
    [(0.25, 0.7), (0.5, 0.3), (0.25, 1.0)],
)


@dataclass(frozen=True)
class Drawn:
    """A problem and the risk measures of its nodes, as `tests.sddp.extensive.Risk`."""

    problem: MultistageProblem
    risk: dict[str, list[tuple[float, float]]]


@st.composite
def problems(draw, *, risk_averse=True, value_bound=None, independent=False):
    """Draw a problem.

    ``value_bound`` says whether it has one, None lets that be drawn. ``independent`` stages have nodes that
    differ in numbers alone, with probabilities that do not depend on the stage before.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states = [f"s{i}" for i in range(draw(st.integers(1, 4)))]
    sense = draw(st.sampled_from(["min", "max"]))
    kinds = draw(st.sets(st.sampled_from(KINDS), min_size=1))
    controls = draw(st.integers(1, 3))
    layers, leaves = [], 1
    for t in range(draw(st.integers(2, 5))):
        room = max(LEAVES // leaves, 1)
        width = draw(st.integers(1, min(3, room)))
        count = draw(st.integers(1, min(5, max(room // width, 1))))
        leaves *= width * count
        discount = draw(st.sampled_from([1.0, 1.0, 0.9, 0.5]))
        layers.append(
            [
                _node(
                    rng,
                    f"{t}.{i}",
                    states,
                    controls,
                    sense=sense,
                    kinds=kinds,
                    count=count,
                    discount=discount,
                )
                for i in range(width)
            ]
        )
    if draw(st.booleans()):  # the last leave nothing behind
        layers[-1] = [replace(node, outgoing={}) for node in layers[-1]]
    if independent:
        layers = [[_with_offset(node, layer[0].program.offset) for node in layer] for layer in layers]
    matrices = [
        [_chances(rng, len(after)).tolist() for _ in before]
        for before, after in zip([[None], *layers], layers, strict=False)
    ]
    if independent:
        matrices = [[matrix[0]] * len(matrix) for matrix in matrices]
    elif draw(st.booleans()):  # some ways end early
        for matrix in matrices[1:]:
            matrix[0] = [p * 0.75 for p in matrix[0]]
    initial = {state: float(rng.integers(0, CAPACITY + 1)) for state in states}
    bounded = draw(st.booleans()) if value_bound is None else value_bound
    bound = _value_bound([node for layer in layers for node in layer], sense) if bounded else None
    problem = MultistageProblem.markovian(layers, matrices, initial, sense=sense, value_bound=bound)
    risk = {}
    if risk_averse:
        for name in draw(st.sets(st.sampled_from(["root", *problem.index]))):
            risk[name] = list(draw(st.sampled_from(RISKS)))
    return Drawn(problem, risk)


@st.composite
def circles(draw):
    """Draw a cyclic problem in which little is left after a few steps. It has a value bound."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states = [f"s{i}" for i in range(draw(st.integers(1, 2)))]
    sense, kinds = draw(st.sampled_from(["min", "max"])), draw(st.sets(st.sampled_from(KINDS), min_size=1))
    discount = draw(st.sampled_from([0.25, 0.4]))
    nodes = [
        _node(
            rng, f"{t}", states, 2, sense=sense, kinds=kinds, count=draw(st.integers(1, 2)), discount=discount
        )
        for t in range(draw(st.integers(1, 3)))
    ]
    initial = {state: float(rng.integers(0, CAPACITY + 1)) for state in states}
    bound = _value_bound(nodes, sense) / (1 - discount)
    return Drawn(MultistageProblem.cyclic(nodes, initial, sense=sense, value_bound=bound), {})


def _grid(rng, low, high, size=None, step=0.25):
    return low + step * rng.integers(0, round((high - low) / step) + 1, size)


def _chances(rng, count):
    weights = rng.integers(1, 6, count)
    return weights / weights.sum()


def _node(rng, name, states, controls, *, sense, kinds, count, discount):
    """Balances of the states, a demand, and slacks that let any state meet both at a price.

    Columns: what arrives, what leaves, the controls, a number that noise may fix, then two slacks for
    each balance and one for the demand.
    """
    n = len(states)
    first, given, slack = 2 * n, 2 * n + controls, 2 * n + controls + 1
    columns = slack + 2 * n + 1
    costs, upper = np.zeros(columns), np.full(columns, np.inf)
    costs[:n] = _grid(rng, -1, 1, n) * (rng.random() < 0.3)
    costs[n:first] = _grid(rng, -2, 2, n) * (rng.random() < 0.5)
    costs[first:given] = _grid(rng, -3, 10, controls)
    costs[slack:] = PENALTY
    upper[n:first] = CAPACITY
    upper[first:given] = _grid(rng, 1, 8, controls)
    upper[given] = 0.0
    lower = np.zeros(columns)
    lower[:n], upper[:n] = 0.0, CAPACITY
    matrix = np.zeros((n + 1, columns))
    for i in range(n):
        matrix[i, :n] = _grid(rng, -0.5, 0.5, n) * (rng.random(n) < 0.3)
        matrix[i, i] = _grid(rng, 0.5, 1)
        matrix[i, n + i] = -1.0
        matrix[i, first:given] = _grid(rng, -1, 1, controls)
        matrix[i, given] = _grid(rng, 0, 1)
        matrix[i, slack + 2 * i : slack + 2 * i + 2] = 1.0, -1.0
    matrix[n, :n] = _grid(rng, 0, 0.5, n)
    matrix[n, first:given] = _grid(rng, 0.25, 1, controls)
    matrix[n, -1] = 1.0
    balance = _grid(rng, -4, 4, n)
    row_lower, row_upper = np.append(balance, _grid(rng, 0, 6)), np.append(balance, np.inf)
    sign = 1.0 if sense == "min" else -1.0
    noise = {
        "rhs": {int(rng.integers(n)): _grid(rng, -4, 4, count)},
        "row_lower": {n: _grid(rng, 0, 8, count)},
        "fix": {given: _grid(rng, -2, 2, count)},
        "column_upper": {first: _grid(rng, 0, 8, count)},
        "cost": {first: sign * _grid(rng, -3, 12, count), n: sign * _grid(rng, -2, 2, count)},
        "coefficient": {(0, 0): _grid(rng, 0, 1.25, count), (n, first): _grid(rng, 0, 1.5, count)},
    }
    return Node(
        name,
        LinearProgram(
            sign * costs, matrix, row_lower, row_upper, lower, upper, offset=sign * _grid(rng, -2, 2)
        ),
        {state: i for i, state in enumerate(states)},
        {state: n + i for i, state in enumerate(states)},
        Noise(_chances(rng, count), **{kind: noise[kind] for kind in sorted(kinds)}),
        discount,
    )


def _with_offset(node, offset):
    return replace(node, program=replace(node.program, offset=offset))


def _value_bound(nodes, sense):
    """A number that no path can pass: the best that each column of each node could do alone, added up."""
    total = 0.0
    for node in nodes:
        sign = 1.0 if sense == "min" else -1.0
        program, worst = node.program, np.maximum(-sign * node.program.costs, 0.0)
        limits = np.where(np.isfinite(program.column_upper), program.column_upper, 0.0)
        for w, (target, place) in enumerate(node.noise.places):
            if target == "cost":
                worst[place] = max(worst[place], np.max(-sign * node.noise.table[:, w]))
            if target == "column_upper":
                limits[place] = max(limits[place], np.max(node.noise.table[:, w]))
        total -= np.dot(worst, limits) + abs(program.offset)
    return float(sign * np.floor(total))
