"""Runs that are killed, interrupted or ill begun: who is told what, and that no work is lost.

An undisturbed run, alone and on one thread, is the measure of every resumed one.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from cobre.comm.launch import _ranks
from cobre.errors import InvalidProblem, PolicyFileError, WorkerError
from cobre.lp import LinearProgram, Noise
from cobre.sddp import (
    AVaR,
    BoundStalling,
    Checkpoint,
    CheckpointWritten,
    EAVaR,
    Estimate,
    InSample,
    IterationFinished,
    LimitedMemoryLevel1,
    MultistageProblem,
    Node,
    Policy,
    Statistical,
    simulate,
    train,
)
from cobre.sddp._cuts import CutPool
from cobre.sddp._machine import Machine
from tests.mpi_launch import ROOT
from tests.processes import eventually, output_of
from tests.sddp.bits import Bits, first_difference
from tests.sddp.bodies import STUDIES, chain

#: Times that each test with a kill or an interruption is done; more for a thorough run: COBRE_CHAOS_TRIALS=50
TRIALS = range(max(1, int(os.environ.get("COBRE_CHAOS_TRIALS", "28")) // 28))


def run(name, stop=None, **where):
    """Train a study, stopping as it says itself unless told otherwise."""
    study = STUDIES[name]
    return train(study.problem, seed=11, **{**study.training, **({"stop": stop} if stop else {})}, **where)


@cache
def undisturbed(name, stop=None):
    return Bits.of(run(name, stop))


def check(name, trained, stop=None):
    """A run that was resumed has the bits of the undisturbed one."""
    difference = first_difference(undisturbed(name, stop), Bits.of(trained))
    assert difference is None, difference


# Going on.


class Copies:
    """A listener that keeps each checkpoint."""

    def __init__(self, folder):
        self.folder = folder
        self.paths = {}

    def __call__(self, event):
        if isinstance(event, CheckpointWritten):
            self.paths[event.iteration] = self.folder / f"after_{event.iteration}"
            shutil.copy(event.path, self.paths[event.iteration])


@pytest.mark.parametrize("name", ["level1", "lml1 multi", "domination", "markov", "circle", "given"])
def test_a_run_goes_on_from_any_iteration(name, tmp_path):
    """Selection's memory, mixtures, simulations that rules have asked for: all of it is in the checkpoint.

    The last checkpoint is that of a run that has ended: resumed, it ends at once, as it did.
    """
    copies = Copies(tmp_path)
    whole = run(name, checkpoint=Checkpoint(tmp_path / "checkpoint", every=1), listeners=[copies])
    check(name, whole)
    assert list(copies.paths) == list(range(1, whole.iterations + 1))
    for iteration, path in copies.paths.items():
        check(name, run(name, resume=path, threads=1 + iteration % 2))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("lml1 multi", {}, {"num_workers": 3, "backend": "shm", "threads": 2}),
        ("domination", {"num_workers": 3, "backend": "tcp"}, {"num_workers": 2, "threads": 2}),
        ("level1", {"num_workers": 3, "threads": 2}, {"num_workers": 2, "backend": "tcp"}),
        ("markov", {"num_workers": 2, "backend": "shm"}, {"threads": 4}),
    ],
    ids=["1 to 3", "3 to 2", "3 to 2 on tcp", "2 to 1"],
)
def test_a_run_goes_on_with_other_workers_and_threads(name, before, after, tmp_path):
    path = tmp_path / "checkpoint"
    run(name, 3, checkpoint=Checkpoint(path, every=2), **before)
    check(name, run(name, resume=path, checkpoint=path, **after))
    check(name, run(name, resume=path))  # of what the second session has left


def test_a_checkpoint_holds_what_is_finished_and_is_a_policy(tmp_path):
    path = tmp_path / "checkpoint"
    trained = run("plain", 5, checkpoint=Checkpoint(path, every=2))
    policy = Policy.load(path)
    assert policy.iterations == 5
    assert policy.bound == trained.bound
    problem = STUDIES["plain"].problem
    assert simulate(problem, policy, 3).table == simulate(problem, trained.policy, 3).table


def test_a_run_that_began_with_a_warm_start_goes_on(tmp_path):
    path = tmp_path / "checkpoint"
    policy = run("plain", 2).policy
    whole = run("plain", 6, warm_start=policy)
    run("plain", 3, warm_start=policy, checkpoint=path)
    assert first_difference(Bits.of(whole), Bits.of(run("plain", 6, resume=path))) is None


# A checkpoint of something else.


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    run("plain", 1, checkpoint=path)
    other = STUDIES["plain"].problem
    nudged = MultistageProblem.linear(other.nodes, {**other.initial_state, "v1": 3.0})
    with pytest.raises(PolicyFileError, match="checkpoint of another problem"):
        train(nudged, 2, trajectories=7, seed=11, resume=path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trajectories": 8}, "trajectories was 7, and is 8"),
        ({"seed": 12}, "seed was 11, and is 12"),
        ({"cuts": "multi"}, "cuts was 'single', and is 'multi'"),
        ({"risk": EAVaR(0.5, 0.5)}, "risk was"),
        ({"depth": 4}, "depth was None, and is 4"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_checkpoint_of_another_method_is_refused_in_words_that_say_what_differs(change, words, tmp_path):
    path = tmp_path / "checkpoint"
    run("plain", 1, checkpoint=path)
    with pytest.raises(PolicyFileError, match="set up differently") as caught:
        train(STUDIES["plain"].problem, 2, **{"trajectories": 7, "seed": 11, **change}, resume=path)
    assert words in str(caught.value)


def test_a_policy_is_no_checkpoint(tmp_path):
    path = tmp_path / "policy"
    run("plain", 1).policy.save(path)
    with pytest.raises(PolicyFileError, match="not a checkpoint; give it as warm_start"):
        run("plain", 2, resume=path)


def test_a_checkpoint_is_refused_on_workers_as_without(tmp_path):
    path = tmp_path / "checkpoint"
    run("plain", 1, checkpoint=path)
    with pytest.raises(PolicyFileError, match="trajectories was 7, and is 10"):
        train(STUDIES["plain"].problem, 2, resume=path, num_workers=2)


# Killed.


def pids_by_rank(marked):
    """The workers of a run, by their rank, which their environment tells."""
    found = {}
    for pid, _ in marked():
        with suppress(OSError):
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            pairs = dict(entry.split(b"=", 1) for entry in variables if b"=" in entry)
            rank = pairs.get(b"COBRE_SHM_RANK", pairs.get(b"COBRE_TCP_RANK"))
            if rank is not None:
                found[int(rank)] = pid
    return found


class Killer:
    """A listener that kills a worker after a checkpoint, and knows when that was."""

    def __init__(self, marked, rank, iteration, delay_s):
        self.marked, self.rank, self.iteration, self.delay_s = marked, rank, iteration, delay_s
        self.at = None

    def __call__(self, event):
        if isinstance(event, CheckpointWritten) and event.iteration >= self.iteration and self.at is None:
            victim = pids_by_rank(self.marked)[self.rank]
            time.sleep(self.delay_s)  # anywhere in an iteration
            self.at = time.monotonic()
            os.kill(victim, signal.SIGKILL)


@pytest.fixture
def no_temporary_file_is_left():
    folders = {Path(tempfile.gettempdir()), Path(os.environ["TMPDIR"])}

    def found():
        return {path for folder in folders for path in folder.glob("*cobre*")}

    before = found()
    yield
    eventually(lambda: found() <= before)  # those of tests beside this one come and go


@pytest.mark.usefixtures("no_process_and_no_file_is_left", "no_temporary_file_is_left")
@pytest.mark.parametrize("victim", [0, 1, 2])
@pytest.mark.parametrize("backend", ["shm", "tcp"])
@pytest.mark.parametrize("trial", TRIALS)
def test_a_killed_worker_is_named_and_its_work_is_not_lost(backend, victim, trial, marked, tmp_path):
    """Within two seconds; the last checkpoint is whole, and another number of workers goes on from it."""
    path = tmp_path / "checkpoint"
    delay_s = random.Random(f"{backend} {victim} {trial}").uniform(0, 0.03)
    killer = Killer(marked, victim, 4, delay_s)
    with pytest.raises(WorkerError) as caught:
        run(
            "domination",
            10_000,
            num_workers=3,
            backend=backend,
            checkpoint=Checkpoint(path, 1),
            listeners=[killer],
        )
    assert time.monotonic() - killer.at < 2.0
    assert caught.value.rank == victim
    assert caught.value.signal == signal.SIGKILL
    assert "SIGKILL" in str(caught.value)
    reached = Policy.load(path).iterations
    assert reached >= 4
    check("domination", run("domination", reached + 3, resume=path, num_workers=2), reached + 3)


# Interrupted.


@pytest.mark.parametrize(("backend", "workers"), [("auto", 0), ("shm", 1), ("shm", 2), ("tcp", 2)])
@pytest.mark.parametrize("trial", TRIALS)
def test_ctrl_c_ends_a_run_and_keeps_what_was_finished(  # noqa: PLR0917  what it takes
    backend, workers, trial, start_process, tmp_path, monkeypatch, marked
):
    """A real one: to all of a script's process group, anywhere in an iteration."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    path = tmp_path / "checkpoint"
    script = start_process(
        sys.executable, "-m", "tests.sddp.interrupted", "lml1 multi", str(path), backend, str(workers)
    )
    seen = [int(script.stdout.readline()) for _ in range(3)][-1]
    time.sleep(random.Random(f"{backend} {workers} {trial}").uniform(0, 0.1))
    os.killpg(script.pid, signal.SIGINT)
    code, out, err = output_of(script)
    seen = max([seen, *map(int, out.split())])
    assert code == -signal.SIGINT, err
    assert "KeyboardInterrupt" in err.splitlines()[-2], err
    assert err.splitlines()[-1] == (
        f"What was finished is in {path}: go on with train(..., resume={str(path)!r})."
    )
    assert marked() == []
    reached = Policy.load(path).iterations
    assert reached in (seen, seen + 1), err
    check("lml1 multi", run("lml1 multi", reached + 2, resume=path), reached + 2)


