"""Who a tcp group lets in while it assembles: strangers count for nothing, ranks that disagree are told."""

import contextlib
import json
import os
import socket
import threading
import time
from dataclasses import replace

import pytest

from cobre.comm import InitializationFailed
from cobre.comm.assembly import admission
from cobre.comm.assembly.admission import AdmissionListener
from tests.comm import tcp_format, tcp_peer
from tests.comm.tcp_format import CONTROL, DATA, REFUSED, WRONG_PROOF, Frame, Hello
from tests.comm.tcp_peer import Channel, Refused
from tests.comm.tcp_ranks import PID, SECRET, join

#: What a stranger sends, and how long it is: never enough to be heard out.
GREETINGS = {
    "nothing": b"",
    "HTTP": b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: scanner\r\n\r\n",
    "TLS": bytes.fromhex("16030100f4010000f00303") + bytes(range(233)),
    "zeros": bytes(1000),
    "random": bytes.fromhex("8d1f0c7a55e9b3426f") * 40,
    "half a hello": b"cobretcp\1\0\1\1",
}


def a_hello(rank=1, size=2, channel=CONTROL, **fields):
    return replace(Hello(channel, rank, size, PID, os.urandom(16), os.urandom(32)), **fields)


def reach(port):
    return tcp_peer.reach(("127.0.0.1", port))


def connect(port, hello, secret=SECRET):
    return tcp_peer.connect(("127.0.0.1", port), secret, hello)


# Strangers.


@pytest.mark.parametrize("greeting", GREETINGS)
def test_a_stranger_is_closed_and_the_group_assembles(port, start, greeting):
    real = start(0, 2)
    with contextlib.closing(Channel(reach(port))) as stranger:
        with contextlib.suppress(OSError):  # it may be closed already
            stranger.write(GREETINGS[greeting])
            stranger.socket.shutdown(socket.SHUT_WR)
        assert_closed(stranger)
    with join(port, 1, 2) as peer:
        finish(peer)
    real.result()


def assert_closed(stranger):
    """Rank 0 says nothing more than a challenge, and ends it."""
    with contextlib.suppress(ConnectionResetError):
        while stranger.socket.recv(1000):
            pass


def test_strangers_who_stay_do_not_delay_a_group(port, start):
    """200 that say nothing, and some that begin to; each of them could hold the listener for 5 seconds."""
    ranks = [start(0, 3)]
    with contextlib.ExitStack() as open_connections:
        strangers = [open_connections.enter_context(reach(port)) for _ in range(200)]
        for number, stranger in enumerate(strangers[:60]):
            stranger.sendall(a_hello().pack()[: number + 1])
        began = time.monotonic()
        ranks += [start(rank, 3) for rank in (1, 2)]
        for rank in ranks:
            rank.result()
        assert time.monotonic() - began < 4.5


def test_a_stranger_who_is_slow_is_closed_after_5_seconds(port, start):
    """A byte now and then does not keep it alive, and the group assembles afterwards."""
    real = start(0, 2)
    with reach(port) as stranger:
        began = time.monotonic()
        stranger.settimeout(0.2)
        hello = a_hello().pack()
        with contextlib.suppress(ConnectionError):
            for number in range(len(hello)):
                stranger.sendall(hello[number : number + 1])
                with contextlib.suppress(TimeoutError):
                    if stranger.recv(1) == b"":
                        break
        assert 4.0 < time.monotonic() - began < 20.0
    with join(port, 1, 2) as peer:
        finish(peer)
    real.result()


def test_a_wrong_proof_is_a_strangers(port, start):
    real = start(0, 2)
    with pytest.raises(Refused) as refused:
        connect(port, a_hello(), secret="a guess")
    assert (refused.value.status, refused.value.text) == (WRONG_PROOF, "")
    worker = start(1, 2, secret="another guess")
    assert "secret" in worker.failure(InitializationFailed)
    with join(port, 1, 2) as peer:
        finish(peer)
    real.result()


