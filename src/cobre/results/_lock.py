"""Lock of an output folder: two runs never write to it at once."""

from __future__ import annotations

import json
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cobre.errors import OutputError
from cobre.file_locks import open_locked
from cobre.results._files import make_folder
from cobre.results._manifest import now

#: Hidden, so that it is not taken for a result.
LOCK = ".cobre.lock"


@contextmanager
def exclusive_output(folder: Path) -> Iterator[None]:
    """Hold the lock of an output folder, so that no other run plans on or changes what is in it.

    A folder that is made for the lock and still empty at the end is removed again.

    Raises:
        OutputError: another run holds the lock, or the folder cannot be written.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    make_folder(folder)
    try:
        with _holding(folder):
            yield
    finally:
        with suppress(OSError):  # it has results
            for place in missing:
                place.rmdir()


@contextmanager
def _holding(folder: Path) -> Iterator[None]:
    path = folder / LOCK
    try:
        file = open_locked(path, lambda: _warn(folder))
    except BlockingIOError:
        remedy = "Wait until that has ended, or choose another output folder"
        raise OutputError(str(folder), f"{_holder(path)} writes to it", remedy) from None
    except OSError as error:
        raise OutputError(str(folder), error.strerror or str(error)) from error
    with file:
        file.truncate()
        file.write(json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "since": now()}).encode())
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _holder(path: Path) -> str:
    try:
        found = json.loads(path.read_bytes())
        return f"another run (pid {found['pid']} on {found['host']}, since {found['since']})"
    except (OSError, ValueError, KeyError):  # it has just begun, or ended
        return "another run"


def _warn(folder: Path) -> None:
    words = f"the file system of {folder} has no locks; make sure that no other run writes to this folder"
    warnings.warn(words, stacklevel=2)
