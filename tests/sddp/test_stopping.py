"""Stopping rules against their formulas, with plain numbers for progress."""

import json
import math
import pickle
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.estimates import Estimate
from cobre.sddp._progress import Progress, SimulationRecord
from cobre.sddp.stopping import (
    AllOf,
    AnyOf,
    BoundStalling,
    IterationLimit,
    SimulationStopping,
    Statistical,
    StoppingRule,
    TimeLimit,
    as_rule,
)

RULES = [
    IterationLimit(3),
    TimeLimit(60),
    BoundStalling(),
    Statistical(),
    Statistical(0.9, 200, 5),
    SimulationStopping(),
    IterationLimit(3) | TimeLimit(5),
    IterationLimit(3) & (TimeLimit(5) | BoundStalling(3)),
]


def refuse(replications):
    raise AssertionError("nothing was to be simulated")


def progress(
    bounds=(0.0,), *, seconds=0.0, estimate=(0.0, 0.0, 1), sense="min", simulate=refuse, records=None
):
    return Progress(
        iteration=len(bounds),
        seconds=seconds,
        bounds=list(bounds),
        estimates=[Estimate(*estimate)] * len(bounds),
        sense=sense,
        simulate=simulate,
        simulations=[] if records is None else records,
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_an_estimate_is_that_of_the_standard_library(values):
    estimate = Estimate.of(values)
    assert estimate.mean == pytest.approx(statistics.fmean(values), abs=1e-9)
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    assert estimate.standard_deviation == pytest.approx(spread, rel=1e-9, abs=1e-6)
    assert estimate.count == len(values)
    assert Estimate.of(values[::-1]) == Estimate.of(np.array(values)) == estimate


def test_an_estimate_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        Estimate.of([])


def test_half_widths_are_those_of_the_normal_table():
    estimate = Estimate(5.0, 2.0, 16)
    assert estimate.half_width(0.95) == pytest.approx(1.959964 * 0.5, rel=1e-6)
    assert estimate.half_width(0.99) == pytest.approx(2.575829 * 0.5, rel=1e-6)
    assert Estimate(5.0, 0.0, 1).half_width() == math.inf


def test_the_iteration_limit():
    assert IterationLimit(3).reached(progress([0, 0])) is None
    assert IterationLimit(3).reached(progress([0, 0, 0])) == "the limit of 3 iterations"
    assert IterationLimit(3).reached(progress([0] * 4)) is not None


def test_the_time_limit():
    assert TimeLimit(2.5).reached(progress(seconds=2.4)) is None
    assert TimeLimit(2.5).reached(progress(seconds=2.5)) == "the time limit of 2.5 s"


@pytest.mark.parametrize(
    ("bounds", "stalls"),
    [
        ([100.0, 100.0], False),  # too short for a window of 2
        ([100.0, 50.0, 100.0], True),  # only the ends of the window count
        ([100.0, 100.0, 100.11], False),
        ([100.0, 100.0, 100.09], True),
        ([-100.0, -100.0, -100.09], True),
        ([0.0, 0.0, 0.0011], False),  # below 1 the tolerance is absolute
        ([0.0, 0.0, 0.0009], True),
        ([-math.inf, -math.inf, -math.inf], False),
        ([-math.inf, 1.0, 1.0], False),
        ([0.0, 100.0, 100.0, 100.0], True),
    ],
)
def test_bound_stalling(bounds, stalls):
    assert (BoundStalling(2, 1e-3).reached(progress(bounds)) is not None) is stalls


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize(
    ("bound", "stops"), [(90.0, False), (98.03, False), (98.05, True), (100.0, True), (105.0, True)]
)
def test_the_bound_in_the_interval(sense, bound, stops):
    """100 ± 1.96 for a hundred costs with a deviation of 10; for rewards all is mirrored."""
    sign = 1 if sense == "min" else -1
    found = Statistical().reached(progress([sign * bound], estimate=(sign * 100.0, 10.0, 100), sense=sense))
    assert (found is not None) is stops


def test_the_interval_needs_two_costs():
    assert Statistical().reached(progress([100.0], estimate=(100.0, 0.0, 1))) is None
    assert Statistical().reached(progress([100.0], estimate=(100.0, 0.0, 2))) is not None


def test_without_uncertainty_rounding_does_not_matter():
    assert Statistical().reached(progress([100.0 - 1e-8], estimate=(100.0, 0.0, 5))) is not None
    assert Statistical().reached(progress([100.0 - 1e-6], estimate=(100.0, 0.0, 5))) is None


def test_the_interval_of_simulated_costs():
    asked = []

    def simulate(replications):
        asked.append(replications)
        return Estimate(100.0, 10.0, replications), (100.0,)

    rule = Statistical(0.95, replications=400, period=2)
    assert rule.reached(progress([99.5], simulate=refuse)) is None
    assert rule.reached(progress([99.5, 99.5], simulate=simulate)) is not None
    assert rule.reached(progress([99.5, 98.9], simulate=simulate)) is None
    assert asked == [400, 400]


def run_simulation_stopping(rule, bounds, costs, records):
    """Ask after every iteration; return the iterations that simulated and the first that stopped."""
    simulated = []
    for iteration in range(1, len(bounds) + 1):

        def simulate(replications, iteration=iteration):
            simulated.append(iteration)
            return Estimate(0.0, 0.0, replications), costs[iteration]

        if rule.reached(progress(bounds[:iteration], simulate=simulate, records=records)):
            return simulated, iteration
    return simulated, None


def test_simulation_stopping_needs_two_simulations_that_agree():
    rule = SimulationStopping(replications=50, period=2, bound_window=1, distance_tolerance=0.01)
    costs = {2: (10.0, 20.0), 4: (10.2, 20.0), 6: (10.21, 20.1), 8: (0.0, 0.0)}
    records = []
    # The distance is 0.02 at iteration 4, and sqrt((0.01 / 10.2)**2 + 0.005**2) = 0.0051 at iteration 6.
    assert run_simulation_stopping(rule, [7.0] * 8, costs, records) == ([2, 4, 6], 6)
    assert records[-1] == SimulationRecord(6, (10.21, 20.1), 50)


def test_simulation_stopping_does_not_simulate_while_the_bound_moves():
    rule = SimulationStopping(period=2, bound_window=1)
    bounds = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0]
    costs = {6: (1.0,), 8: (1.0,)}
    assert run_simulation_stopping(rule, bounds, costs, []) == ([6, 8], 8)


