"""What ranks run in the tests of every backend with processes: functions that fresh processes can import."""

import os
import signal
import time

import numpy as np

from cobre.comm import CollectiveFailed, InvalidCommunicator, ReduceOp, create_communicator
from cobre.comm.testing import GroupRunner, run_checks


def whole_kit(comm, backend):
    """Every check, each on a fresh group of the same processes."""
    runner = GroupRunner(lambda: create_communicator(backend))
    failed = [f"{outcome.name}: {outcome.detail}" for outcome in run_checks(runner) if not outcome.passed]
    runner.close()
    return failed


def _calls(comm):
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
    """All ranks make the usual call but one, which makes the odd one; return what each is told."""
    calls = _calls(comm)
    try:
        calls[odd if comm.rank == odd_rank else usual]()
    except CollectiveFailed as exc:
        told = str(exc)
    else:
        told = "nothing"
    try:
        comm.barrier()
    except InvalidCommunicator:
        return told
    return f"{told}, and the communicator goes on"


def wait_for_a_late_rank(comm, late):
    """One rank does not come; the others say what they are told, and the late one too."""
    if comm.rank == late:
        time.sleep(1.0)
    try:
        comm.barrier()
    except CollectiveFailed as exc:
        return str(exc)
    return "nothing"


def interrupt_rank_one(comm):
    """Rank 1 gets a SIGINT while it waits for rank 0, which is told why nobody came."""
    if comm.rank == 1:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        try:
            comm.barrier()
        except KeyboardInterrupt:
            return "interrupted"
    if comm.rank == 0:
        time.sleep(0.6)
    try:
        comm.barrier()
    except (CollectiveFailed, InvalidCommunicator) as exc:
        return str(exc)
    return "nothing"
