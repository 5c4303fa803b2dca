"""Training finds what is right: the value of the whole problem as one programme, and published values."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobre.sddp import (
    AVaR,
    Expectation,
    IterationLimit,
    Level1,
    LinearProgram,
    Mixture,
    MultistageProblem,
    Node,
    Noise,
    StoppingRule,
    WorstCase,
    simulate,
    train,
)
from tests.sddp.extensive import optimal_value, value_after
from tests.sddp.random_problems import CAPACITY, problems
from tests.sddp.textbook import TEXTBOOK

EXACT = 1e-7  # relative

# Dozens of problems in each test: a minute on an idle machine, several on a busy one.
pytestmark = pytest.mark.timeout(400)


@dataclass(frozen=True)
class Reached(StoppingRule):
    """Stop when the bound has come to a value that is known, to save the time of going on."""

    value: float
    tolerance: float

    def reached(self, progress):
        return "there" if abs(progress.bounds[-1] - self.value) <= self.tolerance else None


def measures(risk):
    """Return risk as the engine takes it."""
    found = {}
    for name, parts in (risk or {}).items():
        found[name] = Mixture(tuple((weight, _measure(level)) for weight, level in parts))
    return found


def _measure(level):
    if level in (0, 1):
        return WorstCase() if level == 0 else Expectation()
    return AVaR(level)


def train_to(problem, value, risk=None, *, limit=400, tolerance=EXACT, **how):
    """Train until the bound is exact, or the limit is reached."""
    stop = Reached(value, 0.5 * tolerance * abs(value)) | IterationLimit(limit)
    return train(problem, stop, risk=measures(risk), **how)


def assert_never_worse(result, problem):
    sign = 1 if problem.sense == "min" else -1
    assert all(after >= before for before, after in pairwise(sign * result.bounds))


WAYS = {
    "single": {},
    "multi": {"cuts": "multi"},
    "selection": {"selection": Level1(every=1)},
    "few": {"trajectories": 4, "limit": 1000},
    "threads": {"threads": 2, "cuts": "multi", "selection": Level1()},
}


@settings(max_examples=100)
@given(problems(), st.sampled_from(sorted(WAYS)), st.integers(0, 2**32))
def test_the_bound_becomes_the_value_of_the_scenario_tree(drawn, way, seed):
    value = optimal_value(drawn.problem, drawn.risk)
    result = train_to(drawn.problem, value, drawn.risk, seed=seed, **WAYS[way])
    assert result.bound == pytest.approx(value, rel=EXACT, abs=EXACT)
    assert_never_worse(result, drawn.problem)


@pytest.mark.parametrize("cuts", ["single", "multi"])
def test_a_value_bound_need_not_hold_for_each_outcome(cuts):
    """What follows is worth -5 on average at least, but -6 in one of two outcomes: 3 papers are best."""
    order = Node("order", LinearProgram([0.5], np.zeros((0, 1))), {}, {"papers": 0})
    sell = LinearProgram([0, -2], [[-1, 1]], row_upper=0, column_upper=[np.inf, 3])
    noise = Noise(column_upper={1: [2, 3]})
    nodes = [order, Node("sell", sell, {"papers": 0}, {}, noise)]
    problem = MultistageProblem.linear(nodes, {}, value_bound=-5)
    assert train(problem, 20, cuts=cuts).bound == pytest.approx(-3.5)


@settings(max_examples=45)
@given(problems(), st.data())
def test_cuts_never_pass_the_true_value(drawn, data):
    problem, cuts = drawn.problem, data.draw(st.sampled_from(["single", "multi"]))
    policy = train(problem, 3, risk=measures(drawn.risk), trajectories=3, cuts=cuts).policy
    sign = 1 if problem.sense == "min" else -1
    node = data.draw(st.sampled_from(problem.nodes))
    if not problem.children(node.name):
        return
    for _ in range(3):
        state = {name: data.draw(st.floats(0, CAPACITY)) for name in problem.states}
        true = value_after(problem, node.name, state, drawn.risk)
        believed = policy.value(node.name, state)
        assert sign * believed.value <= sign * true + 1e-6 * (1 + abs(true))
        if cuts == "single":
            intercepts, slopes, *_ = policy.cuts(node.name)
            heights = intercepts + slopes @ [state[name] for name in policy.states]
            assert np.all(sign * heights <= sign * true + 1e-6 * (1 + abs(true)))


@settings(max_examples=15)
@given(problems(risk_averse=False))
def test_a_simulation_agrees_with_the_bound(drawn):
    value = optimal_value(drawn.problem)
    policy = train_to(drawn.problem, value).policy
    estimate = simulate(drawn.problem, policy, 1000, seed=1).estimate
    # So wide an interval fails by chance in one of a million runs of this line.
    assert abs(estimate.mean - value) <= estimate.half_width(1 - 1e-6) + 1e-6 * (1 + abs(value))


@pytest.mark.parametrize("book", TEXTBOOK, ids=lambda book: book.name)
def test_a_textbook_value_is_found(book):
    if book.tree:
        value, how = optimal_value(book.problem, book.risk), {}
    else:
        value, how = book.value, {"tolerance": book.tolerance / (1 + abs(book.value))}
    result = train_to(book.problem, value, book.risk, limit=book.iterations, **how)
    assert result.bound == pytest.approx(book.value, rel=0, abs=book.tolerance)
    if book.tree:
        assert result.bound == pytest.approx(value, rel=EXACT)
    assert_never_worse(result, book.problem)
