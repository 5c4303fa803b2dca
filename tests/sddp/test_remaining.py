"""How far a rule says it is, against what then happens; and how long iterations will take."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.sddp import IterationFinished, train
from cobre.sddp._checkpoint import SavedTraining
from cobre.sddp._pace import Pace
from cobre.sddp._progress import Remaining, SimulationRecord
from cobre.sddp.stopping import BoundStalling, IterationLimit, SimulationStopping, Statistical, TimeLimit
from tests.sddp.bodies import STUDIES
from tests.sddp.test_stopping import progress


def seconds_of(iterations):
    """Every iteration takes two seconds."""
    return 2.0 * iterations


def after(iterations, **options):
    return progress([0.0] * iterations, **options)


def test_limits_know_when_they_end():
    assert IterationLimit(10).remaining(after(4), seconds_of) == Remaining(12.0, 12.0, "10 iterations")
    assert IterationLimit(3).remaining(after(4), seconds_of).latest_s == 0.0
    # The iteration in which the time ends is finished.
    assert TimeLimit(60).remaining(after(4, seconds=50.0), seconds_of) == Remaining(10.0, 12.0, "60 s")


def test_the_first_of_any_and_the_last_of_all():
    limit, time = IterationLimit(10), TimeLimit(60)
    now = after(4, seconds=8.0)
    assert (limit | time).remaining(now, seconds_of) == Remaining(12.0, 12.0, "10 iterations")
    assert (limit & time).remaining(now, seconds_of) == Remaining(52.0, 54.0, "60 s")
    assert (limit & Statistical()).remaining(now, seconds_of) == Remaining(12.0, None, "")
    assert (limit | Statistical()).remaining(now, seconds_of) == Remaining(2.0, 12.0, "10 iterations")
    assert (Statistical() | BoundStalling()).remaining(now, seconds_of).latest_s is None


def test_rules_that_look_now_and_then():
    assert Statistical(period=5).remaining(after(7), seconds_of) == Remaining(6.0)
    rule, record = SimulationStopping(period=20), SimulationRecord(20, (0.0,), 100)
    assert (
        rule.remaining(after(15), seconds_of).earliest_s == 2.0 * 25
    )  # the first has nothing to compare with
    assert rule.remaining(after(25, records=[record]), seconds_of).earliest_s == 2.0 * 15


def test_a_rule_of_ones_own_need_not_know():
    class Mine(IterationLimit):
        remaining = BoundStalling.__mro__[1].remaining

    assert Mine(3).remaining(after(1), seconds_of) == Remaining()


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=40), st.integers(1, 10), st.sampled_from([1e-3, 0.1, 0.5])
)
def test_a_bound_does_not_stall_before_it_is_said_to(steps, window, tolerance):
    """Whatever the bound does afterwards; and if it stays as it is, just then."""
    bounds = [1.0 + sum(steps[:i]) for i in range(len(steps))]
    rule, least = BoundStalling(window, tolerance), None
    for size in range(1, len(bounds) + 1):
        now = progress(bounds[:size])
        if least is not None:
            least -= 1
            assert rule.reached(now) is None or least <= 0
        said = round(rule.remaining(now, float).earliest_s)
        least = said if least is None or least <= 0 else least
    if rule.reached(now) is None:
        still = [rule.reached(progress(bounds + bounds[-1:] * k)) is not None for k in range(1, said + 1)]
        assert still == [False] * (said - 1) + [True]


# The pace


def test_iterations_that_take_the_same_time():
    pace = Pace(100.0)
    for number in range(1, 30):
        pace.tick(number, 100.0 + 3.0 * number)
        assert pace.seconds_of(7) == pytest.approx(21.0)
    assert Pace().seconds_of(7) == 0.0


def test_iterations_that_take_longer_and_longer_go_on_to_do_so_for_a_while():
    """The n-th takes n seconds: for as many as were looked at that is right, beyond it is too little."""
    pace = Pace()
    for number in range(1, 101):
        pace.tick(number, number * (number + 1) / 2)
    assert pace.seconds_of(50) == pytest.approx(sum(range(101, 151)))
    assert pace.seconds_of(60) == pytest.approx(sum(range(101, 151)) + 10 * 150)


def test_a_start_that_is_slow_and_one_that_is_late_are_not_held_against_the_rest():
    """What it took to load libraries in the first iteration says nothing of the last."""
    pace, clock = Pace(), 0.0
    for number in range(1, 101):
        clock += 50.0 if number <= 10 else 1.0
        pace.tick(number, clock)
    assert pace.seconds_of(100) == pytest.approx(100.0)


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=60), st.integers(0, 200))
def test_the_future_is_neither_negative_nor_beyond_reason(taken, iterations):
    pace, clock = Pace(), 0.0
    for number, seconds in enumerate(taken, 1):
        clock += seconds
        pace.tick(number, clock)
    assert 0.0 <= pace.seconds_of(iterations) <= iterations * 4 * max(taken)


# In a run


def test_events_have_it_and_checkpoints_do_not(tmp_path):
    study, heard = next(iter(STUDIES.values())), []
    options = {**study.training, "stop": IterationLimit(6) | BoundStalling(50)}
    path = tmp_path / "run.cobre"
    result = train(study.problem, seed=1, listeners=heard.append, checkpoint=path, **options)
    said = [event for event in heard if isinstance(event, IterationFinished)]
    assert [event.remaining is None for event in said] == [False] * 5 + [True]
    assert {event.remaining.rule for event in said[:-1]} == {"6 iterations"}
    assert list(result.log) == said
    assert SavedTraining.load(path).history.log == [replace(event, remaining=None) for event in said]
