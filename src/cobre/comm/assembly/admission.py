"""Listener that admits connections which prove to hold the secret; others cannot delay it."""

from __future__ import annotations

import errno
import queue
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from cobre.comm.assembly.handshake import Hello, NotAMember, Refusal, greet
from cobre.comm.assembly.tls import Tls
from cobre.errors import InitializationFailed
from cobre.logs import logger

_log = logger(__name__)

#: Time limit for the handshake of a connection.
PROOF_SECONDS = 5.0
#: Most handshakes at a time. Beyond that the oldest is dropped: a rank needs milliseconds.
MOST_AT_ONCE = 128


class Peer(NamedTuple):
    """Authenticated peer with its connection."""

    hello: Hello
    connection: socket.socket
    address: str  # of its machine
    here: str  # of this machine, as the peer knows it


class AdmissionListener:
    """Listener that accepts connections in a thread, and authenticates each one in another thread.

    A connection that is not authenticated costs one thread, 112 bytes and a few seconds at most, and delays
    no other connection.
    """

    def __init__(
        self,
        listener: socket.socket,
        secret: bytes,
        objection: Callable[[Hello], str | None],
        tls: Tls | None,
    ) -> None:
        self._listener, self._secret, self._objection, self._tls = listener, secret, objection, tls
        self._found: queue.SimpleQueue[Peer | Refusal] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending: dict[socket.socket, None] = {}  # oldest first
        self._threads: list[threading.Thread] = []  # of pending connections, and some that have just ended
        self._open = True
        self.rejected = 0
        self._wake, self._woken = socket.socketpair()
        self._acceptor = threading.Thread(target=self._accept, name="cobre-tcp-admission", daemon=True)
        self._acceptor.start()

    @property
    def port(self) -> int:
        """Port that it listens on."""
        return int(self._listener.getsockname()[1])

    def next_peer(self, timeout_s: float) -> Peer | None:
        """Return the next authenticated peer; None if there is none in time.

        Raises:
            Refusal: a member of the group connected, and there was an objection.
        """
        try:
            found = self._found.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None
        if isinstance(found, Refusal):
            raise found
        return found

    def close(self) -> list[Peer]:
        """Close the listener and all pending connections. A second call does nothing.

        Returns:
            Authenticated peers that `next_peer` has not returned; the caller closes them.
        """
        if not self._open:
            return []
        self._open = False
        self._wake.close()
        self._acceptor.join()
        self._listener.close()
        self._woken.close()
        with self._lock:
            for connection in self._pending:
                _shut(connection)
        for thread in self._threads:
            thread.join()
        late = []
        while not self._found.empty():
            late.append(self._found.get())
        return [peer for peer in late if isinstance(peer, Peer)]

    def _accept(self) -> None:
        self._listener.setblocking(False)
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while self._open:
            poll.poll()
            try:
                connection, address = self._listener.accept()
            except BlockingIOError:
                continue
            except OSError:  # the peer has gone, or no descriptor is free at present
                time.sleep(0.01)
                continue
            if self._tls:
                connection = self._tls.wrap(connection, server=True)
            thread = threading.Thread(
                target=self._admit, args=(connection, address[0]), name="cobre-tcp-peer", daemon=True
            )
            with self._lock:
                if len(self._pending) >= MOST_AT_ONCE:
                    oldest = next(iter(self._pending))
                    del self._pending[oldest]
                    _shut(oldest)
                self._pending[connection] = None
            self._threads = [one for one in self._threads if one.is_alive()] + [thread]
            thread.start()

    def _admit(self, connection: socket.socket, address: str) -> None:
        deadline = time.monotonic() + PROOF_SECONDS
        plain = None
        try:
            prepare(connection)
            here = str(connection.getsockname()[0])
            connection.settimeout(PROOF_SECONDS)
            plain = self._tls.secure(connection, deadline) if self._tls else connection
            hello = greet(plain, self._secret, deadline, partial(self._check, connection))
            plain.setblocking(True)
            self._found.put(Peer(hello, plain, address, here))
        except Exception as problem:  # noqa: BLE001  whatever a stranger's bytes bring about, it ends here
            if isinstance(problem, Refusal):
                self._found.put(problem)
            elif isinstance(problem, (NotAMember, ssl.SSLError)):
                self.rejected += 1
                _log.warning("a connection from %s was refused: %s", address, problem)
            with self._lock:
                self._pending.pop(connection, None)
            connection.close()
            if plain is not None:
                plain.close()

    def _check(self, connection: socket.socket, hello: Hello) -> str | None:
        """Return the objection to an authenticated peer, which is not dropped from here on."""
        with self._lock:
            if connection not in self._pending:
                raise ConnectionAbortedError("it was dropped for a newer connection, and may connect again")
            del self._pending[connection]
        return self._objection(hello)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; ``port`` 0 is any free one. Raises `InitializationFailed`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as exc:
        raise InitializationFailed(
            "tcp", f"COBRE_TCP_BIND_ADDR={host!r} cannot be resolved: {exc.strerror}"
        ) from None
    listener = socket.socket(family, kind, protocol)
    try:
        # Needed because connections of a previous group keep the port in TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with suppress(OSError):
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen(1024)
    except OSError as exc:
        listener.close()
        raise InitializationFailed("tcp", _listen_problem(exc, host, port)) from None
    return listener


def _listen_problem(problem: OSError, host: str, port: int) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"port {port} is in use on this machine; set COBRE_TCP_PORT to another one, on all ranks"
    if problem.errno == errno.EADDRNOTAVAIL:
        return f"COBRE_TCP_BIND_ADDR={host!r} is not an address of this machine; 0.0.0.0 means all of them"
    return f"cannot listen on {host} port {port}: {problem.strerror}"


def prepare(connection: socket.socket) -> None:
    """Set the options of all connections."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    with suppress(OSError):
        _do_not_pace(connection)


def _do_not_pace(connection: socket.socket) -> None:
    """Within one machine no network is congested, and BBR, where it is the default, only holds bytes back."""
    here, there = connection.getsockname()[0], connection.getpeername()[0]
    if here == there and hasattr(socket, "TCP_CONGESTION"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        # Its thread wakes up and closes it. The method of ssl.SSLSocket would end encryption instead.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
