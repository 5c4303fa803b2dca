"""The lock of an output folder: one run at a time, and none after its holder's death."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from cobre.errors import OutputError
from cobre.results import exclusive_output

HOLDER = """
import sys, time
from pathlib import Path
from cobre.results import exclusive_output
with exclusive_output(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holding(folder):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, folder], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_told_who_the_first_is(tmp_path):
    with holding(tmp_path) as holder:
        try:
            with pytest.raises(OutputError, match=rf"another run \(pid {holder.pid} on .*Wait until"):
                exclusive_output(tmp_path).__enter__()
        finally:
            holder.kill()


def test_a_killed_holder_leaves_the_folder_to_the_next(tmp_path):
    with holding(tmp_path) as holder:
        holder.send_signal(signal.SIGKILL)
    with exclusive_output(tmp_path):
        assert str(os.getpid()) in (tmp_path / ".cobre.lock").read_text()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_made_for_the_lock_alone_is_removed(tmp_path):
    folder = tmp_path / "new" / "output"
    with exclusive_output(folder):
        assert folder.is_dir()
    assert not folder.parent.exists()
    with exclusive_output(folder):
        (folder / "table").touch()
    assert [path.name for path in folder.iterdir()] == ["table"]


def test_a_file_system_without_locks_is_told_of(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(UserWarning, match="has no locks; make sure that no other run"):
        exclusive_output(tmp_path).__enter__()


TAKES_TURNS = """
import sys
from pathlib import Path
from cobre.errors import OutputError
from cobre.results import exclusive_output
folder, entered = Path(sys.argv[1]), 0
inside = folder.with_name("inside")
for _ in range(200):
    try:
        with exclusive_output(folder):
            inside.touch(exist_ok=False)  # fails if another holds the lock, too
            inside.unlink()
    except OutputError:
        continue
    entered += 1
print(entered)
"""


def test_there_is_never_more_than_one_holder(tmp_path):
    """Holders remove the file while others are opening it."""
    command = [sys.executable, "-c", TAKES_TURNS, str(tmp_path / "output")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    entered = [int(process.communicate()[0] or 0) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sum(entered) >= 200
