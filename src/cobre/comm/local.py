"""The ``local`` backend: one rank in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre._native import ReduceOp, place, reduce
from cobre.comm.config import LocalConfig
from cobre.comm.contract import BackendCommunicator
from cobre.comm.regions.shared import HeapRegion
from cobre.comm.registry import Backend, LaunchedRank
from cobre.comm.topology import gather_topology
from cobre.errors import InitializationFailed


class LocalCommunicator(BackendCommunicator):
    """Rank 0 of 1. `allgatherv` and `allreduce` copy; `broadcast` and `barrier` have nothing to do."""

    _all_share_memory = True

    def __init__(self) -> None:
        super().__init__(rank=0, size=1)
        self.topology = gather_topology(self, "local")

    @property
    def is_leader(self) -> bool:
        """Always true: there is no other rank."""
        return True

    def _allgatherv(
        self, send: NDArray[Any], recv: NDArray[Any], counts: tuple[int, ...], displs: tuple[int, ...]
    ) -> None:
        place(send, recv, displs[0])

    def _allreduce(self, send: NDArray[Any], recv: NDArray[Any], op: ReduceOp) -> None:
        reduce((send,), recv, op)  # the shared kernel, so that NaN is canonical here too

    def _broadcast(self, buf: NDArray[Any], root: int) -> None:
        pass

    def _barrier(self) -> None:
        pass

    def _create_shared_region(self, count: int, dtype: np.dtype[Any]) -> HeapRegion:
        return HeapRegion.allocate(count, dtype)

    def _split_local(self) -> LocalCommunicator:
        return LocalCommunicator()


class LocalBackend(Backend[LocalConfig]):
    """Backend for one rank, always available."""

    name = "local"
    summary = "one rank in this process"

    def configure(self, env: Mapping[str, str]) -> LocalConfig:
        """Return the configuration; there is nothing to configure."""
        return LocalConfig()

    def connect(self, config: LocalConfig) -> LocalCommunicator:
        """Return a communicator of one rank."""
        return LocalCommunicator()

    def launched_as(self, env: Mapping[str, str]) -> LaunchedRank | None:
        """Return None: the process is not part of a group."""
        return None

    @contextmanager
    def rank_environments(self, size: int) -> Iterator[list[dict[str, str]]]:
        """Provide the environment of the only rank."""
        if size != 1:
            raise InitializationFailed(
                self.name,
                f"it has exactly one rank, not {size}; use shm on one machine, tcp or mpi on several",
            )
        yield [{"COBRE_COMM_BACKEND": self.name}]


BACKEND = LocalBackend()
