"""Regions in MPI's shared windows, which only all ranks of a machine can free together.

A region, however, is closed by each rank when it likes, and its memory must live as long as an array refers
to it. So a window is freed later: at the next collective moment at which no rank of the machine refers
to it any more.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.comm._base import SharedRegion
from cobre.comm._memory import available_bytes
from cobre.errors import AllocationFailed, CollectiveFailed

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray


class Windows:
    """All windows of one communicator that have not been freed."""

    def __init__(self, comm: MPI.Intracomm, node: MPI.Intracomm) -> None:
        from mpi4py import MPI  # noqa: PLC0415  loaded by now

        self._mpi, self._comm, self._node = MPI, comm, node
        self._windows: list[tuple[MPI.Win, weakref.finalize[Any, Any]]] = []

    def create(self, count: int, dtype: np.dtype[Any]) -> MpiRegion:
        """Make a region; all ranks of the communicator do so together."""
        self._free_unused()
        requested = count * dtype.itemsize
        leader = self._node.Get_rank() == 0
        problem = ""
        if leader and requested > (available := available_bytes()):
            problem = f"{available:,} bytes are available; ask for less, or run where there is more memory"
        if not self._all(not problem):
            raise AllocationFailed(requested, problem or "another machine of the group has no memory for it")
        window = None
        try:
            window = self._mpi.Win.Allocate_shared(max(requested, 1) if leader else 0, 1, comm=self._node)
        except self._mpi.Exception as exc:
            problem = f"MPI says: {exc}"
        if not self._all(window is not None) or window is None:
            raise AllocationFailed(requested, problem or "another machine of the group has no memory for it")
        window.Lock_all()
        memory, _ = window.Shared_query(0)
        holder: NDArray[Any] = np.frombuffer(memory, np.uint8)  # type: ignore[call-overload]
        if leader:
            holder[:] = 0
        elements = holder[:requested].view(dtype) if requested else np.zeros(count, dtype)
        region = MpiRegion(elements, window, self._node)
        self._windows.append((window, weakref.finalize(holder, _nothing)))
        region.fence()
        return region

    def close(self) -> None:
        """Forget the windows: memory that arrays may refer to stays until MPI is finalised."""
        self._windows.clear()

    def _free_unused(self) -> None:
        """Free what no rank of this machine refers to."""
        used = np.array([alive.alive for _, alive in self._windows], np.uint8)
        anywhere = np.zeros_like(used)
        self._node.Allreduce(used, anywhere, self._mpi.MAX)
        for (window, _), is_used in zip(self._windows, anywhere, strict=True):
            if not is_used:
                window.Unlock_all()
                window.Free()
        self._windows = [one for one, is_used in zip(self._windows, anywhere, strict=True) if is_used]

    def _all(self, yes: bool) -> bool:
        everybody = np.zeros(1, np.uint8)
        self._comm.Allreduce(np.array([yes], np.uint8), everybody, self._mpi.MIN)
        return bool(everybody[0])


class MpiRegion(SharedRegion):
    """Memory that the ranks of one machine truly share, by a window of MPI's."""

    def __init__(self, memory: NDArray[Any], window: MPI.Win, node: MPI.Intracomm) -> None:
        super().__init__(memory)
        self._window, self._node = window, node

    def _fence(self) -> None:
        try:
            self._window.Sync()
            self._node.Barrier()
            self._window.Sync()
        except Exception as exc:
            raise CollectiveFailed("fence", f"MPI says: {exc}") from exc


def _nothing() -> None:
    """A finalizer is only asked whether it is alive."""