def test_small_costs_are_compared_absolutely():
    rule = SimulationStopping(period=1, bound_window=1, distance_tolerance=0.01)
    costs = {2: (0.0, 0.001), 3: (0.005, 0.002)}
    assert run_simulation_stopping(rule, [1.0] * 3, costs, []) == ([2, 3], 3)


def test_a_step_that_is_missing_costs_nothing():
    rule = SimulationStopping(period=1, bound_window=1, distance_tolerance=0.01)
    assert run_simulation_stopping(rule, [1.0] * 3, {2: (5.0, 1.0), 3: (5.0,)}, [])[1] is None
    assert run_simulation_stopping(rule, [1.0] * 3, {2: (5.0,), 3: (5.0, 0.001)}, [])[1] == 3


def test_asked_again_it_answers_the_same_and_simulates_nothing():
    rule = SimulationStopping(period=1, bound_window=1)
    records = [SimulationRecord(1, (5.0,), 100), SimulationRecord(2, (5.0,), 100)]
    before = list(records)
    assert rule.reached(progress([1.0, 1.0], records=records)) is not None
    assert records == before


def test_simulations_of_other_sizes_are_not_compared():
    rule = SimulationStopping(replications=10, period=1, bound_window=1)
    records = [SimulationRecord(1, (5.0,), 100)]
    found = rule.reached(
        progress([1.0, 1.0], simulate=lambda n: (Estimate(5.0, 0.0, n), (5.0,)), records=records)
    )
    assert found is None
    assert records[1:] == [SimulationRecord(2, (5.0,), 10)]


