"""The protocol of the tcp backend in plain sockets, written from docs/reference/tcp-wire-format.md alone.

It shares no line with the backend, so where the two understand each other the document is right. It waits
for nobody longer than `DEADLINE_S`, moves whole payloads at once, and is as strict as the document: whatever
is not byte for byte what should come is `Unexpected`.
"""

import contextlib
import functools
import hashlib
import hmac
import json
import operator
import os
import socket
import struct
import sys
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

#: Far more than anything takes, even where other work keeps all processors busy.
DEADLINE_S = 60.0

MAGIC, FRAME_MAGIC, VERSION = b"cobretcp", b"cbrf", 1
LITTLE, BIG = 1, 2
BYTE_ORDER = LITTLE if sys.byteorder == "little" else BIG
CONTROL, DATA, DIRECT = 1, 2, 3
WELCOME, WRONG_PROOF, REFUSED = 0, 1, 2
BRING, RESULT, GOODBYE, BEGIN, REPORT, QUESTION, ANSWER, ABORT = 1, 2, 3, 16, 17, 18, 19, 20
BARRIER, ALLGATHERV, ALLREDUCE, BROADCAST, CREATE_SHARED_REGION, SPLIT_LOCAL = 2, 3, 4, 5, 7, 8
SUM, MIN, MAX = 0, 1, 2
WAITING, SILENCE, LOST, DISAGREEMENT, MALFORMED, INTERRUPTED, LEFT = range(7)


class Unexpected(Exception):
    """The other side did what the document does not allow, or has gone."""


class Refused(Exception):
    """The server's verdict is not a welcome."""

    def __init__(self, status, text):
        super().__init__(status, text)
        self.status, self.text = status, text


# Messages of the handshake, always little-endian.


@dataclass(frozen=True)
class Hello:
    channel: int
    rank: int
    size: int
    pid: int
    member: bytes
    nonce: bytes
    port: int = 0
    version: int = VERSION
    byte_order: int = BYTE_ORDER

    LAYOUT = struct.Struct("<8sHBBIIIH6x16s32s")

    def pack(self):
        return self.LAYOUT.pack(
            MAGIC,
            self.version,
            self.byte_order,
            self.channel,
            self.rank,
            self.size,
            self.pid,
            self.port,
            self.member,
            self.nonce,
        )

    @classmethod
    def unpack(cls, data):
        _, version, byte_order, channel, rank, size, pid, port, member, nonce = cls.LAYOUT.unpack(data)
        hello = cls(channel, rank, size, pid, member, nonce, port, version, byte_order)
        expect(data, hello.pack(), "a hello")
        return hello


CHALLENGE = struct.Struct("<8sHB5x32s")
VERDICT = struct.Struct("<HH4x")


def challenge(nonce, version=VERSION, byte_order=BYTE_ORDER):
    return CHALLENGE.pack(MAGIC, version, byte_order, nonce)


def digest(secret, *pieces):
    return hmac.digest(secret.encode(), b"".join(pieces), hashlib.sha256)


def proof(secret, hello, challenge):
    return digest(secret, b"cobre-tcp client", hello, challenge)


def verdict(secret, hello, challenge, status=WELCOME, text=""):
    start = VERDICT.pack(status, len(text.encode()))
    signature = bytes(32)
    if status != WRONG_PROOF:
        signature = digest(secret, b"cobre-tcp server", hello, challenge, start, text.encode())
    return start + signature + text.encode()


# Frames, in the byte order of the group.

_ORDER = {LITTLE: "<", BIG: ">"}


class Call(NamedTuple):
    operation: int = 0
    reduction: int = 0
    root: int = 0
    element: int = 0
    count: int = 0
    parts: int = 0


class Frame(NamedTuple):
    tag: int
    sequence: int = 0
    call: Call = Call()
    part: int = 0
    payload: bytes = b""

    def pack(self, byte_order=BYTE_ORDER):
        return header(self, len(self.payload), byte_order) + self.payload


_HEADER = "4sB3xQQBBHIQQI4x"
HEADER_BYTES = struct.calcsize("<" + _HEADER)


