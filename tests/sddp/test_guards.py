"""Training that is led astray on purpose: it notices in the iteration in which that happens."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobre.comm import run_ranks
from cobre.errors import BoundError
from cobre.lp import TrialBatch
from cobre.progress import describe_guard
from cobre.sddp import (
    Domination,
    Estimate,
    GuardTripped,
    Level1,
    LimitedMemoryLevel1,
    MultistageProblem,
    Selection,
    stage,
    train,
)
from cobre.sddp import _backward as backward
from cobre.sddp import _exchange as exchange
from cobre.sddp._engine import Engine
from cobre.sddp._guards import Guards, _pooled
from cobre.sddp.events import to_dict
from tests.sddp.bodies import STUDIES, chain, circle
from tests.sddp.random_problems import problems
from tests.sddp.test_right import measures

FACTOR = 1.12  # what a peer's bound was off by
TRAINING = {"trajectories": 8, "seed": 3}


@contextmanager
def wrong_values(iteration, *, unit=0, also_second=False, factor=FACTOR):
    """In an iteration, what one trial state of several is worth comes out too high."""
    solve, run, again = Engine.solve, backward.BackwardPass.run, Guards._recomputed
    now = {"iteration": None, "second": False}

    def solved(self, batches, counter=None):
        solve(self, batches, counter)
        if now["iteration"] != iteration or (now["second"] and not also_second):
            return
        for batch in batches:
            if isinstance(batch.solves, TrialBatch) and len(batch.states) > 1:
                batch.solves.values[unit] *= factor

    def counted(self):
        now["iteration"] = self._iteration
        return run(self)

    def recomputed(self, node, states, *, second_opinion=True):
        now["second"] = second_opinion
        try:
            return again(self, node, states, second_opinion=second_opinion)
        finally:
            now["second"] = False

    with (
        patch.object(Engine, "solve", solved),
        patch.object(backward.BackwardPass, "run", counted),
        patch.object(Guards, "_recomputed", recomputed),
    ):
        yield


@contextmanager
def wrong_cut(iteration, *, first_of=0):
    """In an iteration, an intercept is changed between making a cut and adding it, on whichever rank."""
    right = backward.BackwardPass._cuts

    def made(self, step, groups):
        results = right(self, step, groups)
        for group, result in zip(groups, results, strict=True):
            if self._iteration == iteration and group.node == first_of:
                result.cuts[0, 0, 0] += 0.12 * abs(result.totals[0])
        return results

    with patch.object(backward.BackwardPass, "_cuts", made):
        yield


@contextmanager
def wrong_bound(iteration):
    """The bound of one iteration is too high, and consistently so."""
    right = backward.BackwardPass._cuts

    def made(self, step, groups):
        results = right(self, step, groups)
        if self._iteration != iteration or [group.node for group in groups] != [Engine.ROOT]:
            return results
        [result] = results
        more = 0.12 * abs(result.totals[0])
        result.cuts[0, 0, 0] += more
        return [replace(result, totals=result.totals + more, values=result.values + more)]

    with patch.object(backward.BackwardPass, "_cuts", made):
        yield


def run(problem, iterations=12, **how):
    """What training gave, and the events of its guards by iteration, as its listeners hear them."""
    events = []
    result = train(problem, iterations, listeners=[events.append], **{**TRAINING, **how})
    tripped = [event for event in events if isinstance(event, GuardTripped)]
    assert tuple(tripped) == result.warnings
    return result, tripped


PROBLEMS = {"min": chain(4), "max": chain(4, sense="max")}
METHODS = {"single": {}, "multi": {"cuts": "multi"}, "selection": {"selection": Level1(every=2)}}


@pytest.mark.parametrize("how", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_a_value_that_is_wrong_once_is_corrected(problem, how):
    right, none = run(problem, **how)
    assert not none
    sign = 1 if problem.sense == "min" else -1
    with wrong_values(7, factor=FACTOR if sign * right.bound > 0 else 1 / FACTOR):
        result, tripped = run(problem, **how)
    assert {event.iteration for event in tripped} == {7}
    assert {event.kind for event in tripped} == {"value_corrected"}
    np.testing.assert_allclose(result.bounds, right.bounds, rtol=1e-7)


@pytest.mark.parametrize("how", METHODS.values(), ids=METHODS)
def test_a_cut_that_stays_wrong_is_rejected_and_the_bound_remains_valid(how):
    right, _ = run(PROBLEMS["min"], 25, **how)
    with wrong_values(7, also_second=True):
        result, tripped = run(PROBLEMS["min"], 25, **how)
    assert {event.iteration for event in tripped} == {7}
    assert "cut_rejected" in {event.kind for event in tripped}
    for event in tripped:
        if event.kind == "cut_rejected":
            assert event.claimed > event.found
    assert result.bound == pytest.approx(right.bound, rel=1e-4)


def test_a_cut_that_was_changed_on_its_way_is_noticed():
    with wrong_cut(7):
        _, tripped = run(PROBLEMS["min"])
    assert [(event.kind, event.iteration, event.node) for event in tripped] == [("value_corrected", 7, "t0")]


def _with_a_wrong_cut(comm):
    with wrong_cut(7, first_of=1):
        result = train(PROBLEMS["min"], 9, comm=comm, **TRAINING)
    return result.warnings, result.bounds.tobytes()


def test_all_ranks_notice_the_same():
    alone = run_ranks(_with_a_wrong_cut, 1)[0]
    assert [event.iteration for event in alone[0]] == [7]
    for each in run_ranks(_with_a_wrong_cut, 2):
        assert each == alone


def spoilt(policy, *, node, by):
    """A policy with one cut too high, or too low for rewards."""
    record = policy.records[node]
    cuts = record.cuts.copy()
    cuts[-1, 0] += by
    return replace(policy, records={**policy.records, node: replace(record, cuts=cuts)})


@pytest.mark.parametrize(
    ("how", "where"),
    [*((how, {}) for how in METHODS.values()), ({}, {"threads": 2}), ({}, {"num_workers": 2})],
    ids=[*METHODS, "threads", "workers"],
)
def test_a_policy_with_an_invalid_cut_is_refused_at_once(how, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = PROBLEMS["min"]
    policy = spoilt(train(problem, 5, **TRAINING, **how).policy, node="t1", by=300.0)
    with pytest.raises(BoundError) as caught:
        train(problem, 5, warm_start=policy, **TRAINING, **how, **where)
    error = caught.value
    assert (error.iteration, error.node, error.born) == (1, "t1", 0)
    assert error.cut == len(policy.records["t1"].cuts) - 1
    assert error.claimed > error.found
    assert "came with the warm-start policy" in str(error)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(Path(error.saved))) == highspy.HighsStatus.kOk
    assert any(name.startswith("cut_") for name in highs.getLp().row_names_)


def test_rewards_are_told_as_rewards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = PROBLEMS["max"]
    policy = spoilt(train(problem, 5, **TRAINING).policy, node="t1", by=300.0)  # cuts are costs
    with pytest.raises(BoundError) as caught:
        train(problem, 5, warm_start=policy, **TRAINING)
    assert caught.value.claimed < caught.value.found


def test_a_value_bound_that_is_none_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BoundError, match="the value bound of node 't2' is 1000, ") as caught:
        train(replace(PROBLEMS["min"], value_bound=1000.0), 5, **TRAINING)
    assert (caught.value.iteration, caught.value.cut, caught.value.claimed) == (1, None, 1000.0)


def detour(value_bound):
    """The optimum is -1. At first, values seem to be lower than any bound on them."""

    def first(model):
        model.state("s", upper=1)

    def second(model):
        model.state("s", upper=1)
        model.variable("y", 1, 1, cost=-1)

    def third(model):
        s, d = model.state("s", upper=1), model.variable("d", cost=10)
        model.constraint(d - s.incoming >= -0.5)
        model.constraint(d + s.incoming >= 0.5)

    nodes = [stage("1", first), stage("2", second), stage("3", third)]
    return MultistageProblem.linear(nodes, {"s": 0}, value_bound=value_bound)


@pytest.mark.parametrize("bound", [None, -1, -1.5, -3, -4, -10])
def test_every_valid_value_bound_is_taken(bound):
    result = train(detour(bound), 20)
    assert result.bound == pytest.approx(-1)
    assert result.warnings == ()


@pytest.mark.parametrize("bound", [-0.9, 0, 1])
def test_every_invalid_value_bound_is_refused(bound, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BoundError, match=f"the value bound of node '1' is {bound}") as caught:
        train(detour(bound), 20)
    assert caught.value.found == pytest.approx(-1 if bound <= 0 else 0)


class JustMade(Selection):
    """Keeps the cuts of the last iteration only."""

    def keep(self, cuts):
        return cuts.born[cuts.active] == cuts.iteration


def test_the_raw_bound_is_recorded_beside_the_best():
    """Selection may lose what a bound rested on: the raw one falls, the best does not."""
    falls = 0
    for seed in range(8):  # where it falls depends on which of several optimal solutions are found
        result = train(PROBLEMS["min"], 25, trajectories=1, selection=JustMade(every=1), seed=seed)
        falls += np.count_nonzero(np.diff(result.raw_bounds) < 0)
        np.testing.assert_array_equal(result.bounds, np.maximum.accumulate(result.raw_bounds))
        assert [event.raw_bound for event in result.log] == result.raw_bounds.tolist()
    assert falls > 0


@pytest.mark.parametrize("how", METHODS.values(), ids=METHODS)
def test_a_bound_that_falls_ends_the_run_and_what_was_finished_is_saved(how, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    with wrong_bound(4), pytest.raises(BoundError) as caught:
        train(PROBLEMS["min"], 12, checkpoint=checkpoint, **TRAINING, **how)
    error = caught.value
    assert (error.iteration, error.node, error.cut) == (5, "root", None)
    assert error.claimed == pytest.approx(FACTOR * error.found, rel=0.02)
    assert Path(error.saved).parent == tmp_path
    assert checkpoint.exists()


def test_a_bound_beyond_what_trajectories_cost_is_told_once():
    right = exchange.PathExchange.gather

    def cheaper(self, paths):
        trials, costs = right(self, paths)
        return trials, 0.5 * costs

    with patch.object(exchange.PathExchange, "gather", cheaper):
        _, tripped = run(PROBLEMS["min"], 60)
    assert [(event.kind, event.node) for event in tripped] == [("bound_above", "root")]
    assert tripped[0].iteration == -(-300 // TRAINING["trajectories"])  # as soon as there are enough
    assert tripped[0].claimed > 1.5 * tripped[0].found


def test_the_pooled_sample_is_the_sample_of_all():
    rng = np.random.default_rng(1)
    samples = rng.gamma(2, 3, (5, 100))
    pooled, whole = _pooled([Estimate.of(part) for part in samples]), Estimate.of(samples[2:].ravel())
    assert (pooled.count, pooled.mean) == (300, pytest.approx(whole.mean))
    assert pooled.standard_deviation == pytest.approx(whole.standard_deviation)
    assert _pooled([Estimate.of(part) for part in samples[:2]]) is None


def test_listeners_tell():
    event = GuardTripped("cut_rejected", 7, "t1", 112.0, 100.0)
    assert to_dict(event) == {
        "event": "guard_tripped",
        "kind": "cut_rejected",
        "iteration": 7,
        "node": "t1",
        "claimed": 112.0,
        "found": 100.0,
    }
    assert (
        describe_guard(event)
        == "iteration 7, node 't1': a cut above a known value was rejected (112, expected 100)"
    )


@pytest.mark.parametrize("name", STUDIES)
def test_no_guard_trips_in_a_study(name):
    study = STUDIES[name]
    assert train(study.problem, seed=11, **study.training).warnings == ()


@pytest.mark.parametrize(
    "selection", [None, Level1(every=1), LimitedMemoryLevel1(every=1, window=1), Domination(every=2)], ids=str
)
def test_no_guard_trips_on_a_long_way_round_a_circle(selection):
    assert train(circle(), 15, trajectories=3, selection=selection).warnings == ()


@settings(max_examples=40, deadline=None)
@given(
    problems(), st.sampled_from([*METHODS.values(), {"selection": LimitedMemoryLevel1(every=1, window=1)}])
)
def test_no_guard_trips_when_all_is_right(drawn, how):
    result = train(drawn.problem, 10, trajectories=5, risk=measures(drawn.risk), **how)
    assert result.warnings == ()
