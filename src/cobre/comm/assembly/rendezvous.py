"""Rendezvous of a shared-memory group: ranks find rank 0's segment.

The segment itself never has a name: rank 0 makes it anonymous (a memfd), and the others open it
through rank 0's entry in ``/proc``, which only the same user can. All they need is a note saying
which process and which descriptor. The note lies either

- in a file of the agreed name in ``/dev/shm``, readable by this user only, and removed as soon as all
  have come; or
- in an anonymous file of the process that started the ranks, named like ``/proc/4711/fd/5``. Then no
  name ever exists, and nothing can remain even if everybody is killed in the same moment.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
import zlib
from contextlib import suppress
from typing import NamedTuple

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
        self._has_name = False
        self._generation = self._next_generation() if self._inherited else 0

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
        flags = os.O_WRONLY | os.O_CLOEXEC
        if not self._inherited:
            flags |= os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            place = os.open(self._path, flags, 0o600)
        except FileExistsError:
            raise InitializationFailed("shm", self._taken()) from None
        except OSError as exc:
            raise InitializationFailed("shm", f"cannot write a note to {self._path}: {exc.strerror}") from exc
        self._has_name = not self._inherited
        try:
            note = Note(self._generation, size, os.getpid(), fd, token, slot_bytes)
            os.pwrite(place, note.pack(), 0)
        except OSError as exc:
            self.remove()
            raise InitializationFailed(
                "shm", f"cannot write {self._path}: {exc.strerror}; free some space"
            ) from exc
        finally:
            os.close(place)

    def find(self, size: int, timeout_s: float) -> Note:
        """Wait for rank 0's note; called by the other ranks."""
        deadline = time.monotonic() + timeout_s
        pause_s = 0.0005
        while time.monotonic() < deadline:
            note = self._read()
            if note is not None and note.generation == self._generation:
                if note.size != size:
                    raise InitializationFailed(
                        "shm", f"this rank expects {size} ranks, rank 0 expects {note.size}"
                    )
                if not _alive(note.pid):
                    raise InitializationFailed("shm", self._taken())
                return note
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.02)
        raise InitializationFailed(
            "shm",
            f"rank 0 did not come within {timeout_s:g} s; does it run, with the name {self._path}?",
        )

    def remove(self) -> None:
        """Remove the note of this process, if any, once all have attached or the group has failed."""
        if self._has_name:
            self._has_name = False
            with suppress(FileNotFoundError):
                os.unlink(self._path)

    def _read(self) -> Note | None:
        try:
            place = os.open(
                self._path, os.O_RDONLY | os.O_CLOEXEC | (0 if self._inherited else os.O_NOFOLLOW)
            )
        except FileNotFoundError:
            return None
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
            return Note.unpack(os.pread(place, _FORMAT.size, 0))
        finally:
            os.close(place)

    def _taken(self) -> str:
        note = self._read()
        if note is not None and _alive(note.pid):
            return f"another group is using {self._path} (its rank 0 is pid {note.pid}); choose another name"
        owner = f"pid {note.pid}, which is gone" if note is not None else "somebody who has not finished it"
        return f"{self._path} was left behind by {owner}; remove it: rm {self._path}"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
