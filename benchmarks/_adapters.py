"""The systems that the benchmark of collectives knows, behind one set of names.

An adapter has ``rank``, ``size``, ``versions``, ``barrier`` and ``close``; its other methods take the arrays
of a collective and return the call to be timed, or None where the system has no such operation. Nothing
is imported before its adapter is made, because each system lives in an environment of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any


def starts(counts: list[int]) -> list[int]:
    """Return where each part begins."""
    return [sum(counts[:rank]) for rank in range(len(counts))]


class MpiAdapter:
    """mpi4py's buffer calls on the world communicator; the launcher says over which transport."""

    def __init__(self) -> None:
        import mpi4py  # noqa: PLC0415  only this adapter needs it
        from mpi4py import MPI  # noqa: PLC0415

        self._mpi, self._comm = MPI, MPI.COMM_WORLD
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()
        self.barrier = self._comm.Barrier
        library = MPI.Get_library_version().split("\n")[0].split(",")[0].strip(" \0")
        self.versions = {"mpi4py": mpi4py.__version__, "library": " ".join(library.split())}

    def allreduce(self, send: Any, recv: Any) -> Callable[[], object]:
        return partial(self._comm.Allreduce, send, recv, self._mpi.SUM)

    def allgatherv(self, send: Any, recv: Any, counts: list[int]) -> Callable[[], object]:
        double = self._mpi.DOUBLE
        return partial(self._comm.Allgatherv, [send, double], [recv, counts, starts(counts), double])

    def broadcast(self, buf: Any) -> Callable[[], object]:
        return partial(self._comm.Bcast, buf, 0)

    def close(self) -> None:
        """mpi4py finalises MPI at exit."""


class CobreAdapter:
    """A cobre communicator; which backend, the environment says."""

    def __init__(self) -> None:
        import cobre.comm  # noqa: PLC0415  only this adapter needs it

        self._sum = cobre.comm.ReduceOp.SUM
        self._comm = cobre.comm.create_communicator()
        self.rank, self.size = self._comm.rank, self._comm.size
        self.barrier = self._comm.barrier
        self.close = self._comm.close
        self.versions = {"cobre": cobre.__version__}

    def allreduce(self, send: Any, recv: Any) -> Callable[[], object]:
        return partial(self._comm.allreduce, send, recv, self._sum)

    def allgatherv(self, send: Any, recv: Any, counts: list[int]) -> Callable[[], object]:
        return partial(self._comm.allgatherv, send, recv, counts)

    def broadcast(self, buf: Any) -> Callable[[], object]:
        return partial(self._comm.broadcast, buf, 0)

    def zero_copy_gather(
        self, send: Any, counts: list[int]
    ) -> tuple[Callable[[], Any], Callable[[], None]] | None:
        """Return the call (this rank's part in, a view of the whole out) and what releases the memory.

        None where not all ranks share memory: there it is an allgatherv under another name.
        """
        with self._comm.split_local() as sharing:
            if sharing.size < self.size:
                return None
        region = self._comm.gather_region(counts, send.dtype)

        def call() -> Any:
            region.own[...] = send  # another array in each round
            return region.publish()

        return call, region.close


class GlooAdapter:
    """torch.distributed over gloo; `_systems.Gloo` says in the environment who takes part."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415  only this adapter needs it
        import torch.distributed  # noqa: PLC0415

        torch.set_num_threads(1)
        self._torch, self._group = torch, torch.distributed
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._group.init_process_group(
            "gloo", init_method=os.environ["MEETING_PLACE"], rank=self.rank, world_size=self.size
        )
        self.barrier = self._group.barrier
        self.close = self._group.destroy_process_group
        self.versions = {"torch": torch.__version__}

    def allreduce(self, send: Any, recv: Any) -> Callable[[], object]:
        # Gloo reduces in place. Sums of sums would overflow, and a copy before each call is not gloo's time:
        # so the answer to be checked is made here, and what is timed adds zeros.
        recv[...] = send
        self._group.all_reduce(self._torch.from_numpy(recv))
        return partial(self._group.all_reduce, self._torch.zeros(len(send), dtype=self._torch.float64))

    def allgatherv(self, send: Any, recv: Any, counts: list[int]) -> Callable[[], object] | None:
        if len(set(counts)) > 1:
            return None  # gloo refuses unequal parts
        parts = list(self._torch.from_numpy(recv).split(counts))  # views, so recv itself is written
        return partial(self._group.all_gather, parts, self._torch.from_numpy(send))

    def broadcast(self, buf: Any) -> Callable[[], object]:
        return partial(self._group.broadcast, self._torch.from_numpy(buf), 0)


ADAPTERS = {"mpi": MpiAdapter, "cobre": CobreAdapter, "gloo": GlooAdapter}
