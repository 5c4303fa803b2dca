"""Messages and frames of the tcp backend, written from docs/reference/tcp-wire-format.md alone.

It shares no line with the backend, and is as strict as the document: whatever is not byte for byte what
should come is `Unexpected`.
"""

import functools
import hashlib
import hmac
import operator
import struct
import sys
from dataclasses import dataclass
from typing import NamedTuple

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
