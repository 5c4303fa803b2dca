"""TLS around the connections of a group: certificates on both sides, by Python's ``ssl``.

The native code moves bytes over plain sockets. So each TLS connection gets a pair of plain ones: the group
has one end, and a thread carries bytes between the other and the network, encrypting and decrypting.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from contextlib import suppress

from cobre.comm.assembly.handshake import NotAMember
from cobre.comm.config import TcpConfig
from cobre.errors import InitializationFailed

CHUNK_BYTES = 256 * 1024
#: How long last words may take to get out when a communicator is closed.
FLUSH_SECONDS = 2.0

_AGAIN = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError, InterruptedError)


class Tls:
    """The certificates of this rank, and the thread that carries its connections."""

    def __init__(self, config: TcpConfig) -> None:
        self._server = _context(config, ssl.PROTOCOL_TLS_SERVER)
        self._client = _context(config, ssl.PROTOCOL_TLS_CLIENT)
        self._relay = _Relay()

    def wrap(self, connection: socket.socket, *, server: bool) -> ssl.SSLSocket:
        """Prepare a fresh connection, which moves no byte yet."""
        context = self._server if server else self._client
        return context.wrap_socket(connection, server_side=server, do_handshake_on_connect=False)

    def secure(self, wrapped: socket.socket, deadline: float) -> socket.socket:
        """Shake hands; return the plain end of the connection.

        Raises:
            NotAMember: its certificate is not acceptable.
            OSError: there was no shaking of hands.
        """
        assert isinstance(wrapped, ssl.SSLSocket)  # noqa: S101
        wrapped.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            wrapped.do_handshake()
        except ssl.SSLCertVerificationError as exc:
            raise NotAMember(f"its certificate is not accepted: {exc.verify_message}") from None
        return self._relay.carry(wrapped)

    def close(self) -> None:
        """Stop carrying, once what was sent is out."""
        self._relay.close()


def _context(config: TcpConfig, protocol: ssl._SSLMethod) -> ssl.SSLContext:
    assert config.tls_cert is not None  # noqa: S101  with it come the other two
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # Who is allowed is a matter of the group's own authority and of the secret, not of host names.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key)
        context.load_verify_locations(config.tls_ca)
    except OSError as exc:  # ssl.SSLError is one
        raise InitializationFailed(
            "tcp", f"the certificates of COBRE_TCP_TLS_CERT, _KEY and _CA cannot be used: {exc}"
        ) from None
    return context


class _Relay:
    """Carries bytes between TLS connections and the plain sockets that stand for them."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._fresh: list[_Carried] = []
        self._wake, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._closing_by: float | None = None
        self._thread = threading.Thread(target=self._run, name="cobre-tcp-tls", daemon=True)
        self._thread.start()

    def carry(self, secured: ssl.SSLSocket) -> socket.socket:
        inner, outer = socket.socketpair()
        secured.setblocking(False)
        outer.setblocking(False)
        with self._lock:
            self._fresh.append(_Carried(secured, outer))
        self._wake.send(b"!")
        return inner

    def close(self) -> None:
        self._closing_by = time.monotonic() + FLUSH_SECONDS
        with suppress(OSError):  # it was awake, has seen that, and is gone
            self._wake.send(b"!")
        self._thread.join()
        self._wake.close()

    def _run(self) -> None:
        carried: set[_Carried] = set()
        while self._closing_by is None or (carried and time.monotonic() < self._closing_by):
            ready = {key.data for key, _ in self._selector.select(0.1 if self._closing_by else None)}
            if None in ready:
                with suppress(BlockingIOError):
                    self._woken.recv(4096)
                with self._lock:
                    fresh, self._fresh = self._fresh, []
                carried.update(fresh)
                ready.update(fresh)
            for one in ready - {None}:
                one.pump()
                if not one.watch(self._selector):
                    carried.discard(one)
        for one in (*carried, *self._fresh):
            one.drop(self._selector)
        self._selector.close()
        self._woken.close()


class _Flow:
    """Bytes that go from one socket to another: what has been read and not yet written is ``pending``."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self._source, self._sink = source, sink
        self._buffer = bytearray(CHUNK_BYTES)
        self.pending = memoryview(b"")
        self.ended = False  # the source has, and all that it said was passed on

    def move(self) -> bool:
        """Move what can be moved without waiting."""
        try:
            if not self.pending:
                length = self._source.recv_into(self._buffer)
                self.ended = not length
                self.pending = memoryview(self._buffer)[:length]
        except _AGAIN:
            return False
        except OSError:
            self.ended = True
        try:
            self.pending = self.pending[self._sink.send(self.pending) :]
        except _AGAIN:
            return False
        except OSError:
            # Nobody listens there any more. But what comes the other way may be why, and must get through.
            self.pending = memoryview(b"")
        return not self.ended


class _Carried:
    """One TLS connection, its plain socket, and what is between them."""

    def __init__(self, secured: ssl.SSLSocket, plain: socket.socket) -> None:
        self._secured, self._plain = secured, plain
        self._out, self._in = _Flow(plain, secured), _Flow(secured, plain)
        self._over = False
        self._registered = {secured: 0, plain: 0}

    def pump(self) -> None:
        """Move what can be moved without waiting."""
        while self._out.move() | self._in.move():
            pass
        self._over = self._out.ended or self._in.ended

    def watch(self, selector: selectors.BaseSelector) -> bool:
        """Wait for what can happen next; False if nothing can any more."""
        if self._over:
            self.drop(selector)
            return False
        for side, to_it, from_it in (
            (self._plain, self._in, self._out),
            (self._secured, self._out, self._in),
        ):
            write = selectors.EVENT_WRITE if to_it.pending else 0
            read = 0 if from_it.pending else selectors.EVENT_READ
            self._select(selector, side, write | read)
        return True

    def drop(self, selector: selectors.BaseSelector) -> None:
        """Close both sides, which each peer notices."""
        for side in (self._plain, self._secured):
            self._select(selector, side, 0)
            side.close()

    def _select(self, selector: selectors.BaseSelector, side: socket.socket, events: int) -> None:
        before = self._registered[side]
        if events and before:
            selector.modify(side, events, self)
        elif events:
            selector.register(side, events, self)
        elif before:
            selector.unregister(side)
        self._registered[side] = events
