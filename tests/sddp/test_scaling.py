"""The model of scaling: list scheduling by brute force and closed forms, and recordings of real trainings."""

from functools import partial
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.sddp import ExecutionOptions, Method, MultistageProblem, TrainingTask, train
from cobre.sddp.scaling import (
    Layout,
    Repeated,
    ScalingModel,
    Workload,
    makespan,
    record_workload,
    shared_seconds,
)
from cobre.sddp.scaling._recording import RecordingEngine, _Record
from tests.sddp.bodies import chain, initial, markov, node

UNITS = st.lists(st.integers(1, 9), min_size=1, max_size=12)
SHARINGS = ("static", "blocks", "balanced")


def _by_ticks(units, workers):
    """The same, one second after the other: who has nothing to do takes the next unit."""
    left, queue, seconds = [0] * workers, list(units), 0
    while queue or any(left):
        for worker in range(workers):
            if left[worker] == 0 and queue:
                left[worker] = queue.pop(0)
        left = [max(0, rest - 1) for rest in left]
        seconds += 1
    return seconds


@given(UNITS, st.integers(1, 5))
def test_a_queue_is_worked_off_as_by_workers_that_are_watched_every_second(units, workers):
    found = makespan(units, workers)
    assert found == _by_ticks(units, workers)
    assert max(*units, sum(units) / workers) <= found <= max(units) + sum(units) / workers


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_equal_units(workers):
    assert [makespan([2.0] * count, workers) for count in range(20)] == [
        2.0 * ceil(count / workers) for count in range(20)
    ]


def _in_turns(work, places, quantum):
    """Ranks that a scheduler lets run in turns, for a quantum each."""
    waiting, quanta = [round(seconds / quantum) for seconds in work], 0
    while waiting:
        running, waiting = waiting[:places], waiting[places:]
        waiting += [left - 1 for left in running if left > 1]
        quanta += 1
    return quanta * quantum


@given(UNITS, st.integers(1, 4))
def test_ranks_on_few_cores_take_as_long_as_with_a_scheduler_of_small_quanta(work, places):
    quantum = 1 / 64
    found = shared_seconds(work, places)
    assert found == pytest.approx(_in_turns(work, places, quantum), abs=2 * quantum * len(work))
    assert found >= max(*work, sum(work) / places) - 1e-9


NOTHING = Repeated()


def equal_units(*, steps=3, blocks=2, along=NOTHING, between=NOTHING, openings=()):
    """All solves of the forward pass take 1 s, all blocks 10 s. Behind the last step there is nothing."""
    block = np.full(blocks, 10.0)
    backward = (*[(block, block)] * steps, ())
    return Workload((np.ones(4),) * steps, backward, openings, along, between, 0, 0)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 16, 40])
def test_equal_units_of_an_iteration(ranks):
    """At the beginning all trajectories have the same trial state, of two blocks."""
    model, layout = ScalingModel(equal_units(), 16), Layout(ranks, per_machine=64, cores=64)
    most = ceil(16 / ranks)
    found = {sharing: model.expected(layout, sharing) for sharing in SHARINGS}
    assert {one.forward_s for one in found.values()} == {3.0 * most}
    assert found["static"].backward_s == found["blocks"].backward_s == 2 * most * 20.0 + 20.0
    assert found["balanced"].backward_s == 2 * ceil(32 / ranks) * 10.0 + ceil(2 / ranks) * 10.0


def test_threads_share_the_units_of_their_rank():
    model = ScalingModel(equal_units(), 16)
    found = [model.expected(Layout(2, 4, per_machine=2, cores=8), sharing) for sharing in SHARINGS]
    assert [one.forward_s for one in found] == [6.0] * 3
    assert [one.backward_s for one in found] == [2 * 40.0 + 20.0, 2 * 40.0 + 10.0, 2 * 40.0 + 10.0]


def test_machines_share_no_queue():
    """Of 3 trajectories with one block each, two are one machine's: a queue of both would be done in half."""
    model = ScalingModel(equal_units(steps=1, blocks=2), 3)
    one, two = (model.expected(Layout(4, per_machine=size, cores=4)) for size in (4, 2))
    assert (one.backward_s, two.backward_s) == (10.0, 10.0)
    model = ScalingModel(equal_units(steps=2, blocks=2), 3)
    one, two = (model.expected(Layout(6, per_machine=size, cores=6)) for size in (6, 3))
    assert (one.backward_s, two.backward_s) == (10.0 + 10.0, 20.0 + 10.0)


