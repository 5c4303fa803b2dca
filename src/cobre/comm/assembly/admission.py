"""A listener that lets in whoever proves to hold the secret, and is not held up by anybody else."""

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

from cobre.comm.assembly.handshake import Hello, Refusal, Stranger, greet
from cobre.comm.assembly.tls import Tls
from cobre.errors import InitializationFailed

#: How long a connection may take to prove itself.
PROOF_SECONDS = 5.0
#: How many may be trying at once. Then whoever has tried longest gives way: a rank takes milliseconds.
MOST_AT_ONCE = 128


class Guest(NamedTuple):
    """Who came in, and by which connection."""

    hello: Hello
    connection: socket.socket
    address: str  # of its machine
    here: str  # of this machine, as it knows it


class Door:
    """Accepts connections in a thread of its own, each of which proves itself in another.

    A connection that has not proved itself yet costs one thread, 112 bytes and a few seconds, and nobody
    else any time.
    """

    def __init__(
        self,
        listener: socket.socket,
        secret: bytes,
        objection: Callable[[Hello], str | None],
        tls: Tls | None,
    ) -> None:
        self._listener, self._secret, self._objection, self._tls = listener, secret, objection, tls
        self._found: queue.SimpleQueue[Guest | Refusal] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending: dict[socket.socket, None] = {}  # oldest first
        self._threads: list[threading.Thread] = []  # of these, and of some that have just ended
        self._open = True
        self.strangers = 0
        self._wake, self._woken = socket.socketpair()
        self._acceptor = threading.Thread(target=self._accept, name="cobre-tcp-door", daemon=True)
        self._acceptor.start()

    @property
    def port(self) -> int:
        """Where it is."""
        return int(self._listener.getsockname()[1])

    def next_guest(self, timeout_s: float) -> Guest | None:
        """Return who came in next; None if nobody does in time.

        Raises:
            Refusal: somebody of the group came, and there was an objection.
        """
        try:
            found = self._found.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None
        if isinstance(found, Refusal):
            raise found
        return found

    def close(self) -> list[Guest]:
        """Close the listener, and whatever is still at the door. A second call does nothing.

        Returns:
            Who came in and was not asked for by `next_guest`; for the caller to close.
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
        return [guest for guest in late if isinstance(guest, Guest)]

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
            except OSError:  # it went away again, or there are too many descriptors just now
                time.sleep(0.01)
                continue
            if self._tls:
                connection = self._tls.wrap(connection, server=True)
            thread = threading.Thread(
                target=self._admit, args=(connection, address[0]), name="cobre-tcp-guest", daemon=True
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
            hello = greet(plain, self._secret, deadline, partial(self._judge, connection))
            plain.setblocking(True)
            self._found.put(Guest(hello, plain, address, here))
        except Exception as problem:  # noqa: BLE001  whatever a stranger's bytes bring about, it ends here
            if isinstance(problem, Refusal):
                self._found.put(problem)
            elif isinstance(problem, (Stranger, ssl.SSLError)):
                self.strangers += 1
            with self._lock:
                self._pending.pop(connection, None)
            connection.close()
            if plain is not None:
                plain.close()

    def _judge(self, connection: socket.socket, hello: Hello) -> str | None:
        """Say what is wrong with somebody who has proved itself, and need not give way any more."""
        with self._lock:
            if connection not in self._pending:
                raise ConnectionAbortedError("it has given way already, and may come again")
            del self._pending[connection]
        return self._objection(hello)


def listen(host: str, port: int) -> socket.socket:
    """Return a listener; ``port`` 0 is any free one. Raises `InitializationFailed` in words."""
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
        # Ranks that met here a moment ago leave the port in a state in which only this allows it again.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with suppress(OSError):
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen(1024)
    except OSError as exc:
        listener.close()
        raise InitializationFailed("tcp", _why_not(exc, host, port)) from None
    return listener


def _why_not(problem: OSError, host: str, port: int) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"port {port} is in use on this machine; set COBRE_TCP_PORT to another one, on all ranks"
    if problem.errno == errno.EADDRNOTAVAIL:
        return f"COBRE_TCP_BIND_ADDR={host!r} is no address of this machine; 0.0.0.0 stands for all it has"
    return f"cannot listen on {host} port {port}: {problem.strerror}"


def prepare(connection: socket.socket) -> None:
    """Set the options that all connections have."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        # Its thread wakes up, and closes it. Not its own method: TLS would take it for the end of encryption.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