def test_any_and_all():
    short, long = IterationLimit(2), IterationLimit(5)
    assert (short | long).reached(progress([0] * 3)) == "the limit of 2 iterations"
    assert (short & long).reached(progress([0] * 3)) is None
    assert (short & long).reached(progress([0] * 5)) == "the limit of 2 iterations; the limit of 5 iterations"
    assert (long | long).reached(progress([0])) is None


def test_all_asks_every_rule():
    records = []
    rule = IterationLimit(99) & SimulationStopping(period=1, bound_window=1)
    moved = progress([1.0, 1.0], simulate=lambda n: (Estimate(1.0, 0.0, n), (1.0,)), records=records)
    assert rule.reached(moved) is None
    assert len(records) == 1


def test_operators_flatten_what_is_alike():
    a, b, c = IterationLimit(1), TimeLimit(2), BoundStalling(3)
    assert a | b | c == AnyOf((a, b, c)) == a | (b | c)
    assert a & b & c == AllOf((a, b, c))
    assert a | b & c == AnyOf((a, AllOf((b, c))))
    assert str(a | b & c) == "1 iterations, or (2 s, and bound stalling over 3 iterations within 0.0001)"
    for operation in (lambda: a | 1, lambda: a & "b"):
        with pytest.raises(TypeError):
            operation()


def test_the_last_iteration_that_can_be():
    assert BoundStalling().iteration_limit is None
    assert (IterationLimit(5) | IterationLimit(3) | TimeLimit(1)).iteration_limit == 3
    assert (IterationLimit(5) & IterationLimit(3)).iteration_limit == 5
    assert (IterationLimit(5) & TimeLimit(1)).iteration_limit is None
    assert (TimeLimit(5) | TimeLimit(1)).iteration_limit is None


def test_as_rule():
    assert as_rule(5) == IterationLimit(5)
    assert as_rule(TimeLimit(1)) == TimeLimit(1)
    assert as_rule((5, TimeLimit(1))) == AnyOf((IterationLimit(5), TimeLimit(1)))
    for wrong in ("5", 5.0, True, None):
        with pytest.raises(ValueError, match="no stopping rule"):
            as_rule(wrong)
    with pytest.raises(ValueError, match="at least one"):
        as_rule([])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_specs_and_copies(rule):
    again = pickle.loads(pickle.dumps(rule))
    assert again == rule
    assert again.spec() == rule.spec() == json.loads(json.dumps(rule.spec()))


def test_specs_tell_rules_apart():
    assert len({json.dumps(rule.spec()) for rule in RULES}) == len(RULES)
    assert TimeLimit(1).spec() == TimeLimit(1.0).spec() == {"rule": "TimeLimit", "seconds": 1.0}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: IterationLimit(0), "limit is 0; give a whole number, 1 or more"),
        (lambda: IterationLimit(2.5), "limit is 2.5"),
        (lambda: IterationLimit(True), "limit is True"),
        (lambda: TimeLimit(0), "seconds is 0; give a number above 0"),
        (lambda: TimeLimit(math.nan), "seconds is nan"),
        (lambda: TimeLimit("1 h"), "seconds is '1 h'"),
        (lambda: BoundStalling(0), "iterations is 0"),
        (lambda: BoundStalling(tolerance=-1), "tolerance is -1"),
        (lambda: Statistical(1.0), "between 0 and 1"),
        (lambda: Statistical(replications=1), "replications is 1; give a whole number, 2 or more"),
        (lambda: Statistical(period=0), "period is 0"),
        (lambda: SimulationStopping(replications=0), "replications is 0"),
        (lambda: SimulationStopping(bound_window=0), "bound_window is 0"),
        (lambda: SimulationStopping(distance_tolerance=math.inf), "distance_tolerance is inf"),
        (lambda: AnyOf(()), "at least one"),
        (lambda: AllOf((5,)), "5 is no stopping rule"),
    ],
)
def test_what_is_no_rule_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_rule_of_ones_own():
    class Lucky(StoppingRule):
        def reached(self, progress):
            return "luck" if progress.iteration == 7 else None

    rule = IterationLimit(10) | Lucky()
    assert rule.reached(progress([0] * 7)) == "luck"
