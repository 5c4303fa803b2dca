"""Shared by all tests: a hypothesis profile that repeats itself, and nothing left behind."""

import os
import signal
import subprocess
import tempfile
import threading
import tomllib
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from tests.processes import eventually

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "socket_backend"

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=300)
settings.register_profile("thorough", deadline=None, max_examples=20_000)
settings.load_profile(os.environ.get("COBRE_HYPOTHESIS_PROFILE", "repeatable"))


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
    assert _shared_memory() - names == set()


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
            # Ignored, if the tests were started in the background of a shell script.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  no threads here
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
    assert _open_files() == files
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
