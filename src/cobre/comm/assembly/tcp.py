"""Assembly of a tcp group: rank 0 waits for the others, and the others connect to rank 0.

Rank 0 decides when the group is complete, and whether ranks also connect directly with each other. The result
is a `Membership`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from contextlib import ExitStack, suppress
from typing import NamedTuple

from cobre.comm.assembly.admission import AdmissionListener, Peer, listen, prepare
from cobre.comm.assembly.handshake import (
    BYTE_ORDER,
    BYTE_ORDERS,
    CONTROL,
    DATA,
    DIRECT,
    VERSION,
    Hello,
    NotAMember,
    Refusal,
    introduce,
    receive,
)
from cobre.comm.assembly.tls import Tls
from cobre.comm.config import TcpConfig
from cobre.errors import InitializationFailed

#: Time limit for direct connections once the group is complete. Without them rank 0 forwards all messages.
DIRECT_SECONDS = 3.0
#: Additional time that a rank waits beyond rank 0's limit, so that rank 0's explanation arrives.
SLACK_SECONDS = 1.0

_FRAME = struct.Struct("=4sB3xQ40x")  # header of a frame, with the fields that control frames use
_BEGIN, _ABORT = 16, 20
_MOST_BEGIN_BYTES = 16 << 20
_FAILED = "the group has failed meanwhile"
_NO_BEGINNING = "rank 0 sent a malformed start message"


class Member(NamedTuple):
    """Rank of the group, as known to rank 0."""

    pid: int
    host: str
    port: int
    member: str


class Membership:
    """Connections of this rank in a complete group; their owner closes them."""

    def __init__(self, members: list[Member], direct: bool) -> None:
        self.members = members
        self.direct = direct
        self.control: dict[int, socket.socket] = {}
        self.data: dict[int, socket.socket] = {}
        self.direct_links: dict[int, socket.socket] = {}
        self.direct_problem = ""

    @property
    def names(self) -> list[str]:
        """Names of the ranks for messages: process, and host if there are several."""
        alone = len({member.host for member in self.members}) == 1
        return [f"pid {one.pid}" if alone else f"pid {one.pid} on {one.host}" for one in self.members]

    def ranks_beside(self, rank: int) -> int:
        """Number of ranks on the machine of this one, itself included."""
        return sum(member.host == self.members[rank].host for member in self.members)


def connect_to_group(config: TcpConfig, secret: bytes, tls: Tls | None) -> Membership:
    """Join the other ranks. Raises `InitializationFailed`."""
    if config.size == 1:
        return Membership([Member(os.getpid(), "", 0, "")], False)
    if config.rank == 0:
        return _Coordinator(config, secret, tls).assemble()
    return _Joiner(config, secret, tls).join()


class _Coordinator:
    """Rank 0 during assembly."""

    def __init__(self, config: TcpConfig, secret: bytes, tls: Tls | None) -> None:
        self._config, self._secret, self._tls = config, secret, tls
        self._lock = threading.Lock()  # objections are raised in threads of the listener
        self._expected: dict[int, Hello] = {}  # first message of each rank
        self._control: dict[int, Peer] = {}
        self._data: dict[int, Peer] = {}
        self._full = False

    def assemble(self) -> Membership:
        config = self._config
        deadline = time.monotonic() + config.connect_timeout_ms / 1000
        listener = listen(config.bind_addr, config.port)
        try:
            admission = AdmissionListener(listener, self._secret, self._objection, self._tls)
            try:
                while not self._is_full():
                    if problem := self._loss():
                        raise InitializationFailed("tcp", problem)
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise InitializationFailed("tcp", self._missing(admission.rejected))
                    self._welcome(admission.next_peer(min(left, 0.05)))
            finally:
                for late in admission.close():
                    self._welcome(late)  # it gets the final message like all others
            return self._complete()  # only after the listener is closed
        except Refusal as exc:
            self._end(str(exc))
            raise InitializationFailed("tcp", str(exc)) from None
        except BaseException as exc:
            self._end(exc.message if isinstance(exc, InitializationFailed) else "rank 0 gave up")
            raise

    def _objection(self, hello: Hello) -> str | None:
        """Return the reason to refuse an authenticated peer, if any. Called from several threads."""
        who, size = f"rank {hello.rank} (pid {hello.pid})", self._config.size
        if problem := _incompatible(who, hello):
            return problem
        if hello.size != size:
            counts = f"expects {hello.size} ranks, rank 0 expects {size}"
            return f"{who} {counts}; set the same COBRE_TCP_SIZE everywhere"
        if not 0 <= hello.rank < size:
            return f"{who} is not one of the ranks 0 to {size - 1}; check its COBRE_TCP_RANK"
        return self._clash(who, hello)

    def _clash(self, who: str, hello: Hello) -> str | None:
        """Return the conflict if another process has this rank already; otherwise reserve the rank."""
        with self._lock:
            known = self._expected.get(hello.rank)
            if hello.channel == CONTROL and hello.rank != 0 and not known:
                self._expected[hello.rank] = hello
                return None
        if hello.channel == DATA and known and known.member == hello.member:
            return None
        if problem := self._loss():  # perhaps it comes in place of a process that has just ended
            return problem
        if hello.rank != 0 and not known:
            return f"{who} opened its connections in the wrong order"
        other = known.pid if known else os.getpid()
        pids = f"pid {other} and pid {hello.pid}"
        return f"two processes have rank {hello.rank}: {pids}; give each process its own rank"

    def _loss(self) -> str | None:
        """Return the words for a rank that came and has ended before the group was complete, if any."""
        with self._lock:
            for rank, peer in self._control.items():
                if not _is_silent(peer.connection):
                    who = f"rank {rank} (pid {peer.hello.pid})"
                    return f"{who} exited before the group was complete; read its own traceback first"
        return None

    def _welcome(self, peer: Peer | None) -> None:
        if peer is None:
            return
        with self._lock:
            if self._full:
                peer.connection.close()
                return
            # Handshakes run in parallel, so a rank's data connection may finish before its control
            # connection.
            peers = self._control if peer.hello.channel == CONTROL else self._data
            before, peers[peer.hello.rank] = peers.get(peer.hello.rank), peer
            if before:
                before.connection.close()

    def _is_full(self) -> bool:
        """True once all ranks are connected. From then on no rank is replaced."""
        with self._lock:
            self._full = not self._absent()
            return self._full

    def _absent(self) -> list[int]:
        """Ranks that do not have both connections yet."""
        others = range(1, self._config.size)
        return [rank for rank in others if rank not in self._control or rank not in self._data]

    def _complete(self) -> Membership:
        config, ranks = self._config, range(1, self._config.size)
        members = [Member(os.getpid(), self._control[1].here, 0, "")]
        for rank in ranks:
            hello, address = self._control[rank].hello, self._control[rank].address
            members.append(Member(hello.pid, address, hello.port, hello.member.hex()))
        offers = [rank for rank in ranks if members[rank].port]
        direct = config.topology != "star" and config.size > 2 and len(offers) == len(ranks)
        if config.topology == "direct" and config.size > 2 and not direct:
            lacking = ", ".join(str(rank) for rank in ranks if rank not in offers)
            raise InitializationFailed("tcp", f"ranks that accept no direct connections: {lacking}")
        message = {
            "topology": "direct" if direct else "star",
            "members": [member._asdict() for member in members],
        }
        for peer in self._control.values():
            with suppress(OSError):  # a rank that is gone by now is named as soon as the group begins
                _send_frame(peer.connection, _BEGIN, json.dumps(message).encode())
        membership = Membership(members, direct)
        membership.control = {rank: self._control[rank].connection for rank in ranks}
        membership.data = {rank: self._data[rank].connection for rank in ranks}
        return membership

    def _missing(self, rejected: int) -> str:
        missing = [str(rank) for rank in self._absent()]
        patience = f"{self._config.connect_timeout_ms / 1000:g} s"
        words = f"ranks that did not come within {patience}: {', '.join(missing)}"
        if rejected:
            connections = "1 connection" if rejected == 1 else f"{rejected} connections"
            words += f"; {connections} did not prove to hold the group's secret"
        return words

    def _end(self, reason: str) -> None:
        for peer in self._control.values():
            with suppress(OSError):
                _send_frame(peer.connection, _ABORT, reason.encode())
        for peer in [*self._control.values(), *self._data.values()]:
            peer.connection.close()


class _Joiner:
    """Any other rank during assembly."""

    def __init__(self, config: TcpConfig, secret: bytes, tls: Tls | None) -> None:
        self._config, self._secret, self._tls = config, secret, tls
        self._member = os.urandom(16)
        self._cleanup = ExitStack()
        self._listener: AdmissionListener | None = None
        self._allowed: dict[int, str] | None = None  # rank → member, of those that may connect directly
        self._begun = threading.Event()

    def join(self) -> Membership:
        config = self._config
        patience = config.connect_timeout_ms / 1000
        rank_0 = str(config.coordinator), config.port
        try:
            deadline = time.monotonic() + patience
            control = self._connect(rank_0, CONTROL, deadline)
            data = self._connect(rank_0, DATA, deadline, control)
            membership = _read_begin(control, config.size, time.monotonic() + patience + SLACK_SECONDS)
            membership.control[0], membership.data[0] = control, data
            if membership.direct:
                self._connect_directly(membership)
            elif config.topology == "direct" and config.size > 2:
                raise InitializationFailed("tcp", "another rank does not accept direct connections")
        except BaseException:
            self._cleanup.close()
            raise
        self._stop_listening()
        return membership

    def _stop_listening(self) -> None:
        self._begun.set()  # if it has not begun, nobody need wait for that any more
        for late in self._listener.close() if self._listener else ():
            late.connection.close()

    def _connect(
        self,
        address: tuple[str, int],
        channel: int,
        deadline: float,
        control: socket.socket | None = None,
    ) -> socket.socket:
        """Connect and authenticate; repeat until the deadline while nothing listens there.

        An existing control connection reports if the group has failed; once it has begun, that report is the
        group's to hear.
        """
        begun, pause, where = time.monotonic(), 0.005, f"{address[0]} port {address[1]}"
        while True:
            try:
                return self._introduced(address, channel, deadline)
            except NotAMember as exc:
                raise InitializationFailed("tcp", f"{where}: {exc}") from None
            except Refusal as exc:
                raise InitializationFailed("tcp", str(exc)) from None
            except OSError as exc:
                problem = exc.strerror or str(exc)
            if control and not _is_silent(control):
                if channel == DIRECT:
                    raise InitializationFailed("tcp", _FAILED)
                _read_begin(control, self._config.size, deadline)
            if time.monotonic() + pause >= deadline:
                raise InitializationFailed(
                    "tcp", f"cannot reach {where} within {deadline - begun:.3g} s: {problem}{self._tls_hint}"
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.05 if control else 0.5)

    @property
    def _tls_hint(self) -> str:
        """Advice if a connection with TLS fails, since the other side gives no reason."""
        if self._tls is None:
            return ""
        return "; check that all ranks use TLS and that COBRE_TCP_TLS_CA has signed their certificates"

    def _introduced(self, address: tuple[str, int], channel: int, deadline: float) -> socket.socket:
        connection = socket.create_connection(address, max(0.01, deadline - time.monotonic()))
        try:
            # On loopback a socket can happen to connect with itself.
            if connection.getsockname() == connection.getpeername():
                raise ConnectionRefusedError("nothing listens there")
            prepare(connection)
            self._listen_for_peers(connection.getsockname()[0])
            if self._tls:
                connection = self._tls.wrap(connection, server=False)
                connection = self._tls.secure(connection, deadline)
            introduce(connection, self._secret, deadline, self._hello(channel))
            connection.settimeout(None)
        except BaseException:
            connection.close()
            raise
        self._cleanup.callback(connection.close)
        return connection

    def _hello(self, channel: int) -> Hello:
        config = self._config
        port = self._listener.port if self._listener else 0
        return Hello(channel, config.rank, config.size, os.getpid(), port, self._member, os.urandom(32))

    def _listen_for_peers(self, host: str) -> None:
        """Accept direct connections, only on the network interface that reaches rank 0."""
        if self._listener or self._config.size == 2 or self._config.topology == "star":
            return
        self._listener = AdmissionListener(listen(host, 0), self._secret, self._objection, self._tls)
        self._cleanup.callback(self._stop_listening)

    def _objection(self, hello: Hello) -> str | None:
        self._begun.wait(DIRECT_SECONDS)  # the other may have received the start message first
        who = f"rank {hello.rank} (pid {hello.pid})"
        expected = (self._allowed or {}).pop(hello.rank, None)
        if hello.channel != DIRECT or expected != hello.member.hex():
            return f"{who} was not expected to connect directly"
        return _incompatible(who, hello)

    def _connect_directly(self, membership: Membership) -> None:
        """Connect with all ranks but 0: the higher one connects to the lower one."""
        if not self._listener:  # rank 0 did not receive a port
            raise InitializationFailed("tcp", _NO_BEGINNING)
        rank, size, members = self._config.rank, self._config.size, membership.members
        control = membership.control[0]
        deadline = time.monotonic() + min(DIRECT_SECONDS, self._config.timeout_s / 2)
        self._allowed = {higher: members[higher].member for higher in range(rank + 1, size)}
        self._begun.set()
        try:
            for lower in range(1, rank):
                address = members[lower].host, members[lower].port
                membership.direct_links[lower] = self._connect(address, DIRECT, deadline, control)
            while len(membership.direct_links) < size - 2:
                peer = self._listener.next_peer(min(0.05, deadline - time.monotonic()))
                if peer is None:
                    if not _is_silent(control):
                        raise InitializationFailed("tcp", _FAILED)
                    if time.monotonic() < deadline:
                        continue
                    absent = sorted(set(range(1, size)) - {rank} - set(membership.direct_links))
                    numbers = ", ".join(str(one) for one in absent)
                    raise InitializationFailed("tcp", f"ranks that did not come to rank {rank}: {numbers}")
                membership.direct_links[peer.hello.rank] = peer.connection
                self._cleanup.callback(peer.connection.close)
        # The latter two are raised for invalid hosts and ports.
        except (InitializationFailed, Refusal, ValueError, OverflowError) as exc:
            membership.direct_problem = getattr(exc, "message", str(exc))


def _incompatible(who: str, hello: Hello) -> str | None:
    """Return the incompatibility of another rank's version or machine, if any."""
    if hello.version != VERSION:
        return (
            f"{who} uses version {hello.version} of the protocol, this rank version {VERSION}; "
            "install the same version of cobre everywhere"
        )
    if hello.byte_order != BYTE_ORDER:
        theirs, ours = BYTE_ORDERS.get(hello.byte_order, "unknown"), BYTE_ORDERS[BYTE_ORDER]
        return f"{who} has byte order {theirs}, this rank {ours}; a group needs one byte order"
    return None


