"""Tasks on workers: their events, their errors, and listeners that block or fail."""

import signal
import threading
import time

import pytest

from cobre.comm.launch import _ranks
from cobre.errors import WorkerError
from cobre.sddp import (
    Checkpoint,
    CheckpointWritten,
    ExecutionOptions,
    IterationFinished,
    Policy,
    SavedTraining,
    execute,
    simulate_streaming,
    train,
)
from cobre.sddp._delivery import EventDelivery
from tests.processes import eventually
from tests.sddp.bodies import STUDIES
from tests.sddp.execution_bodies import DiesWhileAnotherIsBusy, EmitsAndFails, phases

pytestmark = pytest.mark.usefixtures("no_process_and_no_file_is_left")

PROBLEM = STUDIES["plain"].problem
#: On an idle machine a rank that has died is reported within a second; the grace period is 30 s.
SOON_S = 5.0


def events(count):
    return [CheckpointWritten("somewhere", number) for number in range(count)]


def deliver(listeners, count, error=None):
    with EventDelivery(listeners) as delivery:
        for event in events(count):
            delivery.put(event)
        if error is not None:
            raise error


def test_all_events_come_in_order_to_every_listener():
    one, other = [], []
    deliver([one.append, other.append], 1000)
    assert one == other == events(1000)


def test_a_listener_that_fails_gets_no_more_and_is_heard_in_the_end():
    seen, failing = [], []

    def fail(event):
        failing.append(event)
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        deliver([fail, seen.append], 3)
    assert (seen, failing) == (events(3), events(1))


def test_of_two_that_fail_both_are_heard_and_the_run_comes_first():
    def fail(event):
        raise LookupError("one")

    def leave(event):
        raise SystemExit("other")

    with pytest.raises(LookupError, match="one") as caught:
        deliver([fail, leave], 3)
    assert caught.value.__notes__ == ["Another listener has failed, too: SystemExit('other')"]
    with pytest.raises(RuntimeError, match="the run") as caught:
        deliver([fail], 1, RuntimeError("the run"))
    assert caught.value.__notes__ == ["A listener has failed, too: LookupError('one')"]


def test_without_listeners_there_is_no_thread():
    with EventDelivery([]):
        assert "cobre-events" not in {thread.name for thread in threading.enumerate()}


class Blocked:
    """A listener that blocks at its second event until it is released, and counts those it has got."""

    def __init__(self):
        self.count, self._released = 0, threading.Event()

    def __call__(self, event):
        self.count += 1
        if self.count == 2:
            assert self._released.wait(60)

    def release(self):
        self._released.set()
        eventually(lambda: "cobre-events" not in {thread.name for thread in threading.enumerate()})


def test_a_failure_does_not_wait_for_a_listener_that_blocks():
    blocked, begun = Blocked(), time.monotonic()
    with pytest.raises(RuntimeError, match="the run"):
        deliver([blocked], 5, RuntimeError("the run"))
    assert time.monotonic() - begun < SOON_S
    blocked.release()
    assert blocked.count == 2  # whoever has been told of the failure is called no more


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_dead_worker_is_reported_while_a_listener_blocks(victim, size, tmp_path):
    task, blocked = EmitsAndFails(tmp_path / "died", victim), Blocked()
    with pytest.raises(WorkerError) as caught:
        execute(task, ExecutionOptions(size), blocked)
    assert time.time() - (tmp_path / "died").stat().st_mtime < SOON_S
    assert (caught.value.rank, caught.value.signal) == (victim, signal.SIGKILL)
    blocked.release()
    assert blocked.count <= 2


def test_training_does_not_wait_for_a_listener_that_blocks(tmp_path):
    """It blocks until the last checkpoint is there: many more events than the channel holds."""
    path, seen = tmp_path / "checkpoint", []

    def listener(event):
        seen.append(event)
        if len(seen) == 2:
            eventually(lambda: path.exists() and Policy.load(path).iterations == 400)

    train(PROBLEM, 400, trajectories=1, checkpoint=Checkpoint(path, 400), num_workers=2, listeners=listener)
    numbers = [event.iteration for event in seen if isinstance(event, IterationFinished)]
    assert numbers == list(range(1, 401))


@pytest.mark.parametrize("size", [2, 4])
def test_workers_wait_for_the_root_longer_than_a_collective_would(size, monkeypatch):
    monkeypatch.setenv("COBRE_SHM_TIMEOUT_SECS", "2")  # for the assembly too, on a busy machine
    assert execute(phases, ExecutionOptions(size)) == size


@pytest.mark.parametrize("size", [2, 4])
def test_a_worker_lost_in_a_simulation_is_reported_at_once(size, tmp_path):
    """Rank 0 is in the middle of a batch, and has nothing to save that were worth waiting for."""
    policy = train(PROBLEM, 1, trajectories=2).policy
    recorder = DiesWhileAnotherIsBusy(tmp_path / "died")
    with pytest.raises(WorkerError) as caught:
        simulate_streaming(PROBLEM, policy, recorder, 100, num_workers=size)
    assert time.time() - (tmp_path / "died").stat().st_mtime < SOON_S
    assert caught.value.signal == signal.SIGKILL


def test_workers_are_started_once_for_a_task(monkeypatch):
    starts, start = [], _ranks.ProcessGroup.start

    def counted(group, *args, **options):
        starts.append(args)
        return start(group, *args, **options)

    monkeypatch.setattr(_ranks.ProcessGroup, "start", counted)
    execute(phases, ExecutionOptions(2))
    assert len(starts) == 2


def test_ranks_and_workers_cannot_both_be_given():
    with pytest.raises(ValueError, match="not both"):
        train(PROBLEM, 1, comm=object(), num_workers=2)


def test_a_checkpoint_keeps_no_estimate_of_the_time_that_was_left(tmp_path):
    path = tmp_path / "checkpoint"
    trained = train(PROBLEM, 3, trajectories=2, checkpoint=path)
    assert trained.log[0].remaining is not None
    saved = SavedTraining.load(path).history
    assert [event.remaining for event in saved.log] == [None] * 3
    assert [event.bound for event in saved.log] == trained.bounds.tolist()
