"""The oracle itself, on problems that can be solved by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from cobre.lp import LinearProgram, Noise
from cobre.sddp import MultistageProblem, Node
from tests.sddp.extensive import optimal_value, value_after
from tests.sddp.random_problems import problems

DEMAND, CHANCE = [10.0, 20.0, 40.0], [0.5, 0.3, 0.2]


def newsvendor(sense="max", discount=1.0):
    """Buy x at 2, sell at 5 as much of it as is asked for, throw the rest away."""
    sign = 1 if sense == "max" else -1
    buy = Node("buy", LinearProgram([-2 * sign], np.zeros((0, 1))), {}, {"x": 0}, discount=discount)
    sell = LinearProgram([0, 5 * sign], [[-1, 1]], row_upper=0, column_upper=[np.inf, 40])
    noise = Noise(CHANCE, column_upper={1: DEMAND})
    nodes = [buy, Node("sell", sell, {"x": 0}, {}, noise)]
    return MultistageProblem.linear(nodes, {}, sense=sense)


def sold(x):
    return [5 * min(x, d) for d in DEMAND]


def test_the_newsvendor_buys_the_critical_quantile():
    """Demand exceeds x with probability 2/5 or more up to 20: sales of 10 and, half the time, 20."""
    expected = 5 * (10 * 0.5 + 20 * 0.5) - 2 * 20
    assert optimal_value(newsvendor()) == pytest.approx(expected)
    assert optimal_value(newsvendor("min")) == pytest.approx(-expected)


def test_a_discount_counts_what_follows_for_less():
    """At 0.8 a unit that sells surely brings 4, one that sells half the time 2, which is its price."""
    assert optimal_value(newsvendor(discount=0.8)) == pytest.approx((4 - 2) * 10)


@pytest.mark.parametrize("x", [0.0, 7.0, 15.0, 25.0, 50.0])
def test_the_value_after_a_node_is_without_its_discount(x):
    for discount in (1.0, 0.5):
        value = value_after(newsvendor(discount=discount), "buy", {"x": x})
        assert value == pytest.approx(np.dot(CHANCE, sold(x)))


@pytest.mark.parametrize(
    ("mixture", "expected"),
    [
        ([(1.0, 0.0)], 50),  # the worst: 10 are sold
        ([(1.0, 0.5)], 50),  # the worst half is just the first outcome
        ([(1.0, 0.8)], (0.5 * 50 + 0.3 * 100) / 0.8),
        ([(1.0, 0.6)], (0.5 * 50 + 0.1 * 100) / 0.6),  # a third of the second outcome
        ([(1.0, 1.0)], 0.5 * 50 + 0.3 * 100 + 0.2 * 150),
        ([(0.25, 1.0), (0.75, 0.6)], 0.25 * 85 + 0.75 * 35 / 0.6),
    ],
)
def test_avar_is_the_mean_of_the_worst_share(mixture, expected):
    risk = {"buy": mixture}
    assert value_after(newsvendor(), "buy", {"x": 30.0}, risk) == pytest.approx(expected)
    assert value_after(newsvendor("min"), "buy", {"x": 30.0}, risk) == pytest.approx(-expected)


def test_a_decision_under_avar():
    """The worst 60 % are 10 for sure and, a sixth of the time, 20: more than 10 is not worth its price."""
    assert optimal_value(newsvendor(), {"buy": [(1.0, 0.6)]}) == pytest.approx(50 - 20)


def fixed(name, costs, chances=None, discount=1.0):
    """A node without any decision, which costs one of ``costs``."""
    program = LinearProgram([1.0], np.zeros((0, 1)))
    return Node(name, program, {}, {}, Noise(chances, fix={0: costs}), discount)


def test_risk_is_nested():
    problem = MultistageProblem.linear([fixed("a", [0, 10]), fixed("b", [1, 3])], {})
    assert optimal_value(problem) == 5 + 2
    assert optimal_value(problem, {"root": [(1.0, 0.5)]}) == 10 + 2
    assert optimal_value(problem, {"a": [(1.0, 0.5)]}) == 5 + 3
    assert optimal_value(problem, {"root": [(1.0, 0.0)], "a": [(0.5, 1.0), (0.5, 0.5)]}) == 10 + 2.5


def test_risk_sees_children_and_realisations_together():
    """The worst half of 2, 4 (from b) and 10, 30 (from c), of which each has a quarter."""
    nodes = [fixed("b", [2, 4]), fixed("c", [10, 30])]
    problem = MultistageProblem(nodes, {}, {"b": 0.5, "c": 0.5})
    assert optimal_value(problem, {"root": [(1.0, 0.5)]}) == 20
    assert optimal_value(problem, {"root": [(1.0, 0.75)]}) == pytest.approx((30 + 10 + 4) / 3)


def test_ending_is_an_outcome_of_value_zero():
    nodes = [fixed("a", [1]), fixed("b", [-8, 8])]
    problem = MultistageProblem(nodes, {}, {"a": 1.0}, {"a": {"b": 0.5}})
    assert value_after(problem, "a", {}) == 0
    assert value_after(problem, "a", {}, {"a": [(1.0, 0.5)]}) == 4
    assert value_after(problem, "a", {}, {"a": [(1.0, 0.75)]}) == pytest.approx(2 / 0.75)
    assert value_after(problem, "b", {}) == 0


def test_discounts_multiply():
    nodes = [fixed("a", [1], discount=0.5), fixed("b", [1], discount=0.1), fixed("c", [100])]
    assert optimal_value(MultistageProblem.linear(nodes, {})) == pytest.approx(1 + 0.5 * (1 + 0.1 * 100))


def test_offsets_and_every_target():
    """One decision y >= row_lower ... with each number replaced: 3 y + offset, y = rhs / coefficient."""
    program = LinearProgram([1.0, 0.0], [[1.0, 0.0], [0, 1]], row_lower=[0, -9], row_upper=[0, 9], offset=7)
    noise = Noise(rhs={0: [8]}, coefficient={(0, 0): [2]}, cost={0: [3], 1: [1]}, row_lower={1: [2]})
    problem = MultistageProblem.linear([Node("a", program, noise=noise)], {})
    assert optimal_value(problem) == pytest.approx(3 * 4 + 2 + 7)
    noise = Noise(fix={0: [0]}, cost={1: [-1]}, row_upper={1: [5]}, column_lower={1: [1]})
    problem = MultistageProblem.linear([Node("a", program, noise=noise)], {})
    assert optimal_value(problem) == pytest.approx(-5 + 7)


def test_a_cycle_is_refused():
    problem = MultistageProblem.cyclic([fixed("a", [1], discount=0.5)], {})
    with pytest.raises(ValueError, match=r"has no end"):
        optimal_value(problem)


@given(problems())
@settings(max_examples=60)
def test_random_problems_have_a_solution_within_their_bound(drawn):
    drawn.problem.check()
    value = optimal_value(drawn.problem, drawn.risk)
    if drawn.problem.value_bound is not None:
        sign = 1 if drawn.problem.sense == "min" else -1
        assert sign * value >= sign * drawn.problem.value_bound
        name = drawn.problem.nodes[0].name
        state = dict.fromkeys(drawn.problem.states, 1.0)
        assert sign * value_after(drawn.problem, name, state, drawn.risk) >= sign * drawn.problem.value_bound


@given(problems(risk_averse=False))
@settings(max_examples=30)
def test_risk_never_improves_a_value(drawn):
    sign = 1 if drawn.problem.sense == "min" else -1
    names = ["root", *drawn.problem.index]
    values = [
        sign * optimal_value(drawn.problem, {key: [(1.0, level)] for key in names})
        for level in (1.0, 0.5, 0.1, 0.0)
    ]
    assert all(b >= a - 1e-6 * (1 + abs(a)) for a, b in pairwise(values))
