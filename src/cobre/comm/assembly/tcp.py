"""From settings to a complete group: rank 0 waits for the others, the others find rank 0.

Rank 0 decides when the group is complete, and whether ranks connect with each other directly too. Everything
that was agreed comes back as a `Membership`.
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

from cobre.comm.assembly.door import Door, Guest, listen, prepare
from cobre.comm.assembly.handshake import (
    BYTE_ORDER,
    BYTE_ORDERS,
    CONTROL,
    DATA,
    DIRECT,
    VERSION,
    Hello,
    Refusal,
    Stranger,
    introduce,
    receive,
)
from cobre.comm.assembly.tls import Tls
from cobre.comm.config import TcpConfig
from cobre.errors import InitializationFailed

#: How long ranks may take to connect with each other once all are there. Then rank 0 hands on their bytes.
DIRECT_SECONDS = 3.0
#: How much longer a rank waits than rank 0 does, so that rank 0's explanation arrives.
SLACK_SECONDS = 1.0

_FRAME = struct.Struct("=4sB3xQ40x")  # the header of a frame, as far as control frames use it
_BEGIN, _ABORT = 16, 20
_MOST_BEGIN_BYTES = 16 << 20
_NO_BEGINNING = "rank 0 sent something that is no beginning of this group"


class Member(NamedTuple):
    """One rank, as rank 0 knows it."""

    pid: int
    host: str
    port: int
    member: str


class Membership:
    """The connections of this rank in a complete group; to be taken over or closed."""

    def __init__(self, members: list[Member], direct: bool) -> None:
        self.members = members
        self.direct = direct
        self.control: dict[int, socket.socket] = {}
        self.data: dict[int, socket.socket] = {}
        self.direct_links: dict[int, socket.socket] = {}
        self.direct_problem = ""

    @property
    def names(self) -> list[str]:
        """Ranks as people know them."""
        alone = len({member.host for member in self.members}) == 1
        return [f"pid {one.pid}" if alone else f"pid {one.pid} on {one.host}" for one in self.members]

    def ranks_beside(self, rank: int) -> int:
        """How many ranks share the machine of this one, itself included."""
        return sum(member.host == self.members[rank].host for member in self.members)


def connect_to_group(config: TcpConfig, secret: bytes, tls: Tls | None) -> Membership:
    """Meet the other ranks. Raises `InitializationFailed` in words."""
    if config.size == 1:
        return Membership([Member(os.getpid(), "", 0, "")], False)
    if config.rank == 0:
        return _Host(config, secret, tls).assemble()
    return _Visitor(config, secret, tls).join()


class _Host:
    """Rank 0 while the group assembles."""

    def __init__(self, config: TcpConfig, secret: bytes, tls: Tls | None) -> None:
        self._config, self._secret, self._tls = config, secret, tls
        self._lock = threading.Lock()  # guests are judged in threads of the door
        self._came_in = threading.Condition(self._lock)
        self._expected: dict[int, Hello] = {}  # who has said hello as which rank
        self._control: dict[int, Guest] = {}
        self._data: dict[int, Guest] = {}
        self._full = False

    def assemble(self) -> Membership:
        config = self._config
        deadline = time.monotonic() + config.connect_timeout_ms / 1000
        listener = listen(config.bind_addr, config.port)
        try:
            door = Door(listener, self._secret, self._objection, self._tls)
            try:
                while not self._is_full():
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise InitializationFailed("tcp", self._missing(door.strangers))
                    self._welcome(door.next_guest(min(left, 0.05)))
            finally:
                for late in door.close():
                    self._welcome(late)  # to be told, like all others, how it ended
            return self._complete()  # only now, when nobody else can come
        except Refusal as exc:
            self._end(str(exc))
            raise InitializationFailed("tcp", str(exc)) from None
        except BaseException as exc:
            self._end(exc.message if isinstance(exc, InitializationFailed) else "rank 0 gave up")
            raise

    def _objection(self, hello: Hello) -> str | None:
        """Say what is wrong with somebody who has proved to hold the secret. Called by many threads."""
        who, size = f"rank {hello.rank} (pid {hello.pid})", self._config.size
        if problem := _incompatible(who, hello):
            return problem
        if hello.size != size:
            counts = f"says that the group has {hello.size} ranks, rank 0 says {size}"
            return f"{who} {counts}; set COBRE_TCP_SIZE alike everywhere"
        if not 0 <= hello.rank < size:
            return f"{who} is not one of the ranks 0 to {size - 1}; look at its COBRE_TCP_RANK"
        return self._clash(who, hello)

    def _clash(self, who: str, hello: Hello) -> str | None:
        """Say whether somebody else is that rank already; otherwise it is this one from now on."""
        with self._lock:
            if hello.channel == CONTROL:
                # Whoever had this rank may have ended a moment ago, perhaps while it was coming in.
                self._came_in.wait_for(lambda: not self._is_coming_in(hello), timeout=1)
                if not self._full:
                    self._forget_who_left()
            known = self._expected.get(hello.rank)
            if hello.channel == CONTROL and hello.rank != 0 and not known:
                self._expected[hello.rank] = hello
                return None
        if hello.channel == DATA and known and known.member == hello.member:
            return None
        if hello.rank != 0 and not known:
            return f"{who} opened its connections in the wrong order"
        other = known.pid if known else os.getpid()
        pids = f"pid {other} and pid {hello.pid}"
        return f"two processes say that they are rank {hello.rank}: {pids}; give each a rank of its own"

    def _is_coming_in(self, hello: Hello) -> bool:
        """Whether another process of this rank has been told that it is welcome, and is not there yet."""
        known = self._expected.get(hello.rank)
        return known is not None and known.member != hello.member and hello.rank not in self._control

    def _welcome(self, guest: Guest | None) -> None:
        with self._lock:
            if guest is None:
                self._forget_who_left()
                return
            if self._full:
                guest.connection.close()
                return
            # A thread of the door may be faster than the one that began before it, so a rank's data
            # connection can come out first.
            guests = self._control if guest.hello.channel == CONTROL else self._data
            before, guests[guest.hello.rank] = guests.get(guest.hello.rank), guest
            if before:
                before.connection.close()
            self._came_in.notify_all()

    def _is_full(self) -> bool:
        """Whether all are there. From then on nobody is replaced."""
        with self._lock:
            self._full = not self._absent()
            return self._full

    def _absent(self) -> list[int]:
        """Ranks that have not both their connections yet."""

        def member(guests: dict[int, Guest], rank: int) -> bytes | None:
            return guests[rank].hello.member if rank in guests else None

        others = range(1, self._config.size)
        # A connection of a process that has ended since does not count for the one that replaced it.
        return [
            rank
            for rank in others
            if rank not in self._control or member(self._control, rank) != member(self._data, rank)
        ]

    def _forget_who_left(self) -> None:
        """A rank that ends before the group is complete may be started again. The lock is held."""
        for rank, guest in list(self._control.items()):
            if _is_silent(guest.connection):
                continue
            del self._expected[rank]
            self._control.pop(rank).connection.close()
            if rank in self._data:
                self._data.pop(rank).connection.close()

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
        for guest in self._control.values():
            _send_frame(guest.connection, _BEGIN, json.dumps(message).encode())
        membership = Membership(members, direct)
        membership.control = {rank: self._control[rank].connection for rank in ranks}
        membership.data = {rank: self._data[rank].connection for rank in ranks}
        return membership

    def _missing(self, strangers: int) -> str:
        missing = [str(rank) for rank in self._absent()]
        patience = f"{self._config.connect_timeout_ms / 1000:g} s"
        words = f"ranks that did not come within {patience}: {', '.join(missing)}"
        if strangers:
            who = "1 connection" if strangers == 1 else f"{strangers} connections"
            words += f"; {who} came without proof of the group's secret"
        return words

    def _end(self, reason: str) -> None:
        for guest in self._control.values():
            with suppress(OSError):
                _send_frame(guest.connection, _ABORT, reason.encode())
        for guest in [*self._control.values(), *self._data.values()]:
            guest.connection.close()


class _Visitor:
    """Any other rank while the group assembles."""

    def __init__(self, config: TcpConfig, secret: bytes, tls: Tls | None) -> None:
        self._config, self._secret, self._tls = config, secret, tls
        self._member = os.urandom(16)
        self._cleanup = ExitStack()
        self._door: Door | None = None
        self._allowed: dict[int, str] | None = None  # rank → member, of those who may connect directly
        self._begun = threading.Event()

    def join(self) -> Membership:
        config = self._config
        patience = config.connect_timeout_ms / 1000
        rank_0 = str(config.coordinator), config.port
        try:
            deadline = time.monotonic() + patience
            control = self._knock(rank_0, CONTROL, deadline)
            data = self._knock(rank_0, DATA, deadline, control)
            membership = _read_begin(control, config.size, time.monotonic() + patience + SLACK_SECONDS)
            membership.control[0], membership.data[0] = control, data
            if membership.direct:
                self._connect_directly(membership)
            elif config.topology == "direct" and config.size > 2:
                raise InitializationFailed("tcp", "another rank does not accept direct connections")
        except BaseException:
            self._cleanup.close()
            raise
        self._close_door()
        return membership

    def _close_door(self) -> None:
        for late in self._door.close() if self._door else ():
            late.connection.close()

    def _knock(
        self,
        address: tuple[str, int],
        channel: int,
        deadline: float,
        control: socket.socket | None = None,
    ) -> socket.socket:
        """Connect and be let in; try again until the deadline as long as nobody is there.

        Where there is a control connection already, it says why nobody will ever be there.
        """
        begun, pause, where = time.monotonic(), 0.005, f"{address[0]} port {address[1]}"
        while True:
            try:
                return self._introduced(address, channel, deadline)
            except Stranger as exc:
                raise InitializationFailed("tcp", f"{where}: {exc}") from None
            except Refusal as exc:
                raise InitializationFailed("tcp", str(exc)) from None
            except OSError as exc:
                problem = exc.strerror or str(exc)
            if control and not _is_silent(control):
                _read_begin(control, self._config.size, deadline)
            if time.monotonic() + pause >= deadline:
                raise InitializationFailed(
                    "tcp", f"cannot reach {where} within {deadline - begun:.3g} s: {problem}{self._tls_hint}"
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.5)

    @property
    def _tls_hint(self) -> str:
        """What to look at when a connection with TLS does not come about: the other side says nothing."""
        if self._tls is None:
            return ""
        return "; with TLS, see that all ranks use it and that COBRE_TCP_TLS_CA has signed their certificates"

    def _introduced(self, address: tuple[str, int], channel: int, deadline: float) -> socket.socket:
        connection = socket.create_connection(address, max(0.01, deadline - time.monotonic()))
        try:
            # On loopback a socket can happen to connect with itself.
            if connection.getsockname() == connection.getpeername():
                raise ConnectionRefusedError("nobody listens there")
            prepare(connection)
            self._open_door(connection.getsockname()[0])
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
        port = self._door.port if self._door else 0
        return Hello(channel, config.rank, config.size, os.getpid(), port, self._member, os.urandom(32))

    def _open_door(self, host: str) -> None:
        """Accept direct connections, on the network by which rank 0 is reached and on no other."""
        if self._door or self._config.size == 2 or self._config.topology == "star":
            return
        self._door = Door(listen(host, 0), self._secret, self._objection, self._tls)
        self._cleanup.callback(self._close_door)

    def _objection(self, hello: Hello) -> str | None:
        self._begun.wait(DIRECT_SECONDS)  # the other may have heard before this rank that all are there
        who = f"rank {hello.rank} (pid {hello.pid})"
        expected = (self._allowed or {}).pop(hello.rank, None)
        if hello.channel != DIRECT or expected != hello.member.hex():
            return f"{who} was not expected to connect directly"
        return _incompatible(who, hello)

    def _connect_directly(self, membership: Membership) -> None:
        """Connect with all ranks but 0: the higher one comes to the lower one's door."""
        if not self._door:  # then rank 0 cannot have counted on it
            raise InitializationFailed("tcp", _NO_BEGINNING)
        rank, size, members = self._config.rank, self._config.size, membership.members
        deadline = time.monotonic() + min(DIRECT_SECONDS, self._config.timeout_s / 2)
        self._allowed = {higher: members[higher].member for higher in range(rank + 1, size)}
        self._begun.set()
        try:
            for lower in range(1, rank):
                address = members[lower].host, members[lower].port
                membership.direct_links[lower] = self._knock(address, DIRECT, deadline)
            while len(membership.direct_links) < size - 2:
                guest = self._door.next_guest(deadline - time.monotonic())
                if guest is None:
                    absent = sorted(set(range(1, size)) - {rank} - set(membership.direct_links))
                    numbers = ", ".join(str(one) for one in absent)
                    raise InitializationFailed("tcp", f"ranks that did not come to rank {rank}: {numbers}")
                membership.direct_links[guest.hello.rank] = guest.connection
                self._cleanup.callback(guest.connection.close)
        # The latter two are raised for hosts and ports that can be none.
        except (InitializationFailed, Refusal, ValueError, OverflowError) as exc:
            membership.direct_problem = getattr(exc, "message", str(exc))


