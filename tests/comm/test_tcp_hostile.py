"""A tcp rank whose peer holds the secret and then breaks the protocol: a precise error, in time."""

import contextlib
import socket

import numpy as np
import pytest

from cobre.comm import InitializationFailed, InvalidCommunicator
from tests.comm import tcp_peer
from tests.comm.tcp_format import (
    ABORT,
    ALLREDUCE,
    ANSWER,
    BARRIER,
    BEGIN,
    BRING,
    BROADCAST,
    GOODBYE,
    LOST,
    MALFORMED,
    QUESTION,
    REPORT,
    RESULT,
    Call,
    Frame,
    Statement,
    element_of,
    header,
)
from tests.comm.tcp_ranks import PID, SECRET, enter_barrier, join

F8 = element_of("f", 8)


def body(comm):
    """A barrier that cannot succeed, after which nothing can."""
    try:
        comm.barrier()
    finally:
        with pytest.raises(InvalidCommunicator, match="finished by an earlier failure"):
            comm.barrier()


def bring(peer, **changes):
    """The frame of a barrier, with other fields."""
    return Frame(BRING, peer.sequence + 1, Call(BARRIER), peer.rank)._replace(**changes)


def write(data, channel="data"):
    return lambda peer: getattr(peer, channel).write(data(peer))


def hangs_up_after(data):
    def act(peer):
        peer.data.write(data(peer))
        peer.hang_up()

    return act


NO_FRAME = "{who} sent bytes on its control connection that are no frame of this protocol"
#: What the peer does instead of its part in a barrier, and what is said of it: {who} is "rank 1 (pid 4711)".
OFFENCES = {
    "half a frame": (hangs_up_after(lambda peer: bring(peer).pack()[:30]), "{who} exited"),
    "all but a byte": (hangs_up_after(lambda peer: bring(peer).pack()[:-1]), "{who} exited"),
    "a length that is not right": (
        write(lambda peer: header(bring(peer), 8)),
        "{who} sent a frame of 8 bytes",
    ),
    "a length beyond all memory": (
        write(lambda peer: header(bring(peer), 2**63)),
        "{who} sent a frame of 9223372036854775808 bytes",
    ),
    "an unknown tag": (
        write(lambda peer: bring(peer, tag=99).pack()),
        "{who} sent a frame with tag 99 where data was due",
    ),
    "a tag of control": (
        write(lambda peer: bring(peer, tag=ABORT).pack()),
        "{who} sent a frame with tag 20 where data was due",
    ),
    "a result for a bring": (
        write(lambda peer: bring(peer, tag=RESULT).pack()),
        "{who} sent a frame of 0 bytes",
    ),
    "another part": (
        write(lambda peer: bring(peer, part=2).pack()),
        "{who} sent a frame of 0 bytes, part 2, that does not fit its own call, barrier",
    ),
    "another magic": (
        write(lambda peer: b"cbrg" + bring(peer).pack()[4:]),
        "{who} sent bytes that are no frame of this protocol",
    ),
    "what should be zero": (
        write(lambda peer: bring(peer).pack()[:-1] + b"\1"),
        "{who} sent bytes that are no frame of this protocol",
    ),
    "another sequence": (
        write(lambda peer: bring(peer, sequence=2**64 - 1).pack()),
        "{who} in number 18446744073709551615",
    ),
    "another operation": (
        write(lambda peer: bring(peer, call=Call(ALLREDUCE, element=F8, count=4)).pack()),
        "rank {rank} called allreduce(SUM) of 4 elements of type f8",
    ),
    "an operation that there is not": (
        write(lambda peer: bring(peer, call=Call(77, 66, element=F8)).pack()),
        "rank {rank} called something unknown",
    ),
    "goodbye": (lambda peer: peer.say_goodbye(), "{who} closed or dropped its communicator"),
    "goodbye on data": (
        write(lambda peer: Frame(GOODBYE).pack()),
        "{who} closed or dropped its communicator",
    ),
    "garbage on control": (
        write(lambda peer: b"\xff" * 100, "control"),
        NO_FRAME,
    ),
    "a control frame of boundless length": (
        write(lambda peer: header(Frame(REPORT), 2**40), "control"),
        NO_FRAME,
    ),
    "a bring on control": (write(lambda peer: bring(peer).pack(), "control"), "{who} sent "),
    "the end of control": (lambda peer: peer.control.close(), "{who} exited"),
    "the end of data": (lambda peer: peer.data.close(), "{who} broke; look at the network"),
}
#: On its control connection a worker may say less than rank 0.
OFFENCES_OF_A_WORKER = {
    "an abort": (
        write(lambda peer: Frame(ABORT, payload=b"give up").pack(), "control"),
        NO_FRAME,
    ),
    "a report without a statement": (
        write(lambda peer: Frame(REPORT).pack(), "control"),
        NO_FRAME,
    ),
    "a statement of an unknown kind": (
        write(lambda peer: Frame(REPORT, payload=Statement(7).pack()).pack(), "control"),
        NO_FRAME,
    ),
    "a statement on a rank that there is not": (
        write(lambda peer: Frame(REPORT, payload=Statement(LOST, peer=2).pack()).pack(), "control"),
        NO_FRAME,
    ),
    "a statement that waits for more than it names": (
        write(lambda peer: Frame(REPORT, payload=Statement().pack()[:-4] + b"\x40\0\0\0").pack(), "control"),
        NO_FRAME,
    ),
    "an answer that nobody asked for": (
        write(lambda peer: Frame(ANSWER, payload=Statement().pack()).pack(), "control"),
        NO_FRAME,
    ),
}


