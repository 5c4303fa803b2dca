"""Mutual authentication: both ends of a connection prove that they hold the group's secret.

Four messages: hello, challenge, proof, verdict; ``docs/reference/tcp-wire-format.md`` has them byte by byte.
The client proves itself first, so that an unauthenticated client gets nothing to guess the secret from.
"""

from __future__ import annotations

import hmac
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
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


class NotAMember(Exception):
    """The other end is not a rank of this group, or could not prove that it is one."""


class Refusal(Exception):
    """The other end belongs to the group, but its settings conflict; both sides report the message."""


class Hello(NamedTuple):
    """First message of a connection: its rank, group size, process and channel."""

    channel: int
    rank: int
    size: int
    pid: int
    port: int  # on which it accepts direct connections; 0: none
    member: bytes  # distinguishes processes that claim the same rank
    nonce: bytes
    version: int = VERSION
    byte_order: int = BYTE_ORDER

    def pack(self) -> bytes:
        """Encode the message."""
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
        """Decode the message; raises `NotAMember` if it is malformed."""
        magic, version, byte_order, channel, rank, size, pid, port, member, nonce = _HELLO.unpack(message)
        if magic != MAGIC:
            raise NotAMember("it does not speak this protocol")
        return cls(channel, rank, size, pid, port, member, nonce, version, byte_order)


def greet(
    connection: socket.socket, secret: bytes, deadline: float, objection: Callable[[Hello], str | None]
) -> Hello:
    """Run the server's side; return the hello of an authenticated client to which there is no objection.

    Raises:
        NotAMember: the client is not a rank of this group.
        Refusal: it is one, but there is an objection, which was sent to it.
        OSError: the connection broke, or the deadline passed.
    """
    hello = receive(connection, _HELLO.size, deadline)
    peer = Hello.unpack(hello)
    challenge = _CHALLENGE.pack(MAGIC, VERSION, BYTE_ORDER, os.urandom(32))
    connection.sendall(challenge)
    proof = receive(connection, _PROOF_BYTES, deadline)
    if not hmac.compare_digest(proof, _proof(secret, b"cobre-tcp client", hello, challenge)):
        connection.sendall(_VERDICT.pack(WRONG_PROOF, 0) + bytes(_PROOF_BYTES))
        raise NotAMember("it could not prove that it holds the secret")
    problem = objection(peer)
    text = (problem or "").encode()[:MOST_TEXT_BYTES]
    verdict = _VERDICT.pack(REFUSED if problem else WELCOME, len(text))
    with suppress(OSError):  # it is a member, and missed as such if it has ended
        connection.sendall(
            verdict + _proof(secret, b"cobre-tcp server", hello, challenge, verdict, text) + text
        )
    if problem:
        raise Refusal(problem)
    return peer


def introduce(connection: socket.socket, secret: bytes, deadline: float, hello: Hello) -> None:
    """Run the client's side: return once both ends are authenticated and the server has no objection.

    Raises:
        NotAMember: the server is not a rank of this group.
        Refusal: it is one, but it objects.
        OSError: the connection broke, or the deadline passed.
    """
    message = hello.pack()
    connection.sendall(message)
    challenge = receive(connection, _CHALLENGE.size, deadline)
    if not challenge.startswith(MAGIC):
        raise NotAMember("the server does not speak this protocol; does the port belong to another service?")
    connection.sendall(_proof(secret, b"cobre-tcp client", message, challenge))
    verdict = receive(connection, _VERDICT.size, deadline)
    status, length = _VERDICT.unpack(verdict)
    proof = receive(connection, _PROOF_BYTES, deadline)
    if status == WRONG_PROOF:
        raise NotAMember("it does not accept this rank's secret; give all ranks the same one")
    if length > MOST_TEXT_BYTES:
        raise NotAMember("its verdict is malformed")
    text = receive(connection, length, deadline)
    expected = _proof(secret, b"cobre-tcp server", message, challenge, verdict, text)
    if not hmac.compare_digest(proof, expected):
        raise NotAMember("it could not prove that it holds the group's secret")
    if status != WELCOME:
        raise Refusal(text.decode(errors="replace"))


def receive(connection: socket.socket, length: int, deadline: float) -> bytes:
    """Return exactly ``length`` bytes; raises OSError if the peer closes or the deadline passes first."""
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
