"""Ranks of a study that differ: one error on each of them, nothing written; whose output folder counts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cobre.cli import _exit
from cobre.comm.launch import group_environments
from tests.cli.commands import COBRE
from tests.cli.commands import cobre as command
from tests.mpi_launch import FOREIGN
from tests.processes import DEADLINE_S, output_of
from tests.study.cases import copy

#: Every rank runs this, and finds its arguments and a place for its error in a folder.
PROGRAM = """
import json, os, sys, cobre
from pathlib import Path
variables = "COBRE_SHM_RANK", "COBRE_TCP_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"
rank = next(os.environ[name] for name in variables if name in os.environ)
folder = Path(sys.argv[1])
try:
    cobre.run(**json.loads((folder / f"arguments{rank}").read_text()))
except cobre.CobreError as error:
    (folder / f"error{rank}").write_text(json.dumps([type(error).__name__, error.kind, str(error)]))
    sys.exit(3)
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for variable in list(os.environ):
        if variable.startswith(FOREIGN):
            monkeypatch.delenv(variable)


@pytest.fixture
def arguments(tmp_path):
    """Arguments of `cobre.run` on rank 0 and rank 1, which differ in nothing but the names of folders."""
    folders = [copy("one-reservoir", tmp_path / f"case{rank}", iterations=2, scenarios=3) for rank in (0, 1)]
    return [{"case": str(case), "output": str(tmp_path / f"out{rank}")} for rank, case in enumerate(folders)]


@pytest.fixture
def program(tmp_path, arguments):
    """Returns the command of a rank; called when the arguments are as they should be."""

    def finished():
        for rank, given in enumerate(arguments):
            (tmp_path / f"arguments{rank}").write_text(json.dumps(given))
        (tmp_path / "program.py").write_text(PROGRAM)
        return [sys.executable, str(tmp_path / "program.py"), str(tmp_path)]

    return finished


def by_hand(backend, *commands):
    """Exit code and stderr of ranks that nobody ends when another fails."""
    with group_environments(backend, len(commands)) as environments:
        ranks = [
            subprocess.Popen(one, env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True)
            for one, variables in zip(commands, environments, strict=True)
        ]
        return [(code, err) for code, _, err in map(output_of, ranks)]


def errors_in(folder):
    return [json.loads((folder / f"error{rank}").read_text()) for rank in range(2)]


def check_refusals(folder, *words):
    errors = errors_in(folder)
    assert errors[0] == errors[1]
    assert errors[0][:2] == ["InitializationFailed", "IncompatibleSettings"]
    for word in words:
        assert word in errors[0][2]
    assert not list(folder.glob("out*"))


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_different_settings_are_named(arguments, program, tmp_path, backend):
    arguments[1]["config_overrides"] = {"training": {"tree_seed": 77, "forward_passes": 5}}
    assert [code for code, _ in by_hand(backend, program(), program())] == [3, 3]
    passes, seed = "training.forward_passes: 3 on rank 0, 5 on", "training.tree_seed: 1 on rank 0, 77 on"
    check_refusals(tmp_path, passes, seed)


def test_different_cases_are_named_under_mpi(mpiexec, arguments, program, tmp_path):
    arguments[1]["case"] = str(copy("cascade", tmp_path / "other", iterations=2, scenarios=3))
    launcher = mpiexec.launcher
    started = [str(launcher.mpiexec), *launcher.options, "-n", "2", *program()]
    subprocess.run(started, capture_output=True, timeout=DEADLINE_S, check=False)
    check_refusals(tmp_path, "\n  - problem: ")


def test_what_one_rank_cannot_read_ends_all(arguments, program, tmp_path):
    arguments[1]["case"] = str(tmp_path / "nowhere")
    assert [code for code, _ in by_hand("tcp", program(), program())] == [3, 3]
    errors = errors_in(tmp_path)
    assert [error[0] for error in errors] == ["InitializationFailed", "IOError"]
    assert f"rank 1 cannot start: IOError: {arguments[1]['case']}: there is no such folder" in errors[0][2]
    assert not list(tmp_path.glob("out*"))


def test_only_the_output_folder_of_rank_0_counts(arguments, program, tmp_path):
    """The others write there too; what an earlier run has left in theirs does not matter."""
    checkpoint = Path(arguments[1]["output"], "policy", "checkpoint.cobre")
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_text("of an interrupted run")
    for backend, resume in (("shm", False), ("tcp", True)):
        for given in arguments:
            given["resume"] = resume
        assert [code for code, _ in by_hand(backend, program(), program())] == [0, 0]
        manifest = json.loads((tmp_path / "out0" / "simulation" / "_manifest.json").read_text())
        assert manifest["status"] == "complete"
        assert list((tmp_path / "out1").rglob("*.*")) == [checkpoint]


def test_one_rank_that_resumes_alone_is_named(arguments, program, tmp_path):
    assert [code for code, _ in by_hand("shm", program(), program())] == [0, 0]
    arguments[1]["resume"] = True
    assert [code for code, _ in by_hand("shm", program(), program())] == [3, 3]
    errors = errors_in(tmp_path)
    assert errors[0] == errors[1]
    assert "\n  - start: null on rank 0, " in errors[0][2]


def test_a_rank_prints_with_its_number_what_rank_0_has_not(monkeypatch, arguments):
    monkeypatch.setattr(_exit, "PATIENCE_S", 0.0)
    monkeypatch.setenv("COBRE_TCP_RANK", "1")
    monkeypatch.setenv("COBRE_TCP_SIZE", "2")
    code, _, err = command("run", arguments[0]["case"])
    assert code == 2
    assert err.startswith("error on rank 1: backend 'tcp' is not configured:")


def test_rank_0_prints_for_all_what_differs(arguments, tmp_path):
    """And what one of them cannot read."""
    settings = tmp_path / "case1" / "config.json"
    settings.write_text(settings.read_text().replace('"tree_seed": 1', '"tree_seed": 77'))
    for words in ("training.tree_seed: 1 on rank 0, 77 on rank 1", "rank 1 cannot start: CaseError: "):
        runs = [[*COBRE, "run", "--quiet", given["case"]] for given in arguments]
        (code, err), (other_code, silent) = by_hand("shm", *runs)
        assert (code, err.count(words), silent) == (2, 1, ""), err + silent
        assert other_code in {1, 2}
        settings.write_text("{}")


def test_a_traceback_of_one_of_several_ranks_has_its_number(monkeypatch):
    monkeypatch.setenv("COBRE_TCP_RANK", "1")
    monkeypatch.setenv("COBRE_TCP_SIZE", "2")
    error = ZeroDivisionError()
    _exit.note_rank(error)
    assert error.__notes__ == ["On rank 1 of 2."]