def test_a_handshake_that_was_overheard_admits_nobody(port, start):
    """The same hello and the same proof again: the challenge is another one."""
    real = start(0, 2)
    hello = a_hello()
    with contextlib.closing(connect(port, hello)) as control:
        question = bytes(control.heard[: tcp_format.CHALLENGE.size])
        overheard = tcp_format.proof(SECRET, hello.pack(), question)
        with contextlib.closing(Channel(reach(port))) as replayed:
            replayed.write(hello.pack())
            assert replayed.read(len(question)) != question
            replayed.write(overheard)
            assert replayed.read(40) == tcp_format.verdict(SECRET, hello.pack(), question, WRONG_PROOF)
            assert replayed.ended()
        # The one who was overheard is a rank still.
        data = connect(port, replace(hello, channel=DATA, nonce=os.urandom(32)))
        with tcp_peer.begun(tcp_peer.Rank(1, 2, control, data, hello.member)) as peer:
            finish(peer)
    real.result()


def finish(peer):
    """What a rank does in these tests once it is in."""
    peer.start()
    peer.barrier()
    peer.hear_goodbye()


def test_strangers_at_the_listener_of_a_worker_count_for_nothing(port, start):
    """Where ranks connect with each other, each has a listener of its own."""
    real = [start(rank, 3, topology="direct") for rank in (0, 1)]

    def crowd(address):
        with contextlib.closing(Channel(tcp_peer.reach(address))) as stranger:
            with contextlib.suppress(OSError):
                stranger.write(GREETINGS["HTTP"] * 3)
            assert_closed(stranger)
        with pytest.raises(Refused) as refused:
            tcp_peer.connect(address, "a guess", a_hello(2, 3, tcp_format.DIRECT))
        assert refused.value.status == WRONG_PROOF

    address = ("127.0.0.1", port)
    with tcp_peer.join_directly(address, SECRET, 2, 3, PID, before_connecting=crowd) as peer:
        peer.start()
        peer.barrier()
        for one in real:
            one.result()


# Ranks that hold the secret, and disagree.

DISAGREEMENTS = {
    "size": ({"size": 3}, ["3 ranks", "2"]),
    "rank": ({"rank": 5}, ["rank 5"]),
    "rank 0": ({"rank": 0}, ["rank 0"]),
    "version": ({"version": 2}, ["version 2", "version 1"]),
    "byte order": ({"byte_order": 3 - tcp_format.BYTE_ORDER}, ["byte order"]),
}


@pytest.mark.parametrize("fields", DISAGREEMENTS)
def test_a_rank_that_disagrees_ends_the_assembly_on_both_sides(port, start, fields):
    differing, words = DISAGREEMENTS[fields]
    real = start(0, 2)
    with pytest.raises(Refused) as refused:
        connect(port, a_hello(**differing))
    assert refused.value.status == REFUSED
    told = real.failure(InitializationFailed)
    for word in words:
        assert word in refused.value.text
        assert word in told


def test_a_rank_that_is_there_already_ends_the_assembly_on_both_sides(port, start):
    real = start(0, 3)
    with tcp_peer.knock(("127.0.0.1", port), SECRET, 1, 3, PID):
        with pytest.raises(Refused) as refused:
            connect(port, a_hello(1, 3, pid=PID + 1))
        assert refused.value.status == REFUSED
        for told in (refused.value.text, real.failure(InitializationFailed)):
            assert "rank 1" in told
            assert str(PID) in told


@pytest.mark.parametrize("fields", DISAGREEMENTS)
def test_a_real_rank_says_why_it_was_refused(listener, start, fields):
    """And in the verdict of a rank 0 that is of another version, or of another mind."""
    _, words = DISAGREEMENTS[fields]
    real = start(1, 2, port=listener.getsockname()[1])
    channel, hello, question = tcp_peer.accept(listener, SECRET)
    with contextlib.closing(channel):
        text = f"not with this {fields}: " + ", ".join(words)
        channel.write(tcp_format.verdict(SECRET, hello.pack(), question, REFUSED, text))
        assert text in real.failure(InitializationFailed)


