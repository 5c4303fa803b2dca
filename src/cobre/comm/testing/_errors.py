"""Checks of what is refused, with which error and which fields.

Every refused call is followed by a collective that must work: a refusal changes nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from cobre._native import ReduceOp
from cobre.comm.contract import BackendCommunicator
from cobre.comm.testing._expect import equal, expect, raised_by
from cobre.comm.testing._run import RunRanks
from cobre.comm.testing._sync import Noticeboard
from cobre.errors import (
    AllocationFailed,
    CollectiveFailed,
    InvalidBufferSize,
    InvalidCommunicator,
    InvalidRoot,
)

Call = Callable[[], object]


def _attempt(comm: BackendCommunicator, calls: dict[str, Call]) -> dict[str, tuple[Exception | None, bool]]:
    """For each call: what it raised, and whether the communicator still works."""
    outcome = {}
    for what, call in calls.items():
        error = raised_by(call)
        total = np.zeros(1)
        comm.allreduce(np.ones(1), total)
        outcome[what] = (error, total[0] == comm.size)
    return outcome


def _refused(results: list[Any], expected: dict[str, Exception | type[Exception]]) -> None:
    """Compare what was raised: the type always, the fields where an instance is given."""
    for rank, outcome in enumerate(results):
        for what, wanted in expected.items():
            error, still_works = outcome[what]
            kind = wanted if isinstance(wanted, type) else type(wanted)
            expect(type(error) is kind, f"{what} on rank {rank}: expected {kind.__name__}, got {error!r}")
            if isinstance(wanted, InvalidBufferSize):
                fields = (error.operation, error.expected, error.actual)
                equal(
                    fields,
                    (wanted.operation, wanted.expected, wanted.actual),
                    f"fields of {what} on rank {rank}",
                )
            elif isinstance(wanted, InvalidRoot):
                equal(
                    (error.root, error.size), (wanted.root, wanted.size), f"fields of {what} on rank {rank}"
                )
            expect(still_works, f"{what} on rank {rank}: the communicator gave a wrong sum afterwards")


def _wrong_gather_lengths(comm: BackendCommunicator) -> dict[str, tuple[Exception | None, bool]]:
    size = comm.size
    send, recv, counts = np.zeros(2), np.zeros(2 * size), [2] * size

    def gather(send: Any = send, recv: Any = recv, counts: Any = counts, displs: Any = None) -> Call:
        return lambda: comm.allgatherv(send, recv, counts, displs)

    return _attempt(
        comm,
        {
            "counts too long": gather(counts=[2] * (size + 1)),
            "displs too short": gather(displs=[0] * (size - 1)),
            "send too long": gather(send=np.zeros(3)),
            "recv too short": gather(recv=np.zeros(2 * size - 1)),
            "a negative count": gather(send=np.zeros(0), counts=[-1] * size),
            "a negative displacement": gather(displs=[-1, *range(2, 2 * size, 2)]),
            "a part beyond the end": gather(displs=[*range(0, 2 * size - 2, 2), 2 * size - 1]),
            "a huge displacement": gather(displs=[*range(0, 2 * size - 2, 2), sys.maxsize]),
            "parts that overlap": gather(recv=np.zeros(2 * size + 1), displs=[0] * size)
            if size > 1
            else gather(send),
        },
    )


def allgatherv_refuses_lengths_that_do_not_fit(run_ranks: RunRanks) -> None:
    """Lengths that contradict each other raise InvalidBufferSize with its fields; nothing is sent."""
    results = run_ranks(_wrong_gather_lengths)
    size = len(results)
    expected: dict[str, Exception | type[Exception]] = {
        "counts too long": InvalidBufferSize("allgatherv", size, size + 1),
        "displs too short": InvalidBufferSize("allgatherv", size, size - 1),
        "send too long": InvalidBufferSize("allgatherv", 2, 3),
        "recv too short": InvalidBufferSize("allgatherv", 2 * size, 2 * size - 1),
        "a negative count": InvalidBufferSize,
        "a negative displacement": InvalidBufferSize("allgatherv", 0, -1),
        "a part beyond the end": InvalidBufferSize("allgatherv", 2 * size + 1, 2 * size),
        "a huge displacement": InvalidBufferSize,
    }
    if size > 1:
        expected["parts that overlap"] = InvalidBufferSize
    _refused(results, expected)


def _wrong_reduce_lengths(comm: BackendCommunicator) -> dict[str, tuple[Exception | None, bool]]:
    return _attempt(
        comm,
        {
            "unequal lengths": lambda: comm.allreduce(np.zeros(4), np.zeros(3)),
            "no elements": lambda: comm.allreduce(np.zeros(0), np.zeros(0)),
        },
    )


def allreduce_refuses_lengths_that_do_not_fit(run_ranks: RunRanks) -> None:
    """Unequal or zero lengths raise InvalidBufferSize with its fields; nothing is sent."""
    expected: dict[str, Exception | type[Exception]] = {
        "unequal lengths": InvalidBufferSize("allreduce", 4, 3),
        "no elements": InvalidBufferSize("allreduce", 1, 0),
    }
    _refused(run_ranks(_wrong_reduce_lengths), expected)


def _wrong_roots(comm: BackendCommunicator) -> dict[str, tuple[Exception | None, bool]]:
    return _attempt(
        comm,
        {
            "one too many": lambda: comm.broadcast(np.zeros(1), comm.size),
            "negative": lambda: comm.broadcast(np.zeros(1), -1),
            "no number": lambda: comm.broadcast(np.zeros(1), "0"),  # type: ignore[arg-type]
        },
    )


def broadcast_refuses_a_root_that_is_no_rank(run_ranks: RunRanks) -> None:
    """A root outside 0 to size - 1 raises InvalidRoot with its fields; nothing is sent."""
    results = run_ranks(_wrong_roots)
    size = len(results)
    expected: dict[str, Exception | type[Exception]] = {
        "one too many": InvalidRoot(size, size),
        "negative": InvalidRoot(-1, size),
        "no number": TypeError,
    }
    _refused(results, expected)


def _bad_buffers(comm: BackendCommunicator) -> dict[str, tuple[Exception | None, bool]]:
    size, other = comm.size, (comm.rank + 1) % comm.size
    frozen = np.zeros(2 * size)
    frozen.flags.writeable = False
    strided, whole = np.zeros(4 * size)[::2], np.zeros(2 * size)
    counts = [2] * size
    shifted = np.zeros(2 * size + 1)
    calls: dict[str, Call] = {
        "allgatherv into read-only": lambda: comm.allgatherv(np.zeros(2), frozen, counts),
        "allgatherv into strided": lambda: comm.allgatherv(np.zeros(2), strided, counts),
        "allgatherv from strided": lambda: comm.allgatherv(np.zeros(4)[::2], whole, counts),
        "allgatherv across dtypes": lambda: comm.allgatherv(np.zeros(2, np.int64), whole, counts),
        "allgatherv of objects": lambda: comm.allgatherv(
            np.zeros(2, object), np.zeros(2 * size, object), counts
        ),
        "allgatherv of a list": lambda: comm.allgatherv([0.0, 0.0], whole, counts),  # type: ignore[arg-type]
        "allreduce into read-only": lambda: comm.allreduce(whole, frozen),
        "allreduce into strided": lambda: comm.allreduce(whole, strided),
        "allreduce across dtypes": lambda: comm.allreduce(np.zeros(2), np.zeros(2, np.float32)),
        "allreduce of complex": lambda: comm.allreduce(np.zeros(2, complex), np.zeros(2, complex)),
        "allreduce of other byte order": lambda: comm.allreduce(np.zeros(2, ">f8"), np.zeros(2, ">f8")),
        "allreduce of booleans": lambda: comm.allreduce(np.zeros(2, bool), np.zeros(2, bool)),
        "allreduce by a string": lambda: comm.allreduce(whole, whole, "sum"),  # type: ignore[arg-type]
        "allreduce half over itself": lambda: comm.allreduce(shifted[1:], shifted[:-1]),
        "broadcast of strided": lambda: comm.broadcast(strided),
        "broadcast of a list": lambda: comm.broadcast([1.0]),  # type: ignore[arg-type]
        "region of objects": lambda: comm.create_shared_region(2, object),
        "region of negative length": lambda: comm.create_shared_region(-1),
        "region of half an element": lambda: comm.create_shared_region(0.5),  # type: ignore[arg-type]
    }
    if size > 1:
        # A barrier follows each refusal, so ranks for which the call is legal must not make it.
        calls["broadcast into read-only"] = lambda: comm.broadcast(frozen, other)
    return _attempt(comm, calls)


def bad_buffers_are_refused(run_ranks: RunRanks) -> None:
    """Read-only, strided, mistyped and partly overlapping buffers are refused before anything is sent."""
    results = run_ranks(_bad_buffers)
    names = results[0]
    expected: dict[str, Exception | type[Exception]] = {
        what: ValueError
        if any(word in what for word in ("read-only", "strided", "half over itself"))
        else TypeError
        for what in names
    }
    expected["region of negative length"] = InvalidBufferSize("create_shared_region", 0, -1)
    _refused(results, expected)


def _huge_region(comm: BackendCommunicator) -> tuple[str, int]:
    error = raised_by(comm.create_shared_region, sys.maxsize // 2)
    comm.barrier()
    return type(error).__name__, getattr(error, "requested_bytes", 0)


def a_region_beyond_memory_is_refused(run_ranks: RunRanks) -> None:
    """A region that no machine could hold raises AllocationFailed with the bytes asked for."""
    wanted = (AllocationFailed.__name__, sys.maxsize // 2 * 8)
    for rank, raised in enumerate(run_ranks(_huge_region)):
        equal(raised, wanted, f"error on rank {rank}")


def _use_after_close(comm: BackendCommunicator) -> dict[str, str]:
    comm.close()
    comm.close()  # a second time does nothing
    calls: dict[str, Call] = {
        "allgatherv": lambda: comm.allgatherv(np.zeros(1), np.zeros(comm.size), [1] * comm.size),
        "allreduce": lambda: comm.allreduce(np.zeros(1), np.zeros(1), ReduceOp.MIN),
        "broadcast": lambda: comm.broadcast(np.zeros(1)),
        "barrier": comm.barrier,
        "create_shared_region": lambda: comm.create_shared_region(1),
        "split_local": comm.split_local,
    }
    return {name: type(raised_by(call)).__name__ for name, call in calls.items()}


def a_closed_communicator_says_so(run_ranks: RunRanks) -> None:
    """After close() every operation raises InvalidCommunicator."""
    for rank, raised in enumerate(run_ranks(_use_after_close)):
        for operation, error in raised.items():
            equal(error, InvalidCommunicator.__name__, f"{operation} after close() on rank {rank}")


def _two_threads(comm: BackendCommunicator) -> tuple[list[str], list[list[float]], float]:
    """On rank 0 two threads gather while the others hold back: one must be refused."""
    refused: list[str] = []
    gathered: list[list[float]] = []
    with Noticeboard(comm) as board:
        _gather_twice_on_rank_0(comm, board, refused, gathered)
        total = np.zeros(1)
        comm.allreduce(np.ones(1), total)
    return refused, gathered, float(total[0])


def _gather_twice_on_rank_0(
    comm: BackendCommunicator, board: Noticeboard, refused: list[str], gathered: list[list[float]]
) -> None:
    def gather(shift: int) -> None:
        """Each thread places the parts elsewhere, so that a mixture of the two calls shows."""
        recv = np.full(comm.size + 1, -1.0)
        displs = [rank + shift for rank in range(comm.size)]
        error = raised_by(comm.allgatherv, np.array([float(comm.rank)]), recv, [1] * comm.size, displs)
        if error is None:
            gathered.append(np.roll(recv, -shift).tolist())
        else:
            refused.append(type(error).__name__)
            board.leave("refused")

    if comm.rank == 0:
        threads = [threading.Thread(target=gather, args=(shift,)) for shift in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        board.wait_for("refused", 0)
        gather(0)


def two_threads_at_once_are_told_apart(run_ranks: RunRanks) -> None:
    """Of two threads inside one communicator one is refused, the other's call and later ones are right."""
    results = run_ranks(_two_threads)
    size = len(results)
    if size > 1:  # alone, a rank never waits, so two calls never meet
        equal(results[0][0], [CollectiveFailed.__name__], "refusals on rank 0")
    for rank, (_, gathered, total) in enumerate(results):
        for recv in gathered:
            equal(recv, [*map(float, range(size)), -1.0], f"what rank {rank} gathered")
        equal(total, float(size), f"sum afterwards on rank {rank}")


CHECKS = (
    allgatherv_refuses_lengths_that_do_not_fit,
    allreduce_refuses_lengths_that_do_not_fit,
    broadcast_refuses_a_root_that_is_no_rank,
    bad_buffers_are_refused,
    a_region_beyond_memory_is_refused,
    a_closed_communicator_says_so,
    two_threads_at_once_are_told_apart,
)
