"""Advisory locks on files. The kernel releases them when their holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO


def open_locked(path: Path, without_locks: Callable[[], None] = lambda: None) -> IO[bytes]:
    """Open a file for reading and writing, made if need be, and lock it until it is closed.

    Args:
        path: the file; it is not followed if it is a link.
        without_locks: called if the file system has no locks.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be opened.
    """
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise
        except OSError:
            without_locks()
            return file
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # its last holder has just moved or removed it