@pytest.mark.parametrize(("status", "text"), [(tcp_format.WELCOME, ""), (REFUSED, "go away")])
def test_a_rank_0_that_cannot_prove_itself_is_not_believed(listener, start, status, text):
    real = start(1, 2, port=listener.getsockname()[1])
    channel, hello, question = tcp_peer.accept(listener, SECRET)
    with contextlib.closing(channel):
        channel.write(tcp_format.verdict("a guess", hello.pack(), question, status, text))
        assert channel.ended()
    told = real.failure(InitializationFailed)
    assert "secret" in told
    assert "go away" not in told


#: Payloads of a begin that must not begin anything. The right one has a topology and two members.
MEMBER = {"pid": 1, "host": "127.0.0.1", "port": 0, "member": ""}
NO_BEGINNINGS = {
    "nothing": b"",
    "no text": b"\xff\xfe",
    "no JSON": b"{",
    "deep JSON": b"[" * 100_000,
    "a list": b"[]",
    "no members": {"topology": "star"},
    "too few members": {"topology": "star", "members": [MEMBER]},
    "too many members": {"topology": "star", "members": [MEMBER] * 3},
    "members that are none": {"topology": "star", "members": [1, 2]},
    "members with more fields": {"topology": "star", "members": [{**MEMBER, "name": "x"}] * 2},
    "members of other types": {"topology": "star", "members": [{**MEMBER, "pid": "1"}] * 2},
    "another topology": {"topology": "ring", "members": [MEMBER] * 2},
    "direct for two": {"topology": "direct", "members": [MEMBER] * 2},
}


@pytest.mark.parametrize("case", NO_BEGINNINGS)
def test_a_begin_that_is_none_begins_nothing(listener, start, case):
    """From a rank 0 that holds the secret: never anything but the documented error."""
    payload = NO_BEGINNINGS[case]
    if not isinstance(payload, bytes):
        payload = json.dumps(payload).encode()
    real = start(1, 2, port=listener.getsockname()[1])
    begin = Frame(tcp_format.BEGIN, payload=payload).pack()
    with tcp_peer.coordinate(listener, SECRET, PID, lambda right: begin):
        assert "malformed start message" in real.failure(InitializationFailed)


@pytest.mark.parametrize("begin", [b"cbrg" + bytes(52), tcp_format.header(Frame(tcp_format.BEGIN), 2**62)])
def test_a_frame_that_is_no_begin_begins_nothing(listener, start, begin):
    real = start(1, 2, port=listener.getsockname()[1])
    with tcp_peer.coordinate(listener, SECRET, PID, lambda right: begin):
        assert "malformed start message" in real.failure(InitializationFailed)


def test_an_abort_instead_of_a_begin_is_passed_on(listener, start):
    real = start(1, 2, port=listener.getsockname()[1])
    abort = Frame(tcp_format.ABORT, payload="no room for élan".encode()).pack()
    with tcp_peer.coordinate(listener, SECRET, PID, lambda right: abort):
        assert "no room for élan" in real.failure(InitializationFailed)


def test_who_has_proved_itself_gives_way_to_nobody(listener, monkeypatch):
    """A crowd may come between its proof and the verdict. Shut out, it would be a second rank 1 later."""
    monkeypatch.setattr(admission, "MOST_AT_ONCE", 1)
    proved, crowded = threading.Event(), threading.Event()

    def objection(hello):
        proved.set()
        assert crowded.wait(tcp_peer.DEADLINE_S)

    port, hello = listener.getsockname()[1], a_hello().pack()
    with (
        contextlib.closing(AdmissionListener(listener, SECRET.encode(), objection, None)) as listening,
        contextlib.closing(Channel(reach(port))) as rank1,
    ):
        rank1.write(hello)
        question = rank1.read(tcp_format.CHALLENGE.size)
        rank1.write(tcp_format.proof(SECRET, hello, question))
        assert proved.wait(tcp_peer.DEADLINE_S)
        with contextlib.closing(Channel(reach(port))) as stranger:
            stranger.write(a_hello().pack())
            stranger.read(tcp_format.CHALLENGE.size)  # it is being listened to: another one was dropped
        crowded.set()
        assert rank1.read(40) == tcp_format.verdict(SECRET, hello, question)
        peer = listening.next_peer(tcp_peer.DEADLINE_S)
        assert peer.hello.pack() == hello
        peer.connection.close()