def test_sigterm_ends_a_run_and_keeps_what_was_finished(start_process, tmp_path, monkeypatch, marked):
    """As a scheduler ends a job: the launching process alone hears of it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    path = tmp_path / "checkpoint"
    script = start_process(sys.executable, "-m", "tests.sddp.interrupted", "plain", str(path), "shm", "2")
    seen = [int(script.stdout.readline()) for _ in range(3)][-1]
    script.send_signal(signal.SIGTERM)
    code, out, err = output_of(script)
    seen = max([seen, *map(int, out.split())])
    assert code == -signal.SIGTERM, err
    assert marked() == []
    assert Policy.load(path).iterations in (seen, seen + 1), err


#: Where an interruption strikes, and at which calls of it.
PLACES = [
    (InSample, "sample", (1, 3, 4)),
    (AVaR, "weights", (7, 18)),
    (Machine, "solve", (2, 7)),
    (CutPool, "append", (7, 14)),
    (LimitedMemoryLevel1, "keep", (9, 20)),
    (BoundStalling, "reached", (1, 3, 4)),
    (Statistical, "reached", (3, 4)),
    (Estimate, "of", (3, 4)),
    (Path, "replace", (1, 2)),  # the end of writing a checkpoint
]


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [(owner, name, call) for owner, name, calls in PLACES for call in calls],
    ids=lambda value: getattr(value, "__name__", value),
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interruption_anywhere_leaves_the_last_finished_iteration(  # noqa: PLR0917  what it takes
    owner, name, when, call, tmp_path, monkeypatch
):
    """On the way forward and back, in selection, while a rule decides, while a checkpoint is written."""
    original, calls = getattr(owner, name), count(1)

    def interrupting(*args, **kwargs):
        now = next(calls) == call
        if now and when == "before":
            raise KeyboardInterrupt
        result = original(*args, **kwargs)
        if now:
            raise KeyboardInterrupt
        return result

    path, finished = tmp_path / "checkpoint", []
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupting)
        with pytest.raises(KeyboardInterrupt):
            run("lml1 multi", checkpoint=Checkpoint(path, every=2), listeners=[finished.append])
    done = [event.iteration for event in finished if isinstance(event, IterationFinished)]
    if done:  # else nothing was finished, and nothing is there
        assert Policy.load(path).iterations in (done[-1], done[-1] + 1)
        check("lml1 multi", run("lml1 multi", resume=path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"] * bool(done)


# Ill begun.


def ill(**change):
    """A node with one state, and something wrong."""
    numbers = {
        "costs": [0.0, 1.0, 5.0],
        "matrix": [[1.0, -1.0, 1.0]],
        "row_lower": [1.0],
        "row_upper": [1.0],
        "column_upper": [np.inf, 4.0, np.inf],
    }
    noise = change.pop("noise", Noise())
    program = LinearProgram(**{**numbers, **change})
    return Node("ill", program, {"x": 0}, {"x": 1}, noise)


ILL = {
    "nan": (ill(costs=[0.0, np.nan, 5.0]), ["nan"]),
    "no realisations": (ill(noise=Noise.from_table([("rhs", 0)], np.empty((0, 1)))), ["no realisations"]),
    "nan in a realisation": (ill(noise=Noise(rhs={0: [1, np.nan]})), ["realisation 1", "nan"]),
    "bounds cross": (ill(column_lower=[0, 5, 0]), ["'x1'"]),
    "bounds cross in a realisation": (
        ill(noise=Noise(column_lower={1: [0, 6]}, rhs={0: [1, 2]})),
        ["realisation 1"],
    ),
    "several": (
        ill(costs=[np.inf, np.nan, 5.0], row_lower=[2.0]),
        ["inf", "nan", "'r0'"],
    ),
}


@pytest.fixture
def no_worker_may_start(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a worker was about to start")

    monkeypatch.setattr(_ranks.ProcessGroup, "start", refuse)


@pytest.mark.usefixtures("no_worker_may_start")
@pytest.mark.parametrize("which", ILL)
@pytest.mark.parametrize("workers", [None, 2])
def test_a_problem_that_is_not_well_formed_is_refused_before_any_worker_starts(which, workers):
    bad, words = ILL[which]
    problem = MultistageProblem.linear([bad], {"x": 1.0})
    policy = run("plain", 1).policy
    for call in (
        lambda: train(problem, 3, num_workers=workers),
        lambda: simulate(problem, policy, 3, num_workers=workers),
    ):
        with pytest.raises(InvalidProblem) as caught:
            call()
        for word in words:
            assert word in str(caught.value)


@pytest.mark.usefixtures("no_worker_may_start")
def test_all_findings_come_at_once_those_of_arguments_too():
    lost = Node("next", LinearProgram([1.0], [[1.0]]), noise=Noise(rhs={3: [1]}))
    bad = [ill(costs=[0.0, np.nan, 5.0]), lost]
    problem = MultistageProblem.linear(bad, {"x": np.inf})
    with pytest.raises(InvalidProblem) as caught:
        train(problem, 3, trajectories=0, seed=-1, risk={"nowhere": EAVaR(0.5, 0.5)}, num_workers=2)
    for word in ("nan", "no row 3", "state 'x' is inf", "trajectories is 0", "seed", "'nowhere'"):
        assert any(word in finding for finding in caught.value.findings), word


@pytest.mark.usefixtures("no_worker_may_start")
def test_a_value_without_a_bound_is_refused_before_any_worker_starts():
    """What follows is worth anything: the state has no bounds, and pays."""
    free = ill(costs=[-1.0, 0.0, 0.0], column_upper=np.inf)
    problem = MultistageProblem.linear([free, replace(free, name="end")], {"x": 1.0})
    with pytest.raises(InvalidProblem, match="give value_bound"):
        train(problem, 3, num_workers=2)


def test_workers_would_have_been_seen(no_worker_may_start):
    with pytest.raises(AssertionError, match="a worker was about to start"):
        train(chain(2), 1, num_workers=2)
