"""Rendezvous of a shared-memory group: ranks find rank 0's segment.

The segment itself never has a name: rank 0 makes it anonymous (a memfd), and the others open it
through rank 0's entry in ``/proc``, which only the same user can. All they need is a note saying
which process and which descriptor. The note lies either

- in a file of the agreed name in ``/dev/shm``, readable by this user only, and removed as soon as all
  have come. Rank 0 keeps it locked: a note without a lock has lost its rank 0, and whoever finds it removes
  it; or
- in an anonymous file of the process that started the ranks, named like ``/proc/4711/fd/5``. Then no
  name ever exists, and nothing can remain even if everybody is killed in the same moment.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import stat
import struct
import time
import zlib
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self

from cobre.errors import InitializationFailed

_FOLDER = "/dev/shm"  # noqa: S108  where Linux keeps POSIX shared memory
_INHERITED = re.compile(r"/proc/[0-9]+/fd/[0-9]+")
_MAGIC = b"cobre\x01"
_FORMAT = struct.Struct("<6sIIiIQQI")  # magic, the fields of a note, checksum of all before


class Note(NamedTuple):
    """Note with the location of rank 0's segment."""

    generation: int  # counts the groups that used the same place one after the other
    size: int
    pid: int
    fd: int
    token: int
    slot_bytes: int

    def pack(self) -> bytes:
        """Encode the note, with a checksum that detects a partial write."""
        body = _FORMAT.pack(_MAGIC, *self, 0)[:-4]
        return body + struct.pack("<I", zlib.crc32(body))

    @classmethod
    def unpack(cls, data: bytes) -> Note | None:
        """Decode a note; None if it is not complete."""
        if len(data) != _FORMAT.size:
            return None
        magic, *fields, checksum = _FORMAT.unpack(data)
        return cls(*fields) if magic == _MAGIC and checksum == zlib.crc32(data[:-4]) else None


#: Number of groups that this process has joined through each anonymous file, by device and inode, since a
#: descriptor's number, and with it the name, may be reused for another file.
_generations: dict[tuple[int, int], int] = {}


class Rendezvous:
    """Place of the note, under the name given to all ranks."""

    def __init__(self, name: str) -> None:
        self._inherited = _INHERITED.fullmatch(name) is not None
        self._path = name if self._inherited else _FOLDER + name
        self._held = -1  # descriptor of the own note, locked
        self._generation = self._next_generation() if self._inherited else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave no note behind, neither an own one nor that of a rank 0 which has been killed."""
        self.remove()
        if error is not None and not self._inherited:
            self._remove_abandoned()

    def _next_generation(self) -> int:
        try:
            file = os.stat(self._path)
        except OSError as exc:
            raise InitializationFailed(
                "shm",
                f"cannot find {self._path}: {exc.strerror}; has the process that started the ranks ended?",
            ) from exc
        key = file.st_dev, file.st_ino
        _generations[key] = _generations.get(key, 0) + 1
        return _generations[key]

    def publish(self, size: int, fd: int, token: int, slot_bytes: int) -> None:
        """Write the note; called by rank 0 when the segment is ready."""
        place, flags = (self._path, 0) if self._inherited else (os.path.dirname(self._path), os.O_TMPFILE)
        try:
            self._held = os.open(place, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
            fcntl.flock(self._held, fcntl.LOCK_EX)
            note = Note(self._generation, size, os.getpid(), fd, token, slot_bytes)
            os.pwrite(self._held, note.pack(), 0)
            if not self._inherited:
                self._show()
        except OSError as exc:
            raise InitializationFailed(
                "shm", f"cannot write a note to {self._path}: {exc.strerror}; free some space"
            ) from exc

    def _show(self) -> None:
        """Give the note its name; it is complete and locked by now."""
        for pause_s in (0.001, 0.01, 0.1):
            try:
                # With some descriptor of a folder, though both paths are absolute: else it follows no link.
                os.link(f"/proc/self/fd/{self._held}", self._path, src_dir_fd=self._held)
            except FileExistsError:
                if not self._remove_abandoned():
                    time.sleep(pause_s)  # another rank may be removing it at this moment
            else:
                return
        raise InitializationFailed("shm", self._taken())

    def find(self, size: int, timeout_s: float) -> Note:
        """Wait for rank 0's note; called by the other ranks."""
        deadline = time.monotonic() + timeout_s
        pause_s = 0.0005
        while time.monotonic() < deadline:
            note, is_abandoned = self._read()
            if note is not None and note.generation == self._generation:
                if is_abandoned:
                    raise InitializationFailed("shm", rank_0_ended(note.pid))
                if note.size != size:
                    raise InitializationFailed(
                        "shm", f"this rank expects {size} ranks, rank 0 expects {note.size}"
                    )
                return note
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.02)
        raise InitializationFailed(
            "shm",
            f"rank 0 did not come within {timeout_s:g} s; does it run, with the name {self._path}?",
        )

    def remove(self) -> None:
        """Remove the note of this process, if any, once all have attached or the group has failed."""
        if self._held >= 0:
            if not self._inherited:
                self._unlink(self._held)
            os.close(self._held)
            self._held = -1

    def _remove_abandoned(self) -> bool:
        """Remove the note of a rank 0 that has been killed; True if the name is free now."""
        try:
            place = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as exc:
            return isinstance(exc, FileNotFoundError)
        try:
            if Note.unpack(os.pread(place, _FORMAT.size, 0)) is None or not _lock(place):
                return False
            self._unlink(place)
            return True
        finally:
            os.close(place)

    def _unlink(self, locked: int) -> None:
        """Remove the name if it is that of a locked file: nobody else removes or replaces it meanwhile."""
        with suppress(OSError):
            if os.path.samestat(os.fstat(locked), os.stat(self._path, follow_symlinks=False)):
                os.unlink(self._path)

    def _read(self) -> tuple[Note | None, bool]:
        """Return the note, if it is complete, and whether its rank 0 has left it."""
        try:
            place = os.open(
                self._path, os.O_RDONLY | os.O_CLOEXEC | (0 if self._inherited else os.O_NOFOLLOW)
            )
        except FileNotFoundError:
            return None, False
        except OSError as exc:
            raise InitializationFailed(
                "shm", f"cannot read {self._path}: {exc.strerror}; whose is it?"
            ) from exc
        try:
            status = os.fstat(place)
            if status.st_uid != os.geteuid() or (
                not self._inherited and stat.S_IMODE(status.st_mode) & 0o077
            ):
                raise InitializationFailed(
                    "shm", f"{self._path} is not private to this user; somebody else may have put it there"
                )
            note = Note.unpack(os.pread(place, _FORMAT.size, 0))
            return note, note is not None and note.generation == self._generation and _lock(place)
        finally:
            os.close(place)

    def _taken(self) -> str:
        note, _ = self._read()
        if note is None:
            return f"{self._path} is there already and is no note of a group; choose another name"
        return f"another group is using {self._path} (its rank 0 is pid {note.pid}); choose another name"


def rank_0_ended(pid: int) -> str:
    """Return the words for a rank 0 that will not complete its group."""
    what = "exited" if has_ended(pid) else "gave up"
    return f"rank 0 (pid {pid}) {what} before the group was complete; read its own traceback first"


def has_ended(pid: int) -> bool:
    """True if there is no such process, or nothing of it but its exit status."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:  # no descriptor is free, or the kernel is older than 5.3
        return False
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(0))
    finally:
        os.close(pidfd)


def _lock(place: int) -> bool:
    """Lock an open file until it is closed, unless somebody else keeps it locked."""
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
