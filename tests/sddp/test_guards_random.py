"""Guards on random problems: no valid claim is refused, and none stands that a visited state contradicts.

A claim is the value bound, or a cut of a warm start. The truth is the value of the whole scenario tree as one
programme, at states that training has visited. 500 problems take ``COBRE_GUARD_PROBLEMS=500``.
"""

import os
from contextlib import chdir, contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobre.errors import BoundError
from cobre.sddp import LimitedMemoryLevel1, MultistageProblem, train
from cobre.sddp._guards import Guards
from tests.sddp.extensive import value_after
from tests.sddp.random_problems import circles, problems
from tests.sddp.test_right import measures

PROBLEMS = int(os.environ.get("COBRE_GUARD_PROBLEMS", "25"))
ITERATIONS, STATES = 12, 10
#: Claims that are wrong by less, relative to the size of values, may stand: the policy is no better.
MARGIN = 0.02
METHODS = [{}, {"cuts": "multi"}, {"selection": LimitedMemoryLevel1(every=1, window=1)}]

pytestmark = pytest.mark.timeout(60 + 3 * PROBLEMS)


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory):
    """For the programmes that errors save."""
    with chdir(tmp_path_factory.mktemp("saved")):
        yield


@contextmanager
def visits():
    """Record the trial states of nodes, in the order of visits."""
    right, found = Guards.check, {}

    def check(self, node, batch, origin):
        if node >= 0:
            found.setdefault(node, []).extend(batch.states)
        return right(self, node, batch, origin)

    with patch.object(Guards, "check", check):
        yield found


def unrolled(problem, node, steps):
    """A node of a circle and what follows it, as a chain that ends, called by numbers."""
    size = len(problem.nodes)
    nodes = [replace(problem.nodes[(node + t) % size], name=str(t)) for t in range(steps)]
    return MultistageProblem.linear(nodes, problem.initial_state, sense=problem.sense)


def true_values(drawn, node, states, floor=-np.inf):
    """The values after a node, as costs, if what follows later nodes is no less than a floor."""
    problem, name = drawn.problem, drawn.problem.nodes[node].name
    sign = 1.0 if problem.sense == "min" else -1.0
    if problem.has_cycle:
        problem, name = unrolled(problem, node, 9), "0"
    named = [dict(zip(problem.states, x, strict=True)) for x in states]
    return np.array([sign * value_after(problem, name, state, drawn.risk, floor) for state in named])


def some(states, rng):
    states = np.unique(states, axis=0)
    return states[rng.permutation(len(states))[:STATES]]


def training(drawn, how, **more):
    """What training raised, or None, and the states that it has visited."""
    with visits() as visited:
        try:
            result = train(
                drawn.problem, ITERATIONS, trajectories=5, risk=measures(drawn.risk), **how, **more
            )
        except BoundError as error:
            return error, visited
    assert result.warnings == ()
    return None, visited


def assert_right(drawn, error, visited, heights, *, rng, floor=-np.inf):
    """Check the verdict on claims: their heights, by node, are functions of states.

    Where an invalid value bound hides that a later state contradicts it, that state has to be visited first.
    """
    names = drawn.problem.index
    if error is not None:
        node = names[error.node]
        states = np.unique(visited[node], axis=0)
        assert np.any(heights[node](states) > true_values(drawn, node, states))
        return
    for node, height in heights.items():
        if node in visited:
            states = some(visited[node], rng)
            values, claimed = true_values(drawn, node, states, floor), height(states)
            assert np.all(claimed <= values + MARGIN * (1 + np.abs(values) + np.abs(claimed)))


@settings(max_examples=PROBLEMS, deadline=None)
@given(
    st.one_of(problems(value_bound=True), circles()),
    st.sampled_from(METHODS),
    st.floats(-1, 1),
    st.integers(0, 2**32 - 1),
)
def test_a_value_bound_is_refused_if_and_only_if_a_visited_state_contradicts_it(drawn, how, offset, seed):
    rng = np.random.default_rng(seed)
    sign = 1.0 if drawn.problem.sense == "min" else -1.0
    valid, visited = training(drawn, how)
    assert valid is None
    node = sorted(visited)[int(rng.integers(len(visited)))]
    value = float(true_values(drawn, node, some(visited[node], rng)[:1])[0])
    bound = value + offset * abs(offset) * (1 + 3 * abs(value))
    other = replace(drawn, problem=replace(drawn.problem, value_bound=sign * bound))
    heights = {
        i: lambda states: np.full(len(states), bound)
        for i, each in enumerate(drawn.problem.nodes)
        if drawn.problem.children(each.name)
    }
    error, visited = training(other, how)
    assert_right(other, error, visited, heights, rng=rng, floor=bound)


@settings(max_examples=PROBLEMS, deadline=None)
@given(
    st.one_of(problems(value_bound=False), circles()),
    st.sampled_from(METHODS),
    st.sampled_from([0.0, 0.03, 0.3, 1.0]),
    st.integers(0, 2**32 - 1),
)
def test_a_cut_of_a_warm_start_is_refused_if_and_only_if_a_visited_state_contradicts_it(
    drawn, how, raised, seed
):
    """The cuts may be above all that is known at first: they were made with closer value bounds."""
    rng = np.random.default_rng(seed)
    policy = train(drawn.problem, 3, trajectories=5, risk=measures(drawn.risk), **how).policy
    nodes = [name for name, record in policy.records.items() if len(record.cuts) and not len(record.mixtures)]
    if not nodes:
        return
    name = nodes[int(rng.integers(len(nodes)))]
    record = policy.records[name]
    cut = int(rng.integers(len(record.cuts)))
    cuts = record.cuts.copy()
    cuts[cut, 0] += raised * (1 + abs(cuts[cut, 0]))
    spoilt = replace(policy, records={**policy.records, name: replace(record, cuts=cuts)})
    loose = -1e5 if drawn.problem.sense == "min" else 1e5
    lower = replace(drawn, problem=replace(drawn.problem, value_bound=loose))
    error, visited = training(lower, how, warm_start=spoilt)
    height = {drawn.problem.index[name]: lambda states: cuts[cut, 0] + states @ cuts[cut, 1:]}
    assert_right(drawn, error, visited, height, rng=rng)