def _is_silent(connection: socket.socket) -> bool:
    """True if the connection, which has no time limit of its own, is open and no data has arrived."""
    try:
        connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False  # closed, or unexpected data


def _send_frame(connection: socket.socket, tag: int, payload: bytes) -> None:
    connection.sendall(_FRAME.pack(b"cbrf", tag, len(payload)) + payload)


def _read_begin(control: socket.socket, size: int, deadline: float) -> Membership:
    """Wait for rank 0's message that the group is complete, or has failed."""
    try:
        magic, tag, length = _FRAME.unpack(receive(control, _FRAME.size, deadline))
        if magic != b"cbrf" or tag not in (_BEGIN, _ABORT) or length > _MOST_BEGIN_BYTES:
            raise InitializationFailed("tcp", _NO_BEGINNING)
        payload = receive(control, length, deadline)
        control.settimeout(None)
    except OSError as exc:
        raise InitializationFailed("tcp", f"rank 0 left before the group was complete: {exc}") from None
    if tag == _ABORT:
        raise InitializationFailed("tcp", payload.decode(errors="replace"))
    try:
        message = json.loads(payload)
        members = [Member(**member) for member in message["members"]]
        direct = {"star": False, "direct": True}[message["topology"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InitializationFailed("tcp", _NO_BEGINNING) from None
    if len(members) != size or not all(map(_is_whole, members)):
        raise InitializationFailed("tcp", _NO_BEGINNING)
    return Membership(members, direct)


def _is_whole(member: Member) -> bool:
    """True if the fields of a member from JSON have the right types."""
    return [type(field) for field in member] == [int, str, int, str]