def expected(words, rank):
    return words.format(who=f"rank {rank} (pid {PID})", rank=rank)


@pytest.mark.parametrize("offence", OFFENCES | OFFENCES_OF_A_WORKER)
def test_a_real_rank_0_names_the_offender(port, start, offence):
    act, words = (OFFENCES | OFFENCES_OF_A_WORKER)[offence]
    real = start(0, 2, body)
    with join(port, 1, 2) as peer:
        enter_barrier(peer)
        act(peer)
        assert expected(words, rank=1) in real.failure()


def test_a_real_rank_1_names_the_offender(start):
    """The offender is rank 0, who would judge: rank 1 waits a second for its verdict, all of them at once."""
    with contextlib.ExitStack() as stack:
        ranks = {}
        for offence, (act, _) in OFFENCES.items():
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            ranks[offence] = start(1, 2, body, port=listener.getsockname()[1])
            peer = stack.enter_context(tcp_peer.coordinate(listener, SECRET, PID))
            enter_barrier(peer)
            act(peer)
        told = {offence: real.failure() for offence, real in ranks.items()}
    for offence, (_, words) in OFFENCES.items():
        assert expected(words, rank=0) in told[offence], offence


def test_a_mismatch_says_who_called_what(port, start):
    real = start(0, 2)
    with join(port, 1, 2) as peer:
        peer.start()
        peer.bring(Call(ALLREDUCE, element=F8, count=4), bytes(32))
        told = real.failure()
    assert "rank 0 called barrier; rank 1 called allreduce(SUM) of 4 elements of type f8" in told


def test_words_that_are_no_text_are_shown_as_far_as_they_are(port, listener, start):
    """An abort and a report are for people; whatever they contain, the error is the one that it should be."""
    words = b"b\xc3\xa9ton \xff\xfe\xc3 \xed\xa0\x80 \xf5\x80\x80\x80 \0 end"
    real = start(1, 2, body, port=listener.getsockname()[1])
    with tcp_peer.coordinate(listener, SECRET, PID) as peer:
        enter_barrier(peer)
        peer.control.write(Frame(ABORT, payload=words).pack())
        told = real.failure()
    assert told == f"barrier: {words.decode(errors='replace')}"
    real = start(0, 2, body)
    with join(port, 1, 2) as peer:
        enter_barrier(peer)
        statement = Statement(MALFORMED).pack() + words
        peer.control.write(Frame(REPORT, payload=statement).pack())
        assert words.decode(errors="replace") in real.failure()


def test_a_peer_that_never_sends_is_named_within_the_timeout(port, listener, start):
    """Whether the silent one is rank 1, or rank 0 who would judge."""
    ranks = [
        start(0, 2, timeout_s=1.0),
        start(1, 2, timeout_s=1.0, port=listener.getsockname()[1]),
    ]
    with join(port, 1, 2) as rank1, tcp_peer.coordinate(listener, SECRET, PID) as rank0:
        for peer in (rank0, rank1):
            peer.start()
        for real, silent in zip(ranks, (1, 0), strict=True):
            assert f"rank {silent} (pid {PID}) did not come within 1 s" in real.failure()


def test_a_peer_that_stops_reading_is_named_within_the_timeout(port, start):
    """64 MiB are more than all buffers between two sockets hold."""
    count = 8 << 20
    real = start(0, 2, lambda comm: comm.broadcast(np.zeros(count)), timeout_s=1.0)
    with join(port, 1, 2) as peer:
        peer.start()
        peer.bring(Call(BROADCAST, element=F8, count=count))
        assert f"rank 1 (pid {PID}) did not come within 1 s" in real.failure()


def test_a_verdict_on_many_ranks_is_one_that_all_can_read(port, start):
    """80 ranks are silent: to name them all takes more than a control frame holds."""
    size = 82
    real = start(0, size, timeout_s=0.5, topology="star")
    address = ("127.0.0.1", port)
    with contextlib.ExitStack() as stack:
        waiting = [
            stack.enter_context(tcp_peer.knock(address, SECRET, rank, size, PID)) for rank in range(1, size)
        ]
        told = real.failure(InitializationFailed)
        assert f"rank 1 (pid {PID}), rank 2 (pid {PID}), " in told
        for rank in waiting:
            assert rank.control.read_frame().tag == BEGIN
            while (frame := rank.control.read_frame()).tag == QUESTION:
                pass
            assert frame.tag == ABORT
            assert len(frame.payload) <= 1900
            assert told.endswith(frame.payload.decode())
