"""The backend for processes on any machines that reach each other: collectives over TCP.

Here the ranks meet: `cobre.comm.assembly.tcp` finds them, `cobre.comm.assembly.admission` admits them,
`cobre.comm.assembly.handshake` proves that they belong together. Then ``native/core/tcp`` moves the bytes.
"""

from __future__ import annotations

import os
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from cobre._native import TcpGroup
from cobre.comm.assembly.tcp import Membership, connect_to_group
from cobre.comm.assembly.tls import Tls
from cobre.comm.config import LocalConfig, TcpConfig
from cobre.comm.contract import Communicator, NativeCommunicator
from cobre.comm.regions.shared import HeapRegion
from cobre.comm.registry import Backend, LaunchedRank, load
from cobre.comm.topology import gather_topology
from cobre.errors import AllocationFailed, CollectiveFailed, InitializationFailed


class TcpCommunicator(NativeCommunicator):
    """Rank of a group of processes connected by sockets."""

    def __init__(self, config: TcpConfig, membership: Membership, tls: Tls | None) -> None:
        super().__init__(config.rank, config.size)
        self._tls = tls
        self._group = group = TcpGroup(
            config.rank,
            membership.names,
            _detached(membership.control),
            _detached(membership.data),
            config.timeout_s,
            membership.ranks_beside(config.rank),
            tls is not None,
            self._turn,
        )
        self._use(group)
        #: True if every two ranks have a connection, so that payloads need not pass through rank 0.
        self.connected_directly = config.size <= 2

    def agree(self, config: TcpConfig, membership: Membership) -> None:
        """Exchange names and set up connections with the other ranks. A collective."""
        try:
            if membership.direct:
                self._connect_directly(config, membership)
            self.topology = gather_topology(self, "tcp")
        finally:
            for connection in membership.direct_links.values():  # those that the group has not taken over
                connection.close()

    def _connect_directly(self, config: TcpConfig, membership: Membership) -> None:
        """Use direct connections if all ranks have all of theirs; else rank 0 forwards their messages."""
        self.connected_directly = self._group.all("connect", not membership.direct_problem)
        if self.connected_directly:
            self._group.connect_directly(_detached(membership.direct_links))
            return
        problem = membership.direct_problem
        if config.topology == "direct":
            raise InitializationFailed("tcp", problem or "other ranks could not connect with each other")
        if problem:
            warnings.warn(
                f"ranks are not connected directly, so rank 0 hands on what they send: {problem}; "
                "COBRE_TCP_TOPOLOGY=star does not even try",
                RuntimeWarning,
                stacklevel=2,
            )

    @property
    def is_leader(self) -> bool:
        """Always true: no rank shares memory with another."""
        return True

    def _close(self) -> None:
        self._group.leave()
        if self._tls:
            self._tls.close()

    def __del__(self) -> None:
        # The group ends with its last reference, but a thread refers to what it carries. While Python
        # ends, there are no threads any more that could be waited for.
        if self._tls and not self._closed and not sys.is_finalizing():
            self._close()

    def _create_shared_region(self, count: int, dtype: np.dtype[Any]) -> HeapRegion:
        region: HeapRegion | None = None
        problem: AllocationFailed | None = None
        try:
            region = HeapRegion.allocate(count, dtype)
        except AllocationFailed as exc:
            problem = exc  # the others must hear of it before it is raised
        self._group.announce("create_shared_region", count, dtype.kind, dtype.itemsize, np.zeros(1))
        if not self._group.all("create_shared_region", region is not None) or region is None:
            raise problem or AllocationFailed(count * dtype.itemsize, "another rank has no memory for it")
        return region

    def _split_local(self) -> Communicator:
        self._group.announce("split_local", 0, "", 0, np.zeros(1))
        return load("local").connect(LocalConfig())


class TcpBackend(Backend[TcpConfig]):
    """Backend for any machines; needs nothing to be installed."""

    name = "tcp"
    summary = "processes on any machines that reach rank 0, over TCP"

    def configure(self, env: Mapping[str, str]) -> TcpConfig:
        """Read the ``COBRE_TCP_*`` variables."""
        return TcpConfig.from_env(env)

    def connect(self, config: TcpConfig) -> TcpCommunicator:
        """Join the other ranks, within ``connect_timeout_ms``."""
        secret = config.key()
        tls = Tls(config) if config.tls_cert else None
        try:
            membership = connect_to_group(config, secret, tls)
        except BaseException:
            if tls:
                tls.close()
            raise
        comm = TcpCommunicator(config, membership, tls)
        try:
            comm.agree(config, membership)
        except BaseException as exc:
            comm.close()  # not when the error is dropped, which refers to it: others wait until then
            if isinstance(exc, CollectiveFailed):
                raise InitializationFailed(self.name, exc.message) from None
            raise
        return comm

    def launched_as(self, env: Mapping[str, str]) -> LaunchedRank | None:
        """Read ``COBRE_TCP_RANK`` and ``COBRE_TCP_SIZE``."""
        return TcpConfig.launched_as(env)

    @contextmanager
    def rank_environments(self, size: int) -> Iterator[list[dict[str, str]]]:
        """Provide the variables of a fresh group on loopback, with a secret and a port of its own."""
        with socket.socket() as reserved:
            # Bound but not listening, it keeps the port from everybody but rank 0, who listens there.
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            shared = {
                "COBRE_COMM_BACKEND": self.name,
                "COBRE_TCP_COORDINATOR": "127.0.0.1",
                "COBRE_TCP_BIND_ADDR": "127.0.0.1",
                "COBRE_TCP_PORT": str(reserved.getsockname()[1]),
                "COBRE_TCP_SIZE": str(size),
            }
            if "COBRE_TCP_SECRET_FILE" not in os.environ:  # which the ranks inherit; two secrets are refused
                shared["COBRE_TCP_SECRET"] = os.urandom(32).hex()
            yield [{**shared, "COBRE_TCP_RANK": str(rank)} for rank in range(size)]


def _detached(connections: Mapping[int, socket.socket]) -> list[tuple[int, int]]:
    """Detach sockets and return their descriptors."""
    return [(rank, connection.detach()) for rank, connection in connections.items()]


BACKEND = TcpBackend()
