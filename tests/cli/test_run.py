"""``cobre run`` and ``cobre validate`` as users run them: real folders, real signals, exit codes."""

import json
import os
import resource
import shlex
import signal
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobre import results
from cobre.sddp import Policy
from tests.cli.commands import COBRE, cobre, cobre_process
from tests.processes import eventually, output_of
from tests.study.cases import copy

pytestmark = pytest.mark.usefixtures("no_process_and_no_file_is_left")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return copy("one-reservoir", tmp_path_factory.mktemp("cases") / "case")


@pytest.fixture(scope="module")
def alone(case, tmp_path_factory):
    """The output of one process."""
    folder = tmp_path_factory.mktemp("alone")
    assert cobre("run", case, "--output", folder)[0] == 0
    return folder


def same(one, two):
    """Whether two folders have the same policy and the same simulated tables."""
    a, b = results.read(one), results.read(two)
    return a.policy_path.read_bytes() == b.policy_path.read_bytes() and all(
        a.simulation(name).equals(b.simulation(name)) for name in a.tables
    )


def test_a_run_says_what_it_did_and_where_it_is(case, alone, tmp_path):
    code, out, err = cobre_process("run", case, "--output", tmp_path / "out", "--workers", 2, "--threads", 2)
    assert code == 0, err
    assert out.splitlines()[0].startswith("trained: 4 iterations in ")
    assert out.splitlines()[1].startswith("simulated: 5 scenarios in ")
    assert f"written to {tmp_path / 'out'}" in out.splitlines()
    assert f"{case}: 12 stages, 1 hydro plant, 3 thermal plants, 1 bus" in err
    assert same(alone, tmp_path / "out")


def test_the_output_is_in_the_case_unless_it_is_said_where(tmp_path):
    copy("one-reservoir", tmp_path / "case", iterations=1, scenarios=0)
    assert cobre("run", "case", cwd=tmp_path)[0] == 0
    assert results.read(tmp_path / "case" / "output").manifest["status"] == "complete"
    assert cobre("run", "case", cwd=tmp_path)[0] == 0  # an output in it does not spoil a case


def test_a_case_without_training_and_simulation_is_only_checked(tmp_path):
    """Nothing is written, not even a lock; what a run would refuse is told."""
    folder = copy("one-reservoir", tmp_path / "case", scenarios=0, training={"enabled": False})
    code, out, err = cobre("run", folder)
    assert (code, err.count("warning")) == (0, 0)
    assert out.strip().endswith(
        "is valid; nothing was run, as training.enabled and simulation.enabled are false"
    )
    assert not (folder / "output").exists()
    code, out, _ = cobre("run", folder, "--output-format", "json", "--workers", 2)
    found = json.loads(out)
    assert (code, found["training"], found["simulation"], found["next"]) == (0, None, None, [])
    assert not (folder / "output").exists()
    (folder / "penalties.json").unlink()
    assert cobre("run", folder)[0] == 1


@pytest.mark.parametrize("backend", ["shm", "tcp", "socket"])
@pytest.mark.usefixtures("socket_backend")
def test_it_joins_the_ranks_that_cobre_launch_has_started(case, alone, backend, tmp_path):
    command = [*COBRE, "run", str(case), "--output", str(tmp_path / "out")]
    code, out, err = cobre("launch", "-n", 2, "--backend", backend, "--", *command)
    assert code == 0, err
    assert out.count("written to") == 1
    assert err.count("12 stages") == 1
    assert results.read(tmp_path / "out").manifest["distribution"]["world_size"] == 2
    assert same(alone, tmp_path / "out")


