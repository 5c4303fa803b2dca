"""Shared by all tests: a hypothesis profile that repeats itself, and nothing left behind."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from tests.mpi_launch import FOREIGN, MPICH, OPEN_MPI, ROOT, Ended, segments, turn
from tests.processes import DEADLINE_S, eventually, give_children_default_signals

EXAMPLE = ROOT / "examples" / "socket_backend"

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=300)
settings.register_profile("thorough", deadline=None, max_examples=20_000)
settings.load_profile(os.environ.get("COBRE_HYPOTHESIS_PROFILE", "repeatable"))

give_children_default_signals()


def _shared_memory() -> set[str]:
    """Our names in shared memory, without those of another run of these tests."""
    folder = Path("/dev/shm")
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    ours = f"cobre-test-{os.getpid()}-"
    return {
        name for name in names if "cobre" in name and (name.startswith(ours) or "cobre-test-" not in name)
    }


def _open_files() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@pytest.fixture
def socket_backend(tmp_path, monkeypatch):
    """The example backend, laid out as pip would install it, here and for processes started from here."""
    folder = tmp_path / "installed"
    info = folder / "cobre_socket_backend-1.0.dist-info"
    info.mkdir(parents=True)
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    [(name, target)] = project["entry-points"]["cobre.comm"].items()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[cobre.comm]\n{name} = {target}\n")
    for path in (ROOT, folder, EXAMPLE):
        monkeypatch.syspath_prepend(path)
        monkeypatch.setenv("PYTHONPATH", str(path), prepend=os.pathsep)
    return name


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    """No thread and no shared-memory name outlives the test that made it."""
    threads, names = set(threading.enumerate()), _shared_memory()
    yield
    assert set(threading.enumerate()) <= threads
    eventually(lambda: _shared_memory() <= names)  # those of tests beside this one come and go


@pytest.fixture(autouse=True, scope="session")
def _temporary_files_of_killed_processes():
    """What a killed process cannot remove goes with the tests. A short path, for sockets."""
    with tempfile.TemporaryDirectory(prefix="ct-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        yield


@pytest.fixture
def marked(monkeypatch):
    """Mark all processes that the test starts; returns a function that lists those still alive."""
    mark = f"COBRE_TEST_MARK={uuid.uuid4()}"
    monkeypatch.setenv(*mark.split("="))

    def alive():
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended, or is not ours
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append((int(folder.name), (folder / "cmdline").read_bytes()))
        return found

    return alive


@pytest.fixture
def start_process(tmp_path, marked):
    """Start a command in a process group of its own; it and its ranks end with the test."""
    started = []

    def start(*command):
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
    eventually(lambda: marked() == [])


@pytest.fixture
def no_process_and_no_file_is_left(marked):
    """No process, zombies included, and no open file outlives the test that made it."""
    files = _open_files()
    yield
    assert marked() == []
    eventually(lambda: _open_files() == files)  # Arrow's threads close theirs a moment after a table is read
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.fixture(params=[OPEN_MPI, MPICH], ids=lambda launcher: launcher.name)
def mpiexec(request, monkeypatch, tmp_path, start_process):
    """Run a body of a module, `tests.comm.mpi_program` unless given, on ranks that a real launcher starts."""
    launcher = request.param
    if not launcher.mpiexec.exists():
        pytest.skip(f"{launcher.name} is not installed; make test installs it")
    for variable in list(os.environ):
        if variable.startswith(FOREIGN) and not variable.startswith("COBRE_TEST_"):
            monkeypatch.delenv(variable)
    for variable, value in launcher.variables.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)

    def run(size, body, *arguments, within_s=DEADLINE_S, module="tests.comm.mpi_program"):
        program = [sys.executable, "-m", module, str(tmp_path), body]
        launch = [str(launcher.mpiexec), *launcher.options, "-n", str(size)]
        before = segments()
        process = start_process(*launch, *program, *map(json.dumps, arguments))
        out, err = process.communicate(timeout=within_s)
        at = time.time()
        found = [path for path in tmp_path.iterdir() if path.name.isdecimal()]
        results = {int(path.name): pickle.loads(path.read_bytes()) for path in found}
        left_behind = segments() - before
        for path in left_behind:  # an aborted job's: its library does not clean up after it
            path.unlink()
        return Ended(process.returncode, out, err, at, results, left_behind)

    run.launcher = launcher
    with turn():
        before = segments()
        yield run
        for path in segments() - before:  # of jobs that were aborted, see above
            path.unlink(missing_ok=True)
