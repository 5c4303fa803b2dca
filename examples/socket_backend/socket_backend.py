"""A backend in one file: ranks of one machine around rank 0, over `multiprocessing.connection`.

Everything rests on one primitive, `Star.exchange`: all ranks give some bytes, all get everybody's.
It favours reading over speed, and keeps the whole contract: ``cobre comm check -n 3 --backend socket``.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cobre._native import ReduceOp, place, reduce
from cobre.comm import (
    Backend,
    BackendCommunicator,
    CollectiveFailed,
    Communicator,
    HeapRegion,
    InitializationFailed,
    LaunchedRank,
    MissingConfiguration,
    create_communicator,
    gather_topology,
)
from cobre.errors import ConfigurationProblem

#: How long a rank waits for rank 0 to listen.
PATIENCE_S = 30.0


@dataclass(frozen=True)
class SocketConfig:
    """Where the group meets, and which of its ranks this process is."""

    backend: ClassVar[str] = "socket"
    address: str
    rank: int
    size: int
    key: str = field(repr=False)


class Star:
    """Connections between rank 0 and each of the others."""

    def __init__(self, config: SocketConfig) -> None:
        self._rank = config.rank
        self._peers: dict[int, Connection] = {}  # rank 0 has all the others, the others have rank 0
        key = bytes.fromhex(config.key)
        if config.rank > 0:
            self._peers[0] = _connect(config.address, key)
            self._peers[0].send(config.rank)
        elif config.size > 1:
            # Closing it before anything is exchanged frees the address for the next group: no rank
            # can look for that one before it is through with the first exchange of this one.
            with Listener(config.address, backlog=config.size, authkey=key) as listener:
                while len(self._peers) < config.size - 1:
                    peer = listener.accept()
                    self._peers[peer.recv()] = peer

    def exchange(self, operation: str, mine: bytes) -> list[bytes]:
        """Give every rank the contributions of all, in rank order; none returns before all gave."""
        contributions = {self._rank: (operation, mine)}
        try:
            if self._rank == 0:
                for rank, peer in sorted(self._peers.items()):
                    contributions[rank] = peer.recv()
                for peer in self._peers.values():
                    peer.send(contributions)
            else:
                self._peers[0].send((operation, mine))
                contributions = self._peers[0].recv()
        except (EOFError, OSError) as exc:
            raise CollectiveFailed(operation, "a rank has left; read its own traceback first") from exc
        called = {rank: operation for rank, (operation, _) in sorted(contributions.items())}
        if len(set(called.values())) > 1:
            raise CollectiveFailed(operation, f"ranks called different operations: {called}")
        return [part for _, (_, part) in sorted(contributions.items())]

    def close(self) -> None:
        """Leave; whoever waits for this rank is told."""
        for peer in self._peers.values():
            peer.close()


def _connect(address: str, key: bytes) -> Connection:
    """Connect to rank 0, which may not listen yet."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return Client(address, authkey=key)
        except AuthenticationError as exc:
            raise InitializationFailed("socket", f"{address} belongs to a group with another key") from exc
        except (EOFError, OSError) as exc:
            if time.monotonic() > deadline:
                raise InitializationFailed("socket", f"rank 0 does not listen at {address}: {exc}") from exc
            time.sleep(0.002)


class SocketCommunicator(BackendCommunicator):
    """The four collectives by way of one exchange each."""

    def __init__(self, config: SocketConfig) -> None:
        super().__init__(config.rank, config.size)
        self._star = Star(config)
        self.topology = gather_topology(self, "socket")

    @property
    def is_leader(self) -> bool:
        """Always: each rank has regions of its own."""
        return True

    def _allgatherv(
        self, send: NDArray[Any], recv: NDArray[Any], counts: tuple[int, ...], displs: tuple[int, ...]
    ) -> None:
        for part, displ in zip(self._star.exchange("allgatherv", send.tobytes()), displs, strict=True):
            place(np.frombuffer(part, recv.dtype), recv, displ)

    def _allreduce(self, send: NDArray[Any], recv: NDArray[Any], op: ReduceOp) -> None:
        parts = self._star.exchange("allreduce", send.tobytes())
        reduce([np.frombuffer(part, recv.dtype) for part in parts], recv, op)

    def _broadcast(self, buf: NDArray[Any], root: int) -> None:
        sent = self._star.exchange("broadcast", buf.tobytes() if self.rank == root else b"")[root]
        if self.rank != root:  # the root's buffer may be read-only
            place(np.frombuffer(sent, buf.dtype), buf, 0)

    def _barrier(self) -> None:
        self._star.exchange("barrier", b"")

    def _create_shared_region(self, count: int, dtype: np.dtype[Any]) -> HeapRegion:
        return HeapRegion.allocate(count, dtype)

    def _split_local(self) -> Communicator:
        return create_communicator("local")

    def _close(self) -> None:
        self._star.close()


class SocketBackend(Backend[SocketConfig]):
    """How cobre finds, configures and starts the ranks."""

    name = "socket"
    summary = "ranks of one machine around rank 0, an example"

    def configure(self, env: Mapping[str, str]) -> SocketConfig:
        """Read the variables that `rank_environments` made."""
        wanted = {
            "SOCKET_BACKEND_ADDRESS": ("the path of rank 0's socket", "/tmp/group-1"),  # noqa: S108
            "SOCKET_BACKEND_RANK": ("this process's rank", "0"),
            "SOCKET_BACKEND_SIZE": ("the number of ranks", "4"),
            "SOCKET_BACKEND_KEY": ("the group's secret in hexadecimal digits", "8f3c"),
        }
        missing = [
            ConfigurationProblem(variable, expected, None, example)
            for variable, (expected, example) in wanted.items()
            if variable not in env
        ]
        if missing:
            raise MissingConfiguration(self.name, missing)
        address, rank, size, key = (env[variable] for variable in wanted)
        return SocketConfig(address, int(rank), int(size), key)

    def launched_as(self, env: Mapping[str, str]) -> LaunchedRank | None:
        """Read the rank, if there is one, and the size."""
        if "SOCKET_BACKEND_RANK" not in env:
            return None
        config = self.configure(env)
        return LaunchedRank(self.name, config.rank, config.size)

    def connect(self, config: SocketConfig) -> SocketCommunicator:
        """Meet the other ranks."""
        return SocketCommunicator(config)

    @contextmanager
    def rank_environments(self, size: int) -> Iterator[list[dict[str, str]]]:
        """Provide the variables of a fresh group: an address and a key that nobody has had before."""
        with tempfile.TemporaryDirectory(prefix="cobre-") as folder:  # private to this user
            group = {
                "COBRE_COMM_BACKEND": self.name,
                "SOCKET_BACKEND_ADDRESS": f"{folder}/rank0",
                "SOCKET_BACKEND_SIZE": str(size),
                "SOCKET_BACKEND_KEY": secrets.token_hex(32),
            }
            yield [{**group, "SOCKET_BACKEND_RANK": str(rank)} for rank in range(size)]


BACKEND = SocketBackend()
