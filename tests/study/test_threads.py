"""Threads of a run: the default, its reason in the header, and the warning about too many."""

import os

import pytest

import cobre
from cobre.comm import threads
from cobre.errors import InvalidProblem
from cobre.sddp import TrainingStarted
from tests.cli.commands import cobre as command
from tests.cli.commands import cobre_process
from tests.study.cases import copy

CPUS = len(os.sched_getaffinity(0))


@pytest.fixture
def case(tmp_path):
    return copy("one-reservoir", tmp_path / "case", iterations=1, scenarios=0, passes=2)


@pytest.fixture
def scheduler_silent(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")


def start_of(case, **options):
    events = []
    cobre.train(case, listeners=[events.append], **options)
    return next(event for event in events if isinstance(event, TrainingStarted))


@pytest.mark.usefixtures("scheduler_silent")
def test_a_run_uses_the_cpus_of_the_machine_shared_by_its_workers(case):
    alone, both = start_of(case), start_of(case, num_workers=2)
    assert (alone.threads, alone.threads_reason) == (CPUS, f"{CPUS} CPU{'s' * (CPUS > 1)}")
    assert (both.ranks, both.threads) == (2, max(1, CPUS // 2))
    assert both.threads_reason.endswith(" shared by 2 ranks")


def test_workers_use_what_this_process_has_set(case, monkeypatch):
    monkeypatch.setattr(threads, "_set_by_program", None)
    cobre.set_threads(3)
    for workers in (None, 2):
        assert start_of(case, num_workers=workers).threads == 3
    assert start_of(case, threads=1).threads == 1


@pytest.mark.parametrize("workers", [None, 2])
def test_more_threads_than_cpus_are_warned_of_before_the_run(case, workers):
    with pytest.warns(UserWarning, match=rf"with \d+ threads in all share {CPUS} CPU"):
        cobre.train(case, threads=CPUS + 1, num_workers=workers)


def test_the_command_says_threads_reason_and_warning(case, tmp_path):
    output = tmp_path / "out"
    code, out, err = cobre_process("run", case, "--output", output, "--threads", CPUS + 1)
    assert code == 0, err
    assert f"1 rank of {CPUS + 1} threads (as requested) over local" in out + err
    assert err.count(f"warning: 1 rank with {CPUS + 1} threads in all share {CPUS} CPU") == 1
    assert "UserWarning" not in err


@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=" ".join)
def test_a_malformed_variable_is_refused_before_anything_is_written(case, tmp_path, monkeypatch, options):
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "all")
    output = tmp_path / "out"
    code, _, err = command("run", case, "--output", output, "--quiet", *options)
    assert code != 0
    assert err.count("SLURM_CPUS_PER_TASK is 'all'; it must be a whole number, at least 1") == 1
    assert not output.exists()
    with pytest.raises(InvalidProblem):
        cobre.train(case)
    assert start_of(case, threads=1).threads == 1
    assert "Threads: none, because SLURM_CPUS_PER_TASK is 'all'" in command("comm", "info")[1]


def test_comm_info_has_threads_and_reason():
    assert "Threads of one rank: 1 (OMP_NUM_THREADS is 1)" in command("comm", "info")[1]