def test_more_ranks_than_cores_take_as_long_as_the_cores():
    model = ScalingModel(equal_units(between=Repeated(1.0, 0.5, 0.25)), 16)
    two, four = (model.expected(Layout(ranks, per_machine=ranks, cores=2)) for ranks in (2, 4))
    assert (two.forward_s, two.backward_s) == (four.forward_s, four.backward_s)
    assert (two.repeated_s, four.repeated_s) == (1 + 0.5 * 8 + 0.25 * 16, 2 * (1 + 0.5 * 4 + 0.25 * 16))


def test_what_ranks_repeat_and_what_is_their_own():
    work = equal_units(along=Repeated(1.0, own_s=2.0), between=Repeated(3.0, 0.5, 0.25))
    alone, four = (ScalingModel(work, 16).expected(Layout(ranks)) for ranks in (1, 4))
    assert (alone.forward_s, four.forward_s) == (3 * 16 + 1 + 32, 3 * 4 + 1 + 8)
    assert (alone.repeated_s, four.repeated_s) == (3 + 8 + 4, 3 + 2 + 4)


def test_trajectories_that_have_met_the_same_share_their_solves():
    model = ScalingModel(equal_units(openings=(1, 1, 1)), 16)
    assert model.expected(Layout(1)).forward_s == 3.0
    assert model.expected(Layout(1)).backward_s == 3 * 20.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.sampled_from(SHARINGS))
def test_nothing_is_faster_than_its_work_allows(seed, trajectories, ranks, sharing):
    random = np.random.default_rng(seed)
    work = Workload(
        tuple(random.exponential(size=5) for _ in range(3)),
        (*(tuple(random.exponential(size=(4, 3))) for _ in range(3)), ()),
        (),
        Repeated(0.1, own_s=0.01),
        Repeated(0.1, 0.01, 0.01),
        1000,
        1000,
    )
    model = ScalingModel(work, trajectories, seed=seed)
    layouts = [Layout(ranks, threads, per_machine=4, cores=cores) for threads in (1, 2) for cores in (2, 8)]
    for layout in layouts:
        assert model.expected(layout, sharing).seconds >= model.sequential_s / layout.cores_used - 1e-9
        assert model.efficiency(layout, sharing) <= 1 + 1e-9


@pytest.mark.parametrize("openings", [1, 4, 14, 15, 24, 25, 31])
def test_each_unit_of_a_real_training_is_recorded_once(openings):
    """A wrong number of blocks would leave a unit without its time, or have no place for it."""
    parts = [node(seed, f"s{seed}", count=openings) for seed in range(3)]
    problem = MultistageProblem.linear(parts, initial(3))
    work = record_workload(TrainingTask.checked(problem, Method(6), 1), 1.0)
    assert all(np.all(seconds > 0) for seconds in work.forward)
    assert all(np.all(blocks > 0) for trials in work.backward for blocks in trials)
    assert [{len(blocks) for blocks in trials} for trials in work.backward] == [
        *[{max(1, round(openings / 10 + 1e-9))}] * 3,
        set(),
    ]
    assert work.openings == (openings,) * 3


def test_a_graph_with_several_ways_and_one_trajectory_are_recorded_too():
    work = record_workload(TrainingTask.checked(markov(), Method(1), 1), 1.0)
    assert all(np.all(blocks > 0) for trials in work.backward for blocks in trials)
    assert ScalingModel(work, 20).expected(Layout(8)).seconds > 0


def test_recording_changes_no_bit():
    method = Method(5, 3)
    plain = train(chain(), 4, trajectories=5, seed=3, backend="local")
    task = TrainingTask.checked(chain(), method, 4)
    recorded = TrainingTask(
        task.structure, task.value_bounds, method, task.rule, engine=partial(RecordingEngine, _Record())
    )
    assert recorded.run(ExecutionOptions(backend="local")).bounds.tobytes() == plain.bounds.tobytes()