def _incompatible(who: str, hello: Hello) -> str | None:
    """Say in which way another rank's program or machine cannot be in one group with this one."""
    if hello.version != VERSION:
        return (
            f"{who} speaks version {hello.version} of the protocol, this rank version {VERSION}; "
            "install the same cobre everywhere"
        )
    if hello.byte_order != BYTE_ORDER:
        theirs, ours = BYTE_ORDERS.get(hello.byte_order, "unknown"), BYTE_ORDERS[BYTE_ORDER]
        return f"{who} has byte order {theirs}, this rank {ours}; a group needs machines of one byte order"
    return None


def _is_silent(connection: socket.socket) -> bool:
    """Whether nothing has come and the other end is there."""
    try:
        connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False  # it has ended, or speaks out of turn


def _send_frame(connection: socket.socket, tag: int, payload: bytes) -> None:
    connection.sendall(_FRAME.pack(b"cbrf", tag, len(payload)) + payload)


def _read_begin(control: socket.socket, size: int, deadline: float) -> Membership:
    """Wait until rank 0 says that the group is complete, or why it never will be."""
    try:
        magic, tag, length = _FRAME.unpack(receive(control, _FRAME.size, deadline))
        if magic != b"cbrf" or tag not in (_BEGIN, _ABORT) or length > _MOST_BEGIN_BYTES:
            raise InitializationFailed("tcp", _NO_BEGINNING)
        payload = receive(control, length, deadline)
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
    """Whether the fields of a member that came as JSON are what they should be."""
    return [type(field) for field in member] == [int, str, int, str]
