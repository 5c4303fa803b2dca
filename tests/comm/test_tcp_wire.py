"""The tcp backend against a plain-socket implementation of its document: ``tests/comm/tcp_peer.py``."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cobre.comm import ReduceOp
from tests.comm import tcp_format, tcp_peer
from tests.comm.tcp_format import Call, Frame, Hello, Statement, element_of
from tests.comm.tcp_ranks import PID, SECRET, enter_barrier, join

# How the vectors were made. Fields were written down one after the other by the tables of
# docs/reference/tcp-wire-format.md; proofs are from `openssl dgst -sha256 -mac HMAC -macopt key:…` over those
# bytes, digests of parts from a shell's 64-bit arithmetic. No code of cobre had a part in it.
VECTORS = json.loads((Path(__file__).parent / "data" / "tcp_vectors.json").read_text())
HANDSHAKE = VECTORS["handshake"]


def constant(name):
    return getattr(tcp_format, name.upper().replace(" ", "_"))


def element(text):
    """``f8`` or ``>i4``, as NumPy writes it."""
    kind, size = text.lstrip(">")[0], int(text.lstrip(">")[1:])
    return element_of(kind, size, foreign=text.startswith(">"))


def call(fields):
    return Call(
        constant(fields["operation"]) if "operation" in fields else 0,
        constant(fields["reduction"]) if "reduction" in fields else 0,
        fields.get("root", 0),
        element(fields["element"]) if "element" in fields else 0,
        fields.get("count", 0),
        int(fields.get("parts", "0"), 16),
    )


def payload(vector):
    if "statement" in vector:
        said = vector["statement"]
        kind, waits_for = constant(said["kind"]), tuple(said.get("waits_for", ()))
        statement = Statement(kind, said["peer"], said.get("sequence", 0), call(said), waits_for)
        return statement.pack(tcp_format.LITTLE)
    if "text" in vector:
        return vector["text"].encode()
    dtype = vector["fields"].get("element", "u1")
    return np.array(vector.get("payload", []), dtype if dtype.startswith(">") else f"<{dtype}").tobytes()


def frame(vector):
    fields = vector["fields"]
    return Frame(
        constant(fields["tag"]),
        fields.get("sequence", 0),
        call(fields),
        fields.get("part", 0),
        payload(vector),
    )


# The vectors against the plain implementation.


def hello_vector():
    fields = dict(HANDSHAKE["hello"]["fields"])
    for name in ("byte_order", "channel"):
        fields[name] = constant(fields[name])
    for name in ("member", "nonce"):
        fields[name] = bytes.fromhex(fields[name])
    return Hello(**fields)


def challenge_vector():
    return bytes.fromhex(HANDSHAKE["challenge"]["hex"])


def test_the_handshake_of_the_vectors():
    hello, secret = hello_vector(), HANDSHAKE["secret"]
    assert hello.pack() == bytes.fromhex(HANDSHAKE["hello"]["hex"])
    assert Hello.unpack(hello.pack()) == hello
    fields = HANDSHAKE["challenge"]["fields"]
    byte_order = constant(fields["byte_order"])
    challenge = tcp_format.challenge(bytes.fromhex(fields["nonce"]), fields["version"], byte_order)
    assert challenge == challenge_vector()
    assert tcp_format.proof(secret, hello.pack(), challenge) == bytes.fromhex(HANDSHAKE["proof"]["hex"])


@pytest.mark.parametrize("vector", HANDSHAKE["verdicts"], ids=lambda vector: vector["fields"]["status"])
def test_a_verdict_of_the_vectors(vector):
    status, text = constant(vector["fields"]["status"]), vector["fields"]["text"]
    hello, challenge = hello_vector().pack(), challenge_vector()
    verdict = tcp_format.verdict(HANDSHAKE["secret"], hello, challenge, status, text)
    assert verdict == bytes.fromhex(vector["hex"])


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"].replace(" ", "_"))
def test_a_frame_of_the_vectors(vector):
    written = bytes.fromhex(vector["hex"])
    assert frame(vector).pack(tcp_format.LITTLE) == written
    assert len(written) == 56 + vector["fields"]["length"]
    read, length = tcp_format.unpack_header(written[:56], tcp_format.LITTLE)
    assert read == frame(vector)._replace(payload=b"")
    assert length == vector["fields"]["length"]
    if "lengths" in vector:
        assert tcp_format.parts(vector["lengths"]) == int(vector["fields"]["parts"], 16)
    if "statement" in vector:
        assert Statement.unpack(written[56:], tcp_format.LITTLE).pack(tcp_format.LITTLE) == written[56:]


# Every collective, in both roles.

DTYPES = ["f8", "f4", "f2", "i8", "i4", "u2", "i1"]


def numbers(rank, dtype, count):
    """Different on every rank; sums of integers wrap around, sums of fractions are rounded."""
    if np.dtype(dtype).kind == "f":
        return (np.arange(count) % 100 + rank + 0.1).astype(dtype)
    return (np.arange(count) * 37 + 10**18 * (rank + 7)).astype(dtype)


def real_calls(dtype, count):
    """All results of a real rank, as bytes; the plain rank makes the same calls."""

    def body(comm):
        results = []
        comm.barrier()
        lengths = [count + 3 * rank for rank in range(comm.size)]
        gathered = np.zeros(sum(lengths), dtype)
        comm.allgatherv(numbers(comm.rank, dtype, lengths[comm.rank]), gathered, lengths)
        results.append(gathered.tobytes())
        for op in (ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX):
            reduced = np.zeros(count, dtype)
            comm.allreduce(numbers(comm.rank, dtype, count), reduced, op)
            results.append(reduced.tobytes())
        for root in range(comm.size):
            data = numbers(comm.rank, dtype, count)
            comm.broadcast(data, root)
            results.append(data.tobytes())
        with comm.create_shared_region(count, dtype) as region:
            results.append(region.as_array().tobytes())
        with comm.split_local() as local:
            results.append((local.rank, local.size))
        return results

    return body


def plain_calls(peer, dtype, count):
    coded, itemsize = element(dtype), np.dtype(dtype).itemsize
    results = []
    peer.start()
    peer.barrier()
    lengths = [count + 3 * rank for rank in range(peer.size)]
    mine = numbers(peer.rank, dtype, lengths[peer.rank]).tobytes()
    results.append(b"".join(peer.allgatherv(mine, [length * itemsize for length in lengths], coded)))
    mine = numbers(peer.rank, dtype, count).tobytes()
    results += [peer.allreduce(mine, coded, op) for op in (tcp_format.SUM, tcp_format.MIN, tcp_format.MAX)]
    results += [peer.broadcast(mine, coded, root) for root in range(peer.size)]
    assert peer.create_shared_region(count, coded)
    peer.split_local()
    return results


def expected_calls(size, dtype, count):
    """By NumPy alone, in rank order."""
    operands = [numbers(rank, dtype, count) for rank in range(size)]
    total = operands[0]
    for operand in operands[1:]:
        total = total + operand
    gathered = [numbers(rank, dtype, count + 3 * rank) for rank in range(size)]
    arrays = [np.concatenate(gathered), total, np.min(operands, axis=0), np.max(operands, axis=0), *operands]
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("count", [1, 50_000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_plain_rank_1_and_a_real_rank_0_understand_each_other(port, start, dtype, count):
    real = start(0, 2, real_calls(dtype, count))
    with join(port, 1, 2) as peer:
        told = plain_calls(peer, dtype, count)
        peer.hear_goodbye()
        peer.say_goodbye()
    expected = expected_calls(2, dtype, count)
    nothing = np.zeros(count, dtype).tobytes()
    assert told == expected
    assert real.result() == [*expected, nothing, (0, 1)]


@pytest.mark.parametrize("count", [1, 50_000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_plain_rank_0_and_a_real_rank_1_understand_each_other(listener, start, dtype, count):
    real = start(1, 2, real_calls(dtype, count), port=listener.getsockname()[1])
    with tcp_peer.coordinate(listener, SECRET, PID) as peer:
        told = plain_calls(peer, dtype, count)
        peer.hear_goodbye()
        peer.say_goodbye()
    expected = expected_calls(2, dtype, count)
    assert told == expected
    assert real.result()[: len(expected)] == expected


@pytest.mark.parametrize("count", [1, 50_000])
@pytest.mark.parametrize("rank", [1, 2])
def test_a_plain_worker_in_a_star_of_three(port, start, rank, count):
    real = [start(other, 3, real_calls("f8", count), topology="star") for other in range(3) if other != rank]
    with join(port, rank, 3) as peer:
        assert isinstance(peer, tcp_peer.StarWorker)
        told = plain_calls(peer, "f8", count)
        peer.hear_goodbye()
        peer.say_goodbye()
    expected = expected_calls(3, "f8", count)
    assert told == expected
    for one in real:
        assert one.result()[: len(expected)] == expected


@pytest.mark.parametrize("count", [1, 50_000])
@pytest.mark.parametrize("rank", [1, 2])
def test_a_plain_rank_among_three_that_are_connected_directly(port, start, rank, count):
    """50 000 numbers are reduced and broadcast in shares. The higher of two ranks opens the connection."""
    real = [
        start(other, 3, real_calls("f8", count), topology="direct") for other in range(3) if other != rank
    ]
    with tcp_peer.join_directly(("127.0.0.1", port), SECRET, rank, 3, PID) as peer:
        told = plain_calls(peer, "f8", count)
        expected = expected_calls(3, "f8", count)
        assert told == expected
        for one in real:
            assert one.result()[: len(expected)] == expected


# The bytes that real ranks send, where the document leaves no choice.

little_endian = pytest.mark.skipif(
    tcp_format.BYTE_ORDER != tcp_format.LITTLE, reason="the vectors are of a little-endian group"
)


def vector_of(tag):
    return next(vector for vector in VECTORS["frames"] if vector["fields"]["tag"] == tag)


#: What rank 1 of 2 sends in the calls of `calls_of_the_vectors`, one frame for each.
OF_RANK_1 = [vector for vector in VECTORS["frames"] if vector["fields"]["tag"] == "bring"]
BYTES_OF_RANK_1 = b"".join(bytes.fromhex(vector["hex"]) for vector in OF_RANK_1)
GOODBYE = bytes.fromhex(vector_of("goodbye")["hex"])


def calls_of_the_vectors(comm):
    comm.barrier()
    comm.allgatherv(np.array([1.5]), np.zeros(4), [3, 1])
    comm.allreduce(np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4))
    comm.allreduce(np.array([7, 255], np.uint8), np.zeros(2, np.uint8), ReduceOp.MAX)
    comm.broadcast(np.array([1, -2, 3], np.int32), root=1)
    comm.broadcast(np.zeros(3, ">i4"), root=0)


#: How many bytes rank 0 brings to each of them.
BYTES_OF_RANK_0 = [0, 24, 32, 2, 0, 12]


@little_endian
def test_a_real_rank_1_sends_the_vectors(listener, start):
    real = start(1, 2, calls_of_the_vectors, port=listener.getsockname()[1])
    with tcp_peer.coordinate(listener, SECRET, PID) as peer:
        expected = replace(hello_vector(), pid=os.getpid())
        for channel, heard in ((tcp_format.CONTROL, peer.control.heard), (tcp_format.DATA, peer.data.heard)):
            hello = Hello.unpack(heard[:80])
            assert hello == replace(expected, channel=channel, member=hello.member, nonce=hello.nonce)
        peer.start()
        for vector, length in zip(OF_RANK_1, BYTES_OF_RANK_0, strict=True):
            peer.bring(call(vector["fields"]), bytes(length))
        assert peer.data.read(len(BYTES_OF_RANK_1) + len(GOODBYE)) == BYTES_OF_RANK_1 + GOODBYE
        assert peer.control.read(len(GOODBYE)) == GOODBYE
        assert peer.control.ended()
        assert peer.data.ended()
    real.result()


@little_endian
def test_a_real_rank_0_sends_the_vectors(port, start):
    """The same frames from rank 0 differ in their part only; its handshake in nothing but nonces."""
    calls = [Call(tcp_format.BARRIER), Call(tcp_format.ALLREDUCE, element=element("f8"), count=4)]
    real = start(0, 2, lambda comm: (comm.barrier(), comm.allreduce(np.arange(4.0), np.zeros(4))))
    with join(port, 1, 2) as peer:
        for heard in (peer.control.heard, peer.data.heard):
            nonce = bytes(heard[16:48])
            assert heard[:48] == challenge_vector()[:16] + nonce
        peer.start()
        peer.bring(calls[0])
        peer.bring(calls[1], bytes(32))
        sent = b"".join(
            Frame(tcp_format.BRING, number, made, 0, brought).pack()
            for number, made, brought in ((3, calls[0], b""), (4, calls[1], np.arange(4.0).tobytes()))
        )
        assert peer.data.read(len(sent)) == sent
        assert peer.data.read(len(GOODBYE)) == GOODBYE
        assert peer.control.read(len(GOODBYE)) == GOODBYE
    real.result()


@little_endian
def test_a_real_rank_0_in_a_star_sends_the_vector(port, start):
    """To rank 1: its own part first, and then that of rank 2."""
    vector = vector_of("result")
    real = start(0, 3, lambda comm: comm.allgatherv(np.array([9.0]), np.zeros(4), [1, 2, 1]), topology="star")
    with two_workers(port) as (rank1, rank2):
        rank1.bring(call(vector["fields"]), bytes(16))
        rank2.bring(call(vector["fields"]), payload(vector))
        of_rank_0 = frame(vector)._replace(part=0, payload=np.array([9.0]).tobytes())
        sent = of_rank_0.pack() + bytes.fromhex(vector["hex"])
        assert rank1.data.read(len(sent)) == sent
        real.result()


@contextmanager
def two_workers(port):
    """Plain ranks 1 and 2 of a star, ready for their first collective."""
    address = ("127.0.0.1", port)
    with ExitStack() as connections, ThreadPoolExecutor() as threads:
        waiting = [
            connections.enter_context(tcp_peer.knock(address, SECRET, rank, 3, PID + rank)) for rank in (1, 2)
        ]
        workers = [tcp_peer.begun(one) for one in waiting]
        list(threads.map(lambda worker: worker.start(), workers))
        yield workers


@little_endian
def test_what_a_real_rank_1_says_when_something_is_wrong(listener, start):
    """In a barrier it is asked, and answers; it gets the frame of an allreduce, and reports it."""
    real = start(1, 2, lambda comm: comm.barrier(), port=listener.getsockname()[1])
    report, answer, question, abort = map(vector_of, ("report", "answer", "question", "abort"))
    with tcp_peer.coordinate(listener, SECRET, PID) as peer:
        enter_barrier(peer)
        peer.control.write(bytes.fromhex(question["hex"]))
        assert peer.control.read_frame().pack() == bytes.fromhex(answer["hex"])
        peer.bring(call(report["statement"]), bytes(32))
        assert peer.control.read_frame().pack() == bytes.fromhex(report["hex"])
        peer.control.write(bytes.fromhex(abort["hex"]))
        assert real.failure() == f"barrier: {abort['text']}"


def test_what_a_real_rank_0_says_when_a_worker_reports_silence(port, start):
    """It asks all; who does not answer is at fault, and all are told."""
    real = start(0, 3, lambda comm: comm.broadcast(np.zeros(1)), topology="star")
    with two_workers(port) as (rank1, rank2):
        made = in_broadcast(rank1)
        waiting = Statement(tcp_format.SILENCE, waits_for=(0,)).pack()
        rank1.control.write(Frame(tcp_format.REPORT, 3, made, payload=waiting).pack())
        for worker in (rank1, rank2):
            assert worker.control.read_frame() == Frame(tcp_format.QUESTION)
        words = real.failure().removeprefix("broadcast: ")
        assert f"rank 2 (pid {PID + 2}) did not come within " in words
        for worker in (rank1, rank2):
            assert worker.control.read_frame() == Frame(tcp_format.ABORT, payload=words.encode())


def test_what_a_real_rank_0_says_when_a_rank_dies(port, start):
    real = start(0, 3, lambda comm: comm.broadcast(np.zeros(1)), topology="star")
    with two_workers(port) as (rank1, rank2):
        in_broadcast(rank1)
        rank2.hang_up()
        words = real.failure().removeprefix("broadcast: ")
        assert f"rank 2 (pid {PID + 2}) exited" in words
        while (told := rank1.control.read_frame()) == Frame(tcp_format.QUESTION):
            pass  # asked where the end of the data connection was seen first
        assert told == Frame(tcp_format.ABORT, payload=words.encode())


def in_broadcast(worker):
    """The call, once its result shows that rank 0 is in it and waits for both workers."""
    made = Call(tcp_format.BROADCAST, element=element("f8"), count=1)
    worker.bring(made)
    worker.hear(worker.data, tcp_format.RESULT, made, 0, 8)
    return made
