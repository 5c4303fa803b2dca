"""What ranks run in the tests of every backend with processes: functions that fresh processes can import."""

from pathlib import Path

import numpy as np

from cobre.comm import CollectiveFailed, InvalidCommunicator, ReduceOp, create_communicator
from cobre.comm.testing import GroupRunner, run_checks
from tests.comm.rank_bodies import wait_for

#: Pairs of calls that cannot be one collective; see `calls_that_differ`.
DISAGREEMENTS = [
    ("barrier", "allreduce"),
    ("barrier", "allgatherv"),
    ("barrier", "region"),
    ("allreduce", "broadcast"),
    ("allreduce", "allreduce op"),
    ("allreduce", "allreduce count"),
    ("allreduce", "allreduce dtype"),
    ("allreduce", "allreduce large"),
    ("allgatherv", "allgatherv counts"),
    ("allgatherv", "allgatherv bytes swapped"),
    ("allgatherv", "allreduce large"),
    ("broadcast", "broadcast root"),
    ("broadcast", "broadcast count"),
    ("broadcast", "split_local"),
    ("region", "region count"),
    ("region", "region dtype"),
]


def whole_kit(comm, backend):
    """Every check, each on a fresh group of the same processes."""
    runner = GroupRunner(lambda: create_communicator(backend))
    failed = [f"{outcome.name}: {outcome.detail}" for outcome in run_checks(runner) if not outcome.passed]
    runner.close()
    return failed


def calls_that_differ(comm):
    """Calls that differ from the first in one respect each."""
    buffer, large = np.zeros(4), np.zeros(5)
    everybody = [1] * comm.size
    recv = np.zeros(2 * comm.size)
    return {
        "barrier": comm.barrier,
        "allreduce": lambda: comm.allreduce(buffer, buffer),
        "allreduce op": lambda: comm.allreduce(buffer, buffer, ReduceOp.MAX),
        "allreduce count": lambda: comm.allreduce(large, large),
        "allreduce dtype": lambda: comm.allreduce(np.zeros(4, np.int64), np.zeros(4, np.int64)),
        "allgatherv bytes swapped": lambda: comm.allgatherv(
            np.zeros(1, ">f8"), np.zeros(comm.size, ">f8"), everybody
        ),
        "allreduce large": lambda: comm.allreduce(np.zeros(10**6), np.zeros(10**6)),
        "allgatherv": lambda: comm.allgatherv(np.zeros(1), recv, everybody),
        "allgatherv counts": lambda: comm.allgatherv(
            np.zeros(1 + (comm.rank == 0) - (comm.rank == comm.size - 1)),
            recv,
            [2, *everybody[1:-1], 0],
        ),
        "broadcast": lambda: comm.broadcast(buffer, 0),
        "broadcast root": lambda: comm.broadcast(buffer, 1),
        "broadcast count": lambda: comm.broadcast(large, 0),
        "region": lambda: comm.create_shared_region(7),
        "region count": lambda: comm.create_shared_region(8),
        "region dtype": lambda: comm.create_shared_region(7, np.float32),
        "split_local": comm.split_local,
    }


def disagree(comm, usual, odd, odd_rank):
    """All ranks make the usual call but one, which makes the odd one; then a barrier, if they still can.

    Returns in which call this rank was told that something is wrong, and what.
    """
    calls = calls_that_differ(comm)
    for number, call in enumerate([calls[odd if comm.rank == odd_rank else usual], comm.barrier], 1):
        try:
            call()
        except CollectiveFailed as exc:
            try:
                comm.barrier()
            except InvalidCommunicator:
                return number, str(exc)
            return number, "the communicator goes on"
    return 0, "nothing"


def wait_for_a_late_rank(comm, late, told):
    """One rank comes when all others have failed; return in which call this one is told, and what.

    ``told`` is where those that have failed leave a sign.
    """
    if comm.rank == late:
        for rank in {*range(comm.size)} - {late}:
            wait_for(f"{told}.{rank}")
    for number in (1, 2):
        try:
            comm.barrier()
        except CollectiveFailed as exc:
            Path(f"{told}.{comm.rank}").touch()
            return number, str(exc)
    return 0, "nothing"
