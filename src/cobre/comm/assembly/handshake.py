"""Proving to each other that both ends of a connection hold the group's secret.

Four messages: hello, challenge, proof, verdict; ``docs/reference/tcp-wire-format.md`` has them byte by byte.
The client proves itself first, so that whoever merely connects gets nothing to guess the secret from.
"""

from __future__ import annotations

import hmac
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

MAGIC = b"cobretcp"
VERSION = 1
BYTE_ORDERS = {1: "little", 2: "big"}
BYTE_ORDER = 1 if sys.byteorder == "little" else 2
CONTROL, DATA, DIRECT = 1, 2, 3
WELCOME, WRONG_PROOF, REFUSED = 0, 1, 2
MOST_TEXT_BYTES = 400

_HELLO = struct.Struct("<8sHBBIIIH6x16s32s")
_CHALLENGE = struct.Struct("<8sHB5x32s")
_VERDICT = struct.Struct("<HH4x")
_PROOF_BYTES = 32


class Stranger(Exception):
    """The other end is no rank of this group, or could not prove that it is one."""


class Refusal(Exception):
    """The other end belongs to the group, and the two disagree. The words are for people on both sides."""


class Hello(NamedTuple):
    """Who connects, and for what."""

    channel: int
    rank: int
    size: int
    pid: int
    port: int  # on which it accepts direct connections; 0: none
    member: bytes  # tells processes apart that say they are the same rank
    nonce: bytes
    version: int = VERSION
    byte_order: int = BYTE_ORDER

    def pack(self) -> bytes:
        """Return the message."""
        return _HELLO.pack(
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
    def unpack(cls, message: bytes) -> Hello:
        """Read the message; raises `Stranger` if it is none."""
        magic, version, byte_order, channel, rank, size, pid, port, member, nonce = _HELLO.unpack(message)
        if magic != MAGIC:
            raise Stranger("it does not speak this protocol")
        return cls(channel, rank, size, pid, port, member, nonce, version, byte_order)


def greet(
    connection: socket.socket, secret: bytes, deadline: float, objection: Callable[[Hello], str | None]
) -> Hello:
    """Be the server: return who it is, once that is proved and ``objection`` has none.

    Raises:
        Stranger: it is no rank of this group.
        Refusal: it is, and there is an objection, which it was told.
        OSError: the connection broke, or the deadline passed.
    """
    hello = receive(connection, _HELLO.size, deadline)
    guest = Hello.unpack(hello)
    challenge = _CHALLENGE.pack(MAGIC, VERSION, BYTE_ORDER, os.urandom(32))
    connection.sendall(challenge)
    proof = receive(connection, _PROOF_BYTES, deadline)
    if not hmac.compare_digest(proof, _proof(secret, b"cobre-tcp client", hello, challenge)):
        connection.sendall(_VERDICT.pack(WRONG_PROOF, 0) + bytes(_PROOF_BYTES))
        raise Stranger("it could not prove that it holds the secret")
    problem = objection(guest)
    text = (problem or "").encode()[:MOST_TEXT_BYTES]
    verdict = _VERDICT.pack(REFUSED if problem else WELCOME, len(text))
    connection.sendall(verdict + _proof(secret, b"cobre-tcp server", hello, challenge, verdict, text) + text)
    if problem:
        raise Refusal(problem)
    return guest


def introduce(connection: socket.socket, secret: bytes, deadline: float, hello: Hello) -> None:
    """Be the client: return once both ends have proved themselves and the server has no objection.

    Raises:
        Stranger: whoever answers is not of this group.
        Refusal: it is, and it objects.
        OSError: the connection broke, or the deadline passed.
    """
    message = hello.pack()
    connection.sendall(message)
    challenge = receive(connection, _CHALLENGE.size, deadline)
    if not challenge.startswith(MAGIC):
        raise Stranger("what answers there does not speak this protocol; is it another service's port?")
    connection.sendall(_proof(secret, b"cobre-tcp client", message, challenge))
    verdict = receive(connection, _VERDICT.size, deadline)
    status, length = _VERDICT.unpack(verdict)
    proof = receive(connection, _PROOF_BYTES, deadline)
    if status == WRONG_PROOF:
        raise Stranger("it does not accept this rank's secret; give all ranks the same one")
    if length > MOST_TEXT_BYTES:
        raise Stranger("its verdict is malformed")
    text = receive(connection, length, deadline)
    expected = _proof(secret, b"cobre-tcp server", message, challenge, verdict, text)
    if not hmac.compare_digest(proof, expected):
        raise Stranger("it could not prove that it holds the group's secret")
    if status != WELCOME:
        raise Refusal(text.decode(errors="replace"))


def receive(connection: socket.socket, length: int, deadline: float) -> bytes:
    """Return exactly ``length`` bytes; raises OSError if the peer ends or the deadline passes before."""
    message = b""
    while len(message) < length:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        connection.settimeout(left)
        received = connection.recv(length - len(message))
        if not received:
            raise ConnectionResetError("the other end closed the connection")
        message += received
    return message


def _proof(secret: bytes, role: bytes, *messages: bytes) -> bytes:
    return hmac.digest(secret, role + b"".join(messages), "sha256")