def header(frame, length, byte_order=BYTE_ORDER):
    """The header of a frame, with any length, wrong ones too."""
    return struct.pack(
        _ORDER[byte_order] + _HEADER,
        FRAME_MAGIC,
        frame.tag,
        length,
        frame.sequence,
        *frame.call,
        frame.part,
    )


def unpack_header(data, byte_order=BYTE_ORDER):
    """The frame without its payload, and the payload's length."""
    _, tag, length, sequence, *call, part = struct.unpack(_ORDER[byte_order] + _HEADER, data)
    frame = Frame(tag, sequence, Call(*call), part)
    expect(data, header(frame, length, byte_order), "a header")
    return frame, length


def element_of(kind, itemsize, foreign=False):
    return ord(kind) << 24 | foreign << 23 | itemsize


def size_of(element):
    return element & (1 << 23) - 1


_FORMATS = {
    element_of(kind, struct.calcsize(letter)): letter
    for kind, letters in {"f": "efd", "i": "bhiq", "u": "BHIQ"}.items()
    for letter in letters
}


def combined(operands, element, reduction):
    """The operands reduced in rank order; integers wrap around."""
    letter = _FORMATS[element]
    columns = zip(
        *(struct.unpack(f"={len(o) // size_of(element)}{letter}", o) for o in operands), strict=True
    )
    bits = 8 * size_of(element)
    values = []
    for column in columns:
        value = functools.reduce({SUM: operator.add, MIN: min, MAX: max}[reduction], column)
        if letter.isupper():
            value %= 1 << bits
        elif letter in "bhiq":
            value = (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        values.append(value)
    return struct.pack(f"={len(values)}{letter}", *values)


def parts(lengths):
    value = 0xCBF29CE484222325
    for length in lengths:
        value = (value ^ length) * 0x100000001B3 % 2**64
    return value


_STATEMENT = "IIQBBHIQQI"
STATEMENT_BYTES = struct.calcsize("<" + _STATEMENT)


class Statement(NamedTuple):
    kind: int = WAITING
    peer: int = 0
    sequence: int = 0
    call: Call = Call()
    waits_for: tuple = ()
    text: str = ""

    def pack(self, byte_order=BYTE_ORDER):
        fields = (self.kind, self.peer, self.sequence, *self.call, len(self.waits_for))
        order = _ORDER[byte_order]
        ranks = struct.pack(f"{order}{len(self.waits_for)}I", *self.waits_for)
        return struct.pack(order + _STATEMENT, *fields) + ranks + self.text.encode()

    @classmethod
    def unpack(cls, data, byte_order=BYTE_ORDER):
        order = _ORDER[byte_order]
        kind, peer, sequence, *call, count = struct.unpack_from(order + _STATEMENT, data)
        ranks = struct.unpack_from(f"{order}{count}I", data, STATEMENT_BYTES)
        text = data[STATEMENT_BYTES + 4 * count :].decode()
        return cls(kind, peer, sequence, Call(*call), ranks, text)


def expect(found, wanted, what):
    if found != wanted:
        raise Unexpected(f"{what}: found {found!r}, wanted {wanted!r}")


# Connections.


class Channel:
    """A connection that remembers every byte that came."""

    def __init__(self, connection):
        connection.settimeout(DEADLINE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connection
        self.heard = bytearray()

    def read(self, count):
        """Exactly so many bytes."""
        start = len(self.heard)
        while len(self.heard) - start < count:
            piece = self.socket.recv(min(1 << 20, start + count - len(self.heard)))
            if not piece:
                raise Unexpected(f"the connection ended after {len(self.heard) - start} of {count} bytes")
            self.heard += piece
        return bytes(self.heard[start:])

    def write(self, data):
        self.socket.sendall(data)

    def read_frame(self):
        frame, length = unpack_header(self.read(HEADER_BYTES))
        return frame._replace(payload=self.read(length))

    def ended(self):
        """Wait for the other side to close, and whether it has said nothing more; a reset is an end too."""
        with contextlib.suppress(ConnectionResetError):
            return self.socket.recv(1) == b""
        return True

    def close(self):
        self.socket.close()


def reach(address):
    """A connection, as soon as somebody listens."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return socket.create_connection(address, DEADLINE_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)


def connect(address, secret, hello):
    """The handshake as a client; ``hello`` is sent as it is, right or wrong."""
    channel = Channel(reach(address))
    try:
        introduce(channel, secret, hello.pack())
    except BaseException:
        channel.close()
        raise
    return channel


def introduce(channel, secret, hello):
    channel.write(hello)
    question = channel.read(CHALLENGE.size)
    _, version, byte_order, nonce = CHALLENGE.unpack(question)
    expect(question, challenge(nonce, version, byte_order), "a challenge")
    channel.write(proof(secret, hello, question))
    start = channel.read(VERDICT.size)
    status, length = VERDICT.unpack(start)
    rest = channel.read(32 + length)
    text = rest[32:].decode()
    expect(start + rest, verdict(secret, hello, question, status, text), "a verdict")
    if status != WELCOME:
        raise Refused(status, text)


def accept(listener, secret):
    """The handshake as a server, up to the proof: the channel, the hello, and the challenge."""
    listener.settimeout(DEADLINE_S)
    channel = Channel(listener.accept()[0])
    try:
        hello = Hello.unpack(channel.read(Hello.LAYOUT.size))
        question = challenge(os.urandom(32))
        channel.write(question)
        expect(channel.read(32), proof(secret, hello.pack(), question), "a proof")
    except BaseException:
        channel.close()
        raise
    return channel, hello, question


# Ranks: one of two, and a worker in a star.


class Rank:
    """Two connections, a count of the collectives, and the members as the begin told them."""

    def __init__(self, rank, size, control, data, member):
        self.rank, self.size, self.control, self.data, self.member = rank, size, control, data, member
        self.sequence = 0
        self.members = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hang_up()

    def hang_up(self):
        """End both connections without a word, as a crash does."""
        self.control.close()
        self.data.close()

    def say_goodbye(self):
        for channel in (self.control, self.data):
            channel.write(Frame(GOODBYE).pack())

    def hear_goodbye(self):
        for channel in (self.control, self.data):
            expect(channel.read_frame(), Frame(GOODBYE), "the last frame")

    def bring(self, call, payload=b""):
        """Begin a collective."""
        self.sequence += 1
        self.data.write(Frame(BRING, self.sequence, call, self.rank, payload).pack())

    def hear(self, tag, call, part, length):
        """The payload of the next frame, which must be this one."""
        frame = self.data.read_frame()
        expect(frame, Frame(tag, self.sequence, call, part, frame.payload), "a frame")
        expect(len(frame.payload), length, "the length of a payload")
        return frame.payload

    def start(self, host=b"plain"):
        """The first two collectives of every group, by which all learn which ranks share a machine."""
        i8, u1 = element_of("i", 8), element_of("u", 1)
        sizes = self.allgatherv(struct.pack("=q", len(host)), [8] * self.size, i8)
        lengths = [struct.unpack("=q", size)[0] for size in sizes]
        return self.allgatherv(host, lengths, u1)

    # The public calls. Data are bytes; each returns what the call gives to this rank.

    def allgatherv(self, mine, lengths, element):
        """The parts of all ranks, in rank order; ``lengths`` are in bytes."""
        total = sum(lengths) // size_of(element)
        return self._gather(
            Call(ALLGATHERV, element=element, count=total, parts=parts(lengths)), mine, lengths
        )

    def allreduce(self, mine, element, reduction=SUM):
        call = Call(ALLREDUCE, reduction, element=element, count=len(mine) // size_of(element))
        return self._reduce(call, mine, element)

    def broadcast(self, mine, element, root=0):
        """The root's data; of what the others give only the length counts."""
        call = Call(BROADCAST, root=root, element=element, count=len(mine) // size_of(element))
        return self._spread(call, mine)

    def create_shared_region(self, count, element):
        """Whether all ranks have memory for it."""
        self._spread(Call(CREATE_SHARED_REGION, element=element, count=count), bytes(8))
        return self._reduce(Call(ALLREDUCE, MIN), b"\1", element_of("u", 1)) == b"\1"

    def split_local(self):
        self._spread(Call(SPLIT_LOCAL), bytes(8))


class OneOfTwo(Rank):
    """Both ranks send each other the same frames; neither is special."""

    def barrier(self):
        self.bring(Call(BARRIER))
        self.hear(BRING, Call(BARRIER), 1 - self.rank, 0)

    def _gather(self, call, mine, lengths):
        self.bring(call, mine)
        theirs = self.hear(BRING, call, 1 - self.rank, lengths[1 - self.rank])
        return [mine, theirs] if self.rank == 0 else [theirs, mine]

    def _reduce(self, call, mine, element):
        return combined(self._gather(call, mine, [len(mine)] * 2), element, call.reduction)

    def _spread(self, call, mine):
        is_root = self.rank == call.root
        self.bring(call, mine if is_root else b"")
        theirs = self.hear(BRING, call, 1 - self.rank, 0 if is_root else len(mine))
        return mine if is_root else theirs


class StarWorker(Rank):
    """Everything goes to rank 0, and comes from there."""

    def barrier(self):
        self.bring(Call(BARRIER))
        self.hear(RESULT, Call(BARRIER), 0, 0)

    def _gather(self, call, mine, lengths):
        self.bring(call, mine)
        gathered = {self.rank: mine}
        while len(gathered) < self.size:
            frame = self.data.read_frame()
            expect(frame, Frame(RESULT, self.sequence, call, frame.part, frame.payload), "a frame")
            expect(frame.part in set(range(self.size)) - gathered.keys(), True, "a part that is missing")
            expect(len(frame.payload), lengths[frame.part], "the length of a part")
            gathered[frame.part] = frame.payload
        return [gathered[rank] for rank in range(self.size)]

    def _reduce(self, call, mine, element):
        self.bring(call, mine)
        return self.hear(RESULT, call, 0, len(mine))

    def _spread(self, call, mine):
        is_root = self.rank == call.root
        self.bring(call, mine if is_root else b"")
        theirs = self.hear(RESULT, call, 0, 0 if is_root else len(mine))
        return mine if is_root else theirs


def knock(address, secret, rank, size, pid):
    """The two connections of a worker, after their handshakes: ``begun`` makes a rank of them."""
    member, opened = os.urandom(16), []
    try:
        for channel in (CONTROL, DATA):
            hello = Hello(channel, rank, size, pid, member, os.urandom(32))
            opened.append(connect(address, secret, hello))
    except BaseException:
        for channel in opened:
            channel.close()
        raise
    return Rank(rank, size, *opened, member)


def begun(waiting):
    """The rank, once rank 0 has said that the group is complete."""
    try:
        begin = waiting.control.read_frame()
        expect(begin, Frame(BEGIN, payload=begin.payload), "the begin")
        told = json.loads(begin.payload)
        expect(told["topology"], "star", "the topology, of which this peer knows one")
        kind = OneOfTwo if waiting.size == 2 else StarWorker
        worker = kind(waiting.rank, waiting.size, waiting.control, waiting.data, waiting.member)
        worker.members = told["members"]
        expect(worker.members[worker.rank]["member"], worker.member.hex(), "this rank in the begin")
        expect(len(worker.members), worker.size, "the number of members")
    except BaseException:
        waiting.hang_up()
        raise
    return worker


def join(address, secret, rank, size, pid):
    """Join the group of a rank 0 as the process ``pid``, and wait until it begins."""
    return begun(knock(address, secret, rank, size, pid))


def coordinate(listener, secret, pid, change_begin=lambda begin: begin):
    """Be rank 0 of 2 as the process ``pid``: let rank 1 in, on both of its connections, and begin."""
    opened = {}
    try:
        while len(opened) < 2:
            channel, hello, question = accept(listener, secret)
            opened[hello.channel] = channel, hello
            channel.write(verdict(secret, hello.pack(), question))
        (control, hello), (data, twin) = opened[CONTROL], opened[DATA]
        expect(twin, replace(hello, channel=DATA, nonce=twin.nonce), "the hello on the data connection")
        rank0 = OneOfTwo(0, 2, control, data, os.urandom(16))
        rank0.members = [
            {"pid": pid, "host": "127.0.0.1", "port": 0, "member": rank0.member.hex()},
            {"pid": hello.pid, "host": "127.0.0.1", "port": hello.port, "member": hello.member.hex()},
        ]
        told = json.dumps({"topology": "star", "members": rank0.members})
        control.write(change_begin(Frame(BEGIN, payload=told.encode()).pack()))
    except BaseException:
        for channel, _ in opened.values():
            channel.close()
        raise
    return rank0
