"""A run of a case on workers: started once, lost at any place, and what is left then."""

import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import cobre
from cobre import results
from cobre.comm.launch import _payload, _ranks
from cobre.errors import OutputError, PolicyFileError, WorkerError
from cobre.sddp import ExecutionOptions, Policy, SimulationProgress, TrainingFinished
from cobre.sddp.problem import MultistageProblem
from cobre.study import RunPlan, Study, run_plan
from tests.processes import DEADLINE_S, eventually
from tests.study.cases import copy
from tests.study.run_bodies import DyingWriter, WaitingWriter

pytestmark = pytest.mark.usefixtures("no_process_and_no_file_is_left")

#: On an idle machine a rank that has died is reported within a second; the grace period is 30 s.
SOON_S = 5.0


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return copy("one-reservoir", tmp_path_factory.mktemp("cases") / "case", scenarios=40)


@pytest.fixture(scope="module")
def undisturbed(case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    cobre.run(case, output=folder)
    return folder


def policy_bytes(folder):
    return (folder / "policy/policy.cobre").read_bytes()


def counted(monkeypatch, owner, name):
    calls, original = [], getattr(owner, name)

    def counting(*args, **options):
        calls.append(args)
        return original(*args, **options)

    monkeypatch.setattr(owner, name, counting)
    return calls


def test_training_and_simulation_take_one_start_one_check_and_one_payload(case, monkeypatch, tmp_path):
    starts = counted(monkeypatch, _ranks.ProcessGroup, "start")
    checks = counted(monkeypatch, MultistageProblem, "findings")
    payloads = counted(monkeypatch, _payload, "_pickled")
    done = cobre.run(case, output=tmp_path, num_workers=2)
    assert done.simulation.scenarios == 40
    assert (len(starts), len(checks), len(payloads)) == (2, 1, 1)


def test_the_policy_of_a_run_is_read_from_its_file_when_first_used(case, undisturbed, tmp_path):
    done = cobre.run(case, output=tmp_path, num_workers=2)
    assert done.training.engine.source == tmp_path / "policy/policy.cobre"
    assert done.training.policy.bound == done.training.final_lower_bound
    assert policy_bytes(tmp_path) == policy_bytes(undisturbed)
    late = cobre.run(case, output=tmp_path, num_workers=2)
    limit = [{"type": "iteration_limit", "limit": 2}]
    cobre.run(case, {"training": {"stopping_rules": limit}}, output=tmp_path)
    with pytest.raises(PolicyFileError, match="another run has replaced"):
        _ = late.training.policy


def test_a_whole_run_does_not_wait_for_a_listener_that_blocks(case, tmp_path):
    """It blocks at the first event until the simulation is complete."""
    seen, manifest = [], tmp_path / "simulation/_manifest.json"

    def complete():
        return manifest.exists() and json.loads(manifest.read_text())["status"] == "complete"

    def listener(event):
        if not seen:
            eventually(complete)
        seen.append(event)

    cobre.run(case, output=tmp_path, num_workers=2, listeners=[listener])
    last = [event for event in seen if isinstance(event, SimulationProgress)][-1]
    assert last.done == last.total == 40


def lose_a_worker(case, folder, place, size=2):
    plan = RunPlan.of_run(Study.load(case), folder)
    with pytest.raises(WorkerError) as caught:
        run_plan(replace(plan, writer=DyingWriter(plan.writer, place)), ExecutionOptions(size))
    assert time.time() - (folder / "died").stat().st_mtime < SOON_S
    assert caught.value.signal == signal.SIGKILL
    return caught.value


@pytest.mark.parametrize("size", [2, 4])
def test_a_root_lost_while_it_saves_the_policy(case, undisturbed, size, tmp_path):
    assert lose_a_worker(case, tmp_path, "policy", size).rank == 0
    assert not (tmp_path / "policy/policy.cobre").exists()
    found = results.read(tmp_path, partial=True).manifest
    assert (found["status"], found["iterations"]["completed"]) == ("failed", 4)
    assert found["error"].startswith("WorkerError: rank 0 ")
    assert cobre.run(case, output=tmp_path, resume=True, num_workers=size).training.iterations == 4
    assert policy_bytes(tmp_path) == policy_bytes(undisturbed)


@pytest.mark.parametrize("size", [2, 4])
def test_a_root_lost_between_training_and_simulation(case, undisturbed, size, tmp_path):
    assert lose_a_worker(case, tmp_path, "between", size).rank == 0
    assert policy_bytes(tmp_path) == policy_bytes(undisturbed)
    assert results.read(tmp_path).manifest["status"] == "complete"
    again = cobre.run(case, {"training": {"enabled": False}}, output=tmp_path, num_workers=size)
    assert again.simulation.scenarios == 40


@pytest.mark.parametrize("size", [2, 4])
def test_a_worker_lost_in_the_simulation(case, undisturbed, size, tmp_path):
    error = lose_a_worker(case, tmp_path, "simulation", size)
    assert policy_bytes(tmp_path) == policy_bytes(undisturbed)
    found = results.read(tmp_path, partial=True).simulation_manifest
    assert (found["status"], found["error"]) == ("failed", f"WorkerError: {error}")
    for path in tmp_path.glob("simulation/*/*/data.parquet"):  # it was lost while it wrote
        pq.ParquetFile(path).read()


def workers(marked):
    """The pids of workers, by rank."""
    found = {}
    for pid, _ in marked():
        with suppress(OSError):
            entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            found |= {
                int(one.partition(b"=")[2]): pid for one in entries if one.startswith(b"COBRE_SHM_RANK=")
            }
    return found


@pytest.mark.parametrize("size", [2, 4])
def test_a_worker_lost_while_it_waits_for_the_root(case, undisturbed, size, tmp_path, marked):
    """Rank 0 finishes what it writes, and the policy is on disk."""
    died = []

    def kill(event):
        if isinstance(event, TrainingFinished):
            eventually((tmp_path / "waiting").exists)
            os.kill(workers(marked)[1], signal.SIGKILL)
            died.append(time.monotonic())
            (tmp_path / "go").touch()

    plan = RunPlan.of_run(Study.load(case), tmp_path)
    with pytest.raises(WorkerError, match="rank 1 was killed by SIGKILL"):
        run_plan(replace(plan, writer=WaitingWriter(plan.writer)), ExecutionOptions(size), [kill])
    assert time.monotonic() - died[0] < SOON_S
    assert policy_bytes(tmp_path) == policy_bytes(undisturbed)
    assert results.read(tmp_path, partial=True).manifest["status"] == "complete"


@pytest.mark.parametrize("phase", ["training", "simulation"])
@pytest.mark.parametrize("size", [2, 4])
def test_a_run_whose_parent_is_killed_leaves_nothing(phase, size, start_process, marked, tmp_path):
    many = {"iterations": 100_000} if phase == "training" else {"scenarios": 1_000_000}
    case, out = copy("one-reservoir", tmp_path / "case", **many), tmp_path / "out"
    process = start_process(sys.executable, "-m", "cobre", "run", str(case), "-o", str(out), "-w", str(size))
    sign = {
        "training": "policy/checkpoint.cobre",
        "simulation": "simulation/costs/scenario_id=0000/data.parquet",
    }
    eventually((out / sign[phase]).exists)
    process.kill()
    process.wait(DEADLINE_S)
    eventually(lambda: marked() == [])
    assert Policy.load(out / "policy/checkpoint.cobre").iterations >= 4
    shutil.rmtree(out)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_second_run_in_the_folder_of_a_live_one_is_refused(case, undisturbed, tmp_path, workers):
    """With and without resuming; the first run is not disturbed, and the folder is free afterwards."""

    def meanwhile(event):
        for resume in (False, True) if event.iteration == 2 and not event.worker_id else ():
            with pytest.raises(OutputError, match=rf"another run \(pid {os.getpid()} on .* writes to it"):
                cobre.run(case, output=tmp_path, resume=resume)
            refused.append(resume)

    refused = []
    cobre.run(case, output=tmp_path, num_workers=workers, progress_callback=meanwhile)
    assert refused == [False, True]
    assert policy_bytes(tmp_path) == policy_bytes(undisturbed)
    assert not (tmp_path / ".cobre.lock").exists()
