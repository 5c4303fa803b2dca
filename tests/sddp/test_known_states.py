"""States that follow from the past and from chance alone leave the programmes, and nothing else changes."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from cobre.lp import Noise, StageSolver, States, ThreadPool
from cobre.sddp import MultistageProblem, OutOfSample, _engine, simulate, stages, train
from tests.sddp.extensive import optimal_value

COUNT = 3
#: Of three lags the newest is drawn, the others are handed on.
INITIAL = {"volume": 6.0, "reserve": 4.0, "flow": 2.0, "flow_before": 1.5}


def week(model, t):
    """Two reservoirs, one inflow of order 2, part of which reaches the other one; numbers without ties."""
    rng = np.random.default_rng([9, t])
    volume, reserve = model.state("volume", upper=12.0), model.state("reserve", upper=9.0)
    flow, before = model.state("flow", lower=-np.inf), model.state("flow_before", lower=-np.inf)
    noise = model.parameter("noise", rng.uniform(0.2, 2.0, COUNT))
    model.constraint(flow.outgoing == 0.6 * flow.incoming + 0.17 * before.incoming + noise)
    model.constraint(before.outgoing == flow.incoming)
    used = [model.variable(f"used {i}", 0.0, 5.0, cost=rng.uniform(0, 1)) for i in range(2)]
    spilled = [model.variable(f"spilled {i}", cost=rng.uniform(0, 1)) for i in range(2)]
    bought = model.variable("bought", 0.0, 4.0, cost=20 + rng.uniform(0, 5))
    missed = model.variable("missed", cost=90 + rng.uniform(0, 5))
    model.constraint(volume.outgoing == volume.incoming + flow.outgoing - used[0] - spilled[0], "balance 0")
    model.constraint(
        reserve.outgoing == reserve.incoming + 0.3 * flow.incoming - used[1] - spilled[1], "balance 1"
    )
    model.constraint(used[0] + 0.83 * used[1] + bought + missed == 6 + rng.uniform(0, 2), "demand")
    model.constraint(flow.outgoing == 0.11 * t + flow.incoming - model.variable("change", -np.inf), "change")


def linear():
    return MultistageProblem.linear(stages(4, week), INITIAL, value_bound=0.0)


def cyclic():
    nodes = [replace(node, discount=0.7) for node in stages(2, week)]
    return MultistageProblem.cyclic(nodes, INITIAL, value_bound=0.0)


@pytest.fixture
def whole_programmes(monkeypatch):
    """Nothing leaves the programmes from here on."""
    return lambda: monkeypatch.setattr(_engine, "StageSolver", partial(StageSolver, reduce=False))


def trained(problem, iterations, cuts):
    return train(problem, iterations, trajectories=3, seed=5, cuts=cuts, threads=1, backend="local")


def without_bases(policy):
    """The policy without its warm-start bases, which are of the programmes that are left."""
    records = {name: replace(record, basis=None) for name, record in policy.records.items()}
    return replace(policy, records=records)


@pytest.mark.parametrize("cuts", ["single", "multi"])
@pytest.mark.parametrize("make", [linear, cyclic])
def test_a_simulation_is_that_of_the_whole_programmes(make, cuts, whole_programmes):
    """Realisations are drawn anew: in those of the training a state is often where slopes change."""
    problem, found = make(), []
    policy = without_bases(trained(problem, 6, cuts).policy)
    program = problem.nodes[0].program
    random = np.random.default_rng(7)
    drawn = OutOfSample(
        {
            node.name: Noise.from_table(node.noise.places, random.uniform(0.2, 2, (9, 1)))
            for node in problem.nodes
        }
    )
    for change in (lambda: None, whole_programmes):
        change()
        asked = {"columns": program.column_names, "duals": program.row_names}
        found.append(
            simulate(problem, policy, 30, seed=2, sampling=drawn, threads=1, backend="local", **asked).table
        )
    for name in found[0].column_names:
        one, other = (np.asarray(table[name].to_pylist()) for table in found)
        if one.dtype == np.float64:
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("cuts", ["single", "multi"])
def test_the_bound_becomes_the_value_of_the_whole_tree(cuts):
    problem = linear()
    found = trained(problem, 40, cuts)
    assert found.bound == pytest.approx(optimal_value(problem), rel=1e-8)
    assert np.any(found.policy.cuts("1").slopes[:, 2:] != 0)


def test_on_a_cycle_the_bound_is_that_of_the_whole_programmes(whole_programmes):
    bound = trained(cyclic(), 60, "single").bound
    whole_programmes()
    assert bound == pytest.approx(trained(cyclic(), 60, "single").bound, rel=1e-4)


def test_of_the_states_two_are_left():
    node = linear().nodes[0]
    number = {state: i for i, state in enumerate(INITIAL)}
    states = States(4, *({number[s]: c for s, c in ways.items()} for ways in (node.incoming, node.outgoing)))
    left, whole = (
        StageSolver(ThreadPool(1), node.program, node.noise, states, reduce=reduce).native.solver_size
        for reduce in (True, False)
    )
    # Two balances and the demand remain; of the columns neither what comes, nor flows, nor what is drawn.
    assert left == (3, 8 + 1)
    assert whole == (6, 16 + 1)
