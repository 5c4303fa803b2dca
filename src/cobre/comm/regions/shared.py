"""Shared regions: the contract, and the implementation for ranks that share no memory."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.comm._closing import Closing
from cobre.errors import AllocationFailed, InvalidCommunicator


class SharedRegion(Closing):
    """Memory for ``count`` elements that the ranks of one machine share.

    It lives in three phases: created, zero-filled; populated through `as_mut_array`, by the leader
    alone or by each rank in a part of its own; and, from `fence` on, read by all through `as_array`.
    To change it again, make sure that nobody reads, write, and `fence` once more.

    Where the backend has no shared memory each rank has a copy of its own, every rank is a leader and
    must populate it. Code that asks `SharedMemoryProvider.is_leader`, and shares work out by the
    rank and size of `SharedMemoryProvider.split_local`, is right in both cases.

    A region is a context manager that closes itself. Arrays that were taken from it stay valid.
    """

    def __init__(self, memory: NDArray[Any]) -> None:
        self._memory: NDArray[Any] | None = memory  # writable and flat
        self._dtype = memory.dtype
        self._count = memory.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._dtype

    def __len__(self) -> int:
        return self._count

    def as_array(self) -> NDArray[Any]:
        """Return all elements as a read-only array, without copying.

        Other ranks' writes are visible after `fence`, not before.

        Raises:
            InvalidCommunicator: the region is closed.
        """
        view = self._open_memory().view()
        view.flags.writeable = False
        return view

    def as_mut_array(self) -> NDArray[Any]:
        """Return all elements as a writable array, without copying.

        Writes are visible to the other ranks after `fence`. Two ranks must not write the same
        elements between two fences.

        Raises:
            InvalidCommunicator: the region is closed.
        """
        return self._open_memory().view()

    def fence(self) -> None:
        """Make what any rank wrote before visible to all ranks after. A collective.

        Raises:
            CollectiveFailed: a rank left or stayed silent; what is visible is undefined.
            InvalidCommunicator: the region is closed, or the communicator that is needed to wait.
        """
        self._open_memory()
        self._fence()

    def close(self) -> None:
        """Give the memory back, once no array refers to it any more. A second call does nothing."""
        if self._memory is not None:
            self._memory = None
            self._close()

    def __repr__(self) -> str:
        state = ", closed" if self._memory is None else ""
        return f"<{type(self).__name__} of {self._count} {self._dtype} elements{state}>"

    def _open_memory(self) -> NDArray[Any]:
        if self._memory is None:
            raise InvalidCommunicator("this region was closed; create a new one")
        return self._memory

    @abstractmethod
    def _fence(self) -> None: ...

    def _close(self) -> None:
        """Release the backend's memory; called once."""


class HeapRegion(SharedRegion):
    """A region of which each rank has a copy of its own, and is the leader.

    The price is memory: every rank of a machine pays for the whole region.
    """

    @classmethod
    def allocate(cls, count: int, dtype: np.dtype[Any]) -> HeapRegion:
        """Return a zero-filled region, or raise `AllocationFailed`."""
        requested = count * dtype.itemsize
        try:
            if requested > sys.maxsize:
                raise MemoryError("no address space is that large")
            return cls(np.zeros(count, dtype))
        except (MemoryError, ValueError) as exc:  # NumPy's ValueError: more elements than it can index
            raise AllocationFailed(
                requested, f"{exc}; ask for less, or run where there is more memory"
            ) from exc

    def _fence(self) -> None:
        """Do nothing: no other rank sees this memory."""


def available_bytes(proc: str = "/proc", cgroups: str = "/sys/fs/cgroup") -> int:
    """Memory available without swapping: the kernel's estimate, or the limit of a container."""
    available = sys.maxsize
    with open(f"{proc}/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                available = int(line.split()[1]) * 1024
    with suppress(OSError, ValueError):  # no cgroups of version 2: no limit that we could know
        group = _contents(f"{proc}/self/cgroup").partition("0::/")[2]
        while True:
            folder = f"{cgroups}/{group}".rstrip("/")
            if (
                os.path.exists(f"{folder}/memory.max")
                and (limit := _contents(f"{folder}/memory.max")) != "max"
            ):
                used = int(_contents(f"{folder}/memory.current"))
                available = min(available, max(0, int(limit) - used))
            if not group:
                break
            group = os.path.dirname(group)
    return available


def _contents(path: str) -> str:
    with open(path) as file:
        return file.read().strip()