@pytest.mark.parametrize(
    ("number", "workers"), [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 2), (signal.SIGHUP, 1)]
)
def test_an_interrupted_run_says_how_to_go_on(number, workers, start_process, tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=100_000, scenarios=0)
    checkpoint = tmp_path / "out/policy/checkpoint.cobre"
    process = start_process(*COBRE, "run", str(case), "-o", str(tmp_path / "out"), "-w", str(workers))
    eventually(checkpoint.exists)
    process.send_signal(number)
    code, _, err = output_of(process)
    assert code == 128 + number, err
    words, command = err.splitlines()[-2:]
    assert words == f"interrupted; finished iterations are saved in {checkpoint}"
    assert "Traceback" not in err
    manifest = json.loads((tmp_path / "out/training/_manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert "interrupted after" in manifest["error"]
    assert manifest["iterations"]["completed"] > 0

    config = json.loads((case / "config.json").read_text())
    finished = Policy.load(checkpoint).iterations
    assert len(pq.read_table(tmp_path / "out/training/convergence.parquet")) >= finished
    config["training"]["stopping_rules"][0]["limit"] = finished + 2
    (case / "config.json").write_text(json.dumps(config))
    said, *arguments = shlex.split(command.removeprefix("resume with: "))
    assert said == "cobre"
    code, out, err = cobre(*arguments)
    assert code == 0, err
    assert f"trained: {finished + 2} iterations" in out


def test_a_run_outlives_who_reads_its_progress(tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=60, scenarios=0)
    command = shlex.join([*COBRE, "run", str(case), "-o", str(tmp_path / "out")])
    subprocess.run(["bash", "-c", f"{command} 2>&1 | head -1"], capture_output=True, timeout=60, check=True)
    assert results.read(tmp_path / "out").manifest["iterations"]["completed"] == 60


def test_a_scheduler_that_signals_all_ranks_of_mpi(mpiexec, start_process, marked, tmp_path):
    """As srun does before the time is up: it is saved, and the job ends with the code that says so."""
    case = copy("one-reservoir", tmp_path / "case", iterations=100_000, scenarios=0)
    checkpoint, launcher = tmp_path / "out/policy/checkpoint.cobre", mpiexec.launcher
    run = [*COBRE, "run", str(case), "-o", str(tmp_path / "out")]
    process = start_process(str(launcher.mpiexec), *launcher.options, "-n", "2", *run)
    eventually(checkpoint.exists)
    words = [(pid, Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")) for pid, _ in marked()]
    ranks = [pid for pid, line in words if line[1:4] == [b"-m", b"cobre", b"run"]]
    assert len(ranks) == 2
    for pid in ranks:
        os.kill(pid, signal.SIGTERM)
    code, _, err = output_of(process)
    assert code == 128 + signal.SIGTERM, err
    assert f"interrupted; finished iterations are saved in {checkpoint}" in err
    assert Policy.load(checkpoint).iterations > 0


# Mistakes


def broken(change):
    """A case folder in which something is wrong."""

    def make(folder):
        change(copy("one-reservoir", folder))
        return folder

    return make


def edit(file, change):
    def apply(folder):
        path = folder / file
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return broken(apply)


def table(file, change):
    def apply(folder):
        pq.write_table(change(pq.read_table(folder / file)), folder / file)

    return broken(apply)


INFLOWS = "scenarios/inflow_seasonal_stats.parquet"
MISTAKES = {
    "wrong path": (lambda folder: folder, "there is no such folder"),
    "missing file": (broken(lambda folder: (folder / "stages.json").unlink()), "the file is missing"),
    "bad JSON": (
        broken(lambda folder: (folder / "penalties.json").write_text('{"bus": \n  oops}')),
        "line 2, column 3",
    ),
    "unknown id": (
        edit("system/thermals.json", lambda file: file["thermals"][0].update(bus_id=99)),
        "there is no bus 99",
    ),
    "cycle": (
        edit(
            "system/hydros.json", lambda file: file["hydros"][0].update(downstream_id=file["hydros"][0]["id"])
        ),
        "downstream",
    ),
    "negative capacity": (
        edit("system/thermals.json", lambda file: file["thermals"][0]["generation"].update(max_mw=-1.0)),
        "must be at least 0",
    ),
    "missing column": (table(INFLOWS, lambda rows: rows.drop_columns("std_m3s")), "std_m3s"),
    "wrong type": (
        table(
            INFLOWS,
            lambda rows: rows.set_column(
                rows.column_names.index("mean_m3s"), "mean_m3s", pa.array(["much"] * len(rows))
            ),
        ),
        "mean_m3s",
    ),
    "no stages": (edit("stages.json", lambda file: file.update(stages=[])), "stages"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_case_is_told_without_a_traceback(name, tmp_path):
    make, words = MISTAKES[name]
    case = make(tmp_path / "case")
    code, out, err = cobre("run", case, "--output", tmp_path / "out")
    assert code == (3 if name == "wrong path" else 1), err
    assert words in err
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "out").exists()  # nothing is lost, nothing is begun


@pytest.mark.parametrize(
    ("name", "code", "backend"),
    [("missing file", 1, "shm"), ("wrong path", 3, "shm"), ("missing file", 1, "socket")],
)
@pytest.mark.usefixtures("socket_backend")
def test_a_mistake_is_told_once_for_all_ranks(name, code, backend, tmp_path):
    make, words = MISTAKES[name]
    found, _, err = cobre(
        "launch", "-n", 3, "--backend", backend, "--", *COBRE, "run", str(make(tmp_path / "case"))
    )
    assert found == code
    assert err.count(words) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_an_output_that_cannot_be_written(case, workers, tmp_path):
    (tmp_path / "out").write_text("in the way")
    code, _, err = cobre("run", case, "--output", tmp_path / "out", "--workers", workers)
    assert code == 3
    assert err.count("error: ") == 1
    assert "Traceback" not in err
    assert (tmp_path / "out").read_text() == "in the way"


def test_a_full_disk(tmp_path):
    """As a limit on the size of files, which the kernel enforces in the same place."""
    case = copy("one-reservoir", tmp_path / "case", iterations=30, passes=20)
    code, _, err = cobre_process(
        "run",
        case,
        "--output",
        tmp_path / "out",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
    )
    assert code == 3, err
    assert "Traceback" not in err
    assert "cannot be written" in err
    assert json.loads((tmp_path / "out/training/_manifest.json").read_text())["status"] == "failed"


def test_validation_reports_the_ranges_of_numbers(case, tmp_path):
    code, out, err = cobre("validate", case, "--numerics", env={**os.environ, "COLUMNS": "200"})
    assert (code, err) == (0, "")
    assert out.endswith(f"{case} is valid: 0 errors, 0 warnings\n")
    assert all(part in out for part in ("coefficients", "costs", "bounds", "right-hand sides"))
    penalties = json.loads((case / "penalties.json").read_text())
    penalties["hydro"]["spillage_cost"] = 1e-9
    doubtful = copy("one-reservoir", tmp_path / "doubtful")
    (doubtful / "penalties.json").write_text(json.dumps(penalties))
    assert json.loads(cobre("validate", doubtful, "-f", "json")[1])["warnings"] == []
    report = json.loads(cobre("validate", doubtful, "-f", "json", "--numerics")[1])
    (warning,) = report["warnings"]
    assert "spilled:0:0" in warning["entity"]
    assert "so small that the solver may take it for 0" in warning["message"]
    (costs,) = (one for one in report["numerics"] if one["part"] == "costs")
    assert 1e-9 * 672 <= costs["least"]["size"] <= 1e-9 * 744  # the hours of a month


def test_validation_lists_all_for_people_and_for_programs(case, tmp_path):
    assert cobre("validate", case)[:2] == (0, f"{case} is valid: 0 errors, 0 warnings\n")
    bad = MISTAKES["unknown id"][0](tmp_path / "bad")
    (bad / "stages.json").unlink()
    code, out, err = cobre("validate", bad, env={**os.environ, "COLUMNS": "200"})
    assert (code, err) == (1, "")
    assert "there is no bus 99" in out
    assert "the file is missing" in out
    assert out.endswith(f"{bad} is not valid: 2 errors, 0 warnings\n")
    code, out, err = cobre("validate", bad, "--output-format", "json")
    report = json.loads(out)
    assert (code, report["valid"], report["layers_completed"]) == (1, False, 0)
    assert {finding["kind"] for finding in report["errors"]} == {"missing_file", "reference"}
    assert cobre("validate", tmp_path / "nothing")[0] == 3
