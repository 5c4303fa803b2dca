"""Regions in MPI's shared windows, which only all ranks of a machine can free together.

A region, however, is closed by each rank when it likes, and its memory must live as long as an array refers
to it. So a window is freed later: at the next collective moment at which no rank of the machine refers
to it any more.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.comm.regions.shared import SharedRegion, available_bytes
from cobre.errors import AllocationFailed, CollectiveFailed, InvalidCommunicator

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from cobre._native import MpiGroup


class Windows:
    """All windows of one communicator that have not been freed."""

    def __init__(self, group: MpiGroup, machine: MpiGroup, node: MPI.Intracomm) -> None:
        """``machine`` and ``node`` are the ranks of ``group`` that share memory, for us and for MPI."""
        from mpi4py import MPI  # noqa: PLC0415  loaded by now

        self._mpi, self._group, self._machine, self._node = MPI, group, machine, node
        self._windows: list[tuple[MPI.Win, weakref.finalize[Any, Any]]] = []

    def create(self, count: int, dtype: np.dtype[Any]) -> MpiRegion:
        """Create a region; a collective of the communicator."""
        try:
            return self._create(count, dtype)
        except self._mpi.Exception as exc:
            raise CollectiveFailed("create_shared_region", f"MPI says: {exc}", exc.Get_error_class()) from exc

    def _create(self, count: int, dtype: np.dtype[Any]) -> MpiRegion:
        self._free_unused()
        requested = count * dtype.itemsize
        leader = self._node.Get_rank() == 0
        problem = ""
        if leader and requested > (available := available_bytes()):
            problem = f"{available:,} bytes are available; ask for less, or run where there is more memory"
        if not self._all(not problem):
            raise self._refusal(requested, problem)
        window = None
        try:
            window = self._mpi.Win.Allocate_shared(max(requested, 1) if leader else 0, 1, comm=self._node)
        except self._mpi.Exception as exc:
            problem = f"MPI says: {exc}"
        if not self._all(window is not None) or window is None:
            if window is not None:  # then all ranks of this machine have it
                window.Free()
            raise self._refusal(requested, problem)
        window.Lock_all()
        memory, _ = window.Shared_query(0)
        holder: NDArray[Any] = np.frombuffer(memory, np.uint8)  # type: ignore[call-overload]
        if leader:
            holder[:] = 0
        elements = holder[:requested].view(dtype) if requested else np.zeros(count, dtype)
        self._windows.append((window, weakref.finalize(holder, _nothing)))
        window.Sync()
        self._node.Barrier()
        window.Sync()
        return MpiRegion(elements, window, self._mpi, self._machine)

    def _refusal(self, requested: int, problem: str) -> AllocationFailed:
        """Give all ranks of a machine the problem that one of them has found there."""
        here = next(filter(None, self._node.allgather(problem)), "")
        return AllocationFailed(requested, here or "another machine of the group has no memory for it")

    def close(self) -> None:
        """Forget the windows: memory that arrays may refer to stays until MPI is finalised."""
        self._windows.clear()

    def _free_unused(self) -> None:
        """Free windows that no rank of this machine refers to."""
        used = np.array([alive.alive for _, alive in self._windows], np.uint8)
        anywhere = np.zeros_like(used)
        self._node.Allreduce(used, anywhere, self._mpi.MAX)
        for (window, _), is_used in zip(self._windows, anywhere, strict=True):
            if not is_used:
                window.Unlock_all()
                window.Free()
        self._windows = [one for one, is_used in zip(self._windows, anywhere, strict=True) if is_used]

    def _all(self, yes: bool) -> bool:
        return self._group.all("create_shared_region", yes)


class MpiRegion(SharedRegion):
    """Region in an MPI shared window, which all ranks of a machine share."""

    def __init__(self, memory: NDArray[Any], window: MPI.Win, mpi: Any, machine: MpiGroup) -> None:
        super().__init__(memory)
        self._window, self._mpi, self._machine = window, mpi, machine

    def _fence(self) -> None:
        if self._mpi.Is_finalized():  # even the window's calls would abort the job
            raise InvalidCommunicator("MPI has been finalised")
        self._window.Sync()
        self._machine.fence()
        self._window.Sync()


def _nothing() -> None:
    """A finalizer is only asked whether it is alive."""
