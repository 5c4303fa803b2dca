"""Gather regions: each rank writes its part into memory that all ranks read."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cobre.comm._closing import Closing
from cobre.errors import CollectiveFailed, InvalidBufferSize, InvalidCommunicator

if TYPE_CHECKING:
    from cobre.comm.contract import BackendCommunicator


class GatherRegion(Closing):
    """A buffer of which each rank writes its own part and, after `publish`, reads the whole.

    An `Communicator.allgatherv` that is used again and again. Where all ranks share memory nothing is
    copied; elsewhere `publish` is an ``allgatherv``. The program is the same.

    A round is: write all of `own`, call `publish`, read what it returns. There are two buffers, used in
    turn, so the next round's `own` can be written while others still read the last round's whole:

    - ``own`` is another array after each `publish`; what it holds before it is written is undefined.
    - What `publish` returns stays as it is until this rank calls `publish` again.

    A gather region is a context manager that closes itself.
    """

    def __init__(self, counts: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.counts = tuple(counts)
        self.displs = tuple(np.cumsum([0, *counts])[:-1].tolist())
        self.dtype = dtype
        self._round = 0
        self._closed = False

    @property
    def own(self) -> NDArray[Any]:
        """This rank's part of the round to come, writable.

        Raises:
            InvalidCommunicator: the region is closed.
        """
        self._require_open()
        return self._parts[self._round % 2]

    def publish(self) -> NDArray[Any]:
        """Give every rank this rank's part; return the parts of all, joined in rank order. A collective.

        The array is read-only. It stays as it is until this rank publishes again.

        Raises:
            CollectiveFailed: a rank left, stayed silent or called something else.
            InvalidCommunicator: the region or its communicator is closed.
        """
        self._require_open()
        which = self._round % 2
        self._publish(which)
        self._round += 1
        return self._wholes[which]

    def close(self) -> None:
        """Give the memory back, once no array refers to it any more. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._parts, self._wholes = [], []
            self._close()

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidCommunicator("this gather region was closed; create a new one")

    _parts: list[NDArray[Any]]  # own, of even and odd rounds
    _wholes: list[NDArray[Any]]  # read-only

    @abstractmethod
    def _publish(self, which: int) -> None: ...

    def _close(self) -> None:
        """Release what lies beneath; called once."""


class SharedGatherRegion(GatherRegion):
    """All ranks look at one buffer; to publish is to meet."""

    def __init__(self, comm: BackendCommunicator, counts: Sequence[int], dtype: np.dtype[Any]) -> None:
        super().__init__(counts, dtype)
        total = sum(counts)
        self._region = comm.create_shared_region(2 * total, dtype)
        begin, end = self.displs[comm.rank], self.displs[comm.rank] + counts[comm.rank]
        writable, readable = self._region.as_mut_array(), self._region.as_array()
        self._parts = [writable[begin:end], writable[total + begin : total + end]]
        self._wholes = [readable[:total], readable[total:]]

    def _publish(self, which: int) -> None:
        self._region.fence()

    def _close(self) -> None:
        self._region.close()


class CopyingGatherRegion(GatherRegion):
    """Each rank has a buffer of its own; to publish is to gather."""

    def __init__(self, comm: BackendCommunicator, counts: Sequence[int], dtype: np.dtype[Any]) -> None:
        super().__init__(counts, dtype)
        self._comm = comm
        self._parts = [np.zeros(counts[comm.rank], dtype) for _ in range(2)]
        self._buffers = [np.zeros(sum(counts), dtype) for _ in range(2)]
        self._wholes = [buffer.view() for buffer in self._buffers]
        for whole in self._wholes:
            whole.flags.writeable = False

    def _publish(self, which: int) -> None:
        self._comm.allgatherv(self._parts[which], self._buffers[which], self.counts, self.displs)


def require_equal_counts(comm: BackendCommunicator, counts: Sequence[int]) -> None:
    """Refuse counts that do not fit the group, or that differ between its ranks. A collective."""
    if len(counts) != comm.size:
        raise InvalidBufferSize("gather_region", comm.size, len(counts), "counts needs one entry per rank")
    if min(counts) < 0:
        raise InvalidBufferSize("gather_region", 0, min(counts), "a count is negative")
    digests = np.empty(comm.size, np.int64)
    comm.allgatherv(np.array([zlib.crc32(np.array(counts, np.int64).tobytes())]), digests, [1] * comm.size)
    different = np.flatnonzero(digests != digests[0])
    if different.size:
        raise CollectiveFailed("gather_region", f"rank {different[0]} gave other counts than rank 0")
