"""Value bounds from the programmes alone: valid, finite where something bounds the value, else explained."""

import numpy as np
import pytest
from hypothesis import given, settings

from cobre.errors import InvalidProblem
from cobre.sddp import MultistageProblem, simulate, stages, train
from cobre.sddp import _value_bounds as bounds_of
from cobre.sddp._value_bounds import value_bounds
from tests.sddp.extensive import value_after
from tests.sddp.random_problems import problems


def shop(*, bought=0.0, keep=1.0, discount=1.0):
    """A stock without a bound is sold at 10; up to ``bought`` can be bought at 12."""

    def week(model, t):
        stock = model.state("stock")
        sold, more = model.variable("sold", cost=-10), model.variable("more", cost=12)
        model.random(more, upper=[bought / 2, bought])
        model.discount = discount
        model.constraint(stock.outgoing == keep * stock.incoming - sold + more)

    return week


def test_states_without_bounds_are_followed_from_the_initial_one():
    """Of 50 at first, all may be sold in each later stage, since the stages are taken one by one."""
    problem = MultistageProblem.linear(stages(3, shop()), {"stock": 50})
    np.testing.assert_allclose(value_bounds(problem), [-1000, -500, 0], rtol=1e-4)
    assert train(problem, 10).bound == pytest.approx(-500)


def test_what_is_bought_on_the_way_counts():
    """Of 50 and 4 bought each time, 54 and then 58 may arrive; the last 4 bring 10 each, and cost 12."""
    problem = MultistageProblem.linear(stages(3, shop(bought=4)), {"stock": 50})
    np.testing.assert_allclose(value_bounds(problem), [-1120, -580, 0], rtol=1e-4)


def test_a_circle_that_forgets_has_a_bound_and_one_that_gathers_has_none():
    """With half of it kept, the stock stays below the 50 it begins with; with all, it grows for ever."""
    forgets = MultistageProblem.cyclic(stages(2, shop(bought=4, keep=0.5, discount=0.9)), {"stock": 50})
    np.testing.assert_allclose(value_bounds(forgets), -10 * 25 / (1 - 0.9), rtol=1e-4)
    gathers = MultistageProblem.cyclic(stages(2, shop(bought=4, discount=0.9)), {"stock": 50})
    with pytest.raises(InvalidProblem, match="nothing limits column 'sold', because state 'stock' arrives"):
        train(gathers, 1)


def test_the_variable_that_makes_the_value_unbounded_is_named():
    with pytest.raises(InvalidProblem) as caught:
        train(MultistageProblem.linear(stages(6, shop(bought=np.inf)), {"stock": 50}), 1)
    first, *_, last = caught.value.findings
    assert first.startswith(
        "no bound on the cost of node '2' could be computed: nothing limits column 'sold', "
        "because state 'stock' arrives without a bound; give value_bound"
    )
    assert "(nor on that of 2 other nodes)" in last


@settings(max_examples=25, deadline=None)
@given(problems(value_bound=False, risk_averse=False))
def test_no_true_value_is_below(drawn):
    problem, sign = drawn.problem, 1.0 if drawn.problem.sense == "min" else -1.0
    for node, bound in zip(problem.nodes, value_bounds(problem), strict=True):
        for level in (0.0, 8.0):
            value = sign * value_after(problem, node.name, dict.fromkeys(problem.states, level))
            assert bound <= value + 1e-9 * (1 + abs(value))


def test_they_are_computed_once_for_training_resuming_and_simulating(tmp_path, monkeypatch):
    calls, computed = [], bounds_of._computed
    monkeypatch.setattr(bounds_of, "_computed", lambda problem: calls.append(problem) or computed(problem))
    problem = MultistageProblem.linear(stages(3, shop()), {"stock": 50})
    result = train(problem, 2, checkpoint=tmp_path / "checkpoint")
    train(problem, 3)
    train(problem, 3, resume=tmp_path / "checkpoint")
    simulate(problem, result.policy, 2)
    assert calls == [problem]
