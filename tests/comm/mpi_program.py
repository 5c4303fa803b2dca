"""What mpiexec runs in the tests of mpi: functions of this module on every rank, their results into a folder.

``python -m tests.comm.mpi_program FOLDER BODY [ARGUMENT …]``, arguments in JSON. Every rank leaves its result
in a file of its own, since some bodies end MPI.
"""

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path

import numpy as np

from cobre._native import MpiGroup
from cobre.comm import (
    AllocationFailed,
    CollectiveFailed,
    MpiConfig,
    ReduceOp,
    create_communicator,
    mpi,
)
from cobre.comm.regions import windows
from cobre.comm.testing import CHECKS, GroupRunner, _gather, _reduce, _sequence, _sync, run_checks
from cobre.comm.testing._expect import raised_by
from cobre.comm.testing._sequence import _mixed_sequence
from tests.comm import group_bodies
from tests.comm.contract_help import without_contract_help


def started_mpi():
    """mpi4py's MPI, initialised as by a program that knows nothing of cobre."""
    from mpi4py import MPI  # noqa: PLC0415  importing it starts MPI, which some bodies leave to cobre

    return MPI


def launched_rank():
    """This process's rank as its launcher says it, whether or not MPI is running."""
    return int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])


def say(words):
    """One write for a whole line, which no other rank's can split."""
    os.write(1, f"{words}\n".encode())


# The kit.


def failures(connect, checks=CHECKS):
    """What these checks find, and the results of the kit's random sequence."""
    runner = GroupRunner(connect)
    outcomes = run_checks(runner, checks)
    failed = [f"{outcome.name}: {outcome.detail}" for outcome in outcomes if not outcome.passed]
    [digests, *_] = runner(_mixed_sequence)
    runner.close()
    return failed, digests


def whole_kit(sizes, ranks_per_machine=None):
    """Every check on groups of these sizes side by side; the own size, what failed and the sequence."""
    world = started_mpi().COMM_WORLD
    group = sum(end <= world.Get_rank() for end in accumulate(sizes))
    comm = world.Split(group)
    node = None if ranks_per_machine is None else comm.Get_rank() // ranks_per_machine
    return comm.Get_size(), *failures(lambda: create_communicator(MpiConfig(comm=comm, node=node)))


# Bodies that leave MPI as they found it, so that one launch can run them all.


def help_is_missing():
    with create_communicator("mpi") as comm:
        return without_contract_help(comm)


def several(*bodies):
    return {body: globals()[body]() for body in bodies}


def joined():
    """The program has started MPI: we take part, and leave the end of it to the program."""
    MPI = started_mpi()  # noqa: N806  its name
    with create_communicator() as comm:
        level = comm.topology.mpi.thread_level
        comm.barrier()
    # The world still works, and no handler of ours is going to end it.
    return level == "multiple", MPI.COMM_WORLD.allreduce(1), MPI.Is_finalized()


def machines():
    """On two simulated machines, leaders populate regions; who leads, who is with whom, what is seen."""
    rank = started_mpi().COMM_WORLD.Get_rank()
    with create_communicator(MpiConfig(node=rank % 2)) as comm, comm.split_local() as local:
        members = np.empty(local.size, np.int64)
        local.allgatherv(np.array([comm.rank]), members, [1] * local.size)
        with comm.create_shared_region(3, np.int64) as region:
            if comm.is_leader:
                region.as_mut_array()[:] = 100 + comm.rank
            region.fence()
            seen = region.as_array().tolist()
        with local.create_shared_region(1) as region:  # of one machine only: the other does not take part
            region.fence()
        return comm.is_leader, members.tolist(), seen


def existing_communicator():
    """Odd and even ranks, numbered from the back: as the program has split them, and theirs afterwards."""
    world = started_mpi().COMM_WORLD
    half = world.Split(world.Get_rank() % 2, -world.Get_rank())
    with create_communicator(MpiConfig(comm=half)) as comm:
        members = np.empty(comm.size, np.int64)
        comm.allgatherv(np.array([world.Get_rank()]), members, [1] * comm.size)
    still_there = half.allreduce(1)
    half.Free()
    refused = raised_by(create_communicator, MpiConfig(comm=42))
    return members.tolist(), still_there, str(refused)


def pieces():
    """The checks that move data, where one call of MPI carries no more than a few pages."""
    usual, mpi.MOST_BYTES_AT_ONCE = mpi.MOST_BYTES_AT_ONCE, 10_000
    moving = (*_gather.CHECKS, *_reduce.CHECKS, *_sequence.CHECKS, _sync.broadcast_carries_100_000_elements)
    try:
        return failures(lambda: create_communicator("mpi"), moving)[0]
    finally:
        mpi.MOST_BYTES_AT_ONCE = usual


def shared_bytes():
    """How much shared memory this process has touched."""
    status = Path("/proc/self/status").read_text().partition("RssShmem:")[2]
    return int(status.split()[0]) * 1024


def many_regions():
    """Regions in a row: what the leader holds of them; and an array that only the last rank keeps."""
    count, kept, held = 1 << 20, None, []
    with create_communicator("mpi") as comm:
        for number in range(30):
            with comm.create_shared_region(count) as region:
                if comm.is_leader:
                    region.as_mut_array()[:] = number
                region.fence()
                if number == 3 and comm.rank == comm.size - 1:
                    kept = region.as_array()
            held.append(shared_bytes() if comm.is_leader else 0)
    return (held[29] - held[5]) // (8 * count), kept is None or bool((kept == 3).all())


def allocation_failed():
    """The leader of the second machine finds no memory: everybody is told, and the group goes on."""
    rank = started_mpi().COMM_WORLD.Get_rank()
    usual = windows.available_bytes
    with create_communicator(MpiConfig(node=rank // 2)) as comm:
        if rank == 2:
            windows.available_bytes = lambda: 10
        error = raised_by(comm.create_shared_region, 1000)
        windows.available_bytes = usual
        with comm.create_shared_region(1000) as region:
            region.fence()
        assert type(error) is AllocationFailed, error
        return error.requested_bytes, error.message


def region_disagreement():
    """Regions are compared even where nothing else is."""
    with create_communicator("mpi") as comm:
        return str(raised_by(comm.create_shared_region, 7 + (comm.rank == 1)))


def disagreements(cases):
    """With COBRE_COMM_CHECK: what each rank is told when rank 1 calls something else."""
    told = []
    for usual, odd in cases:
        with create_communicator("mpi") as comm:
            told.append(group_bodies.disagree(comm, usual, odd, 1))
    return told


# Bodies that need a launch of their own.


def started_by_us():
    """No communicator, no MPI; two communicators, one MPI; and at exit it is finalised."""
    early = "mpi4py.MPI" in sys.modules

    def at_exit():  # after what cobre has registered later
        say(f"finalised {sys.modules['mpi4py.MPI'].Is_finalized()}")

    atexit.register(at_exit)
    with create_communicator() as comm, create_communicator() as other:
        other.barrier()
        about, backend = comm.topology.mpi, comm.topology.backend
    return early, backend, about.thread_level, about.library, comm.size


def after_finalize():
    """MPI is finalised by the program while a communicator and a region are open."""
    comm = create_communicator("mpi")
    region = comm.create_shared_region(1)
    started_mpi().Finalize()
    calls = (
        lambda: comm.allgatherv(np.zeros(1), np.zeros(comm.size), [1] * comm.size),
        lambda: comm.allreduce(np.zeros(1), np.zeros(1), ReduceOp.MIN),
        lambda: comm.broadcast(np.zeros(1)),
        comm.barrier,
        lambda: comm.create_shared_region(1),
        comm.split_local,
        region.fence,
    )
    raised = [f"{type(error).__name__}: {error}" for error in map(raised_by, calls)]
    comm.close()
    return raised, str(raised_by(create_communicator, "mpi"))


def truncated():
    """Rank 1 expects less than rank 0 sends."""
    comm = create_communicator("mpi")
    error = raised_by(comm.broadcast, np.zeros(4 if comm.rank == 0 else 2), 0)
    after = raised_by(comm.barrier) if comm.rank else None
    code = error.mpi_error_code if isinstance(error, CollectiveFailed) else None
    return code, started_mpi().ERR_TRUNCATE, str(error), type(after).__name__


def without_communicator():
    """Collectives on a communicator that MPI does not know; one that was freed would be memory of others."""
    comm, library = create_communicator("mpi"), started_mpi()
    handle = library._handleof
    null, byte, ops = (handle(one) for one in (library.COMM_NULL, library.BYTE, library.SUM))
    types = [handle(one) if one else 0 for one in mpi._types(library)]
    where = (comm.rank, comm.size, library.__file__)
    lost = MpiGroup(*where, null, byte, types, (ops, ops, ops), 0.0, False, 1 << 30, comm._turn)
    error = raised_by(lost.barrier)
    no_memory = mpi.error_of("allgatherv", "no memory", library.ERR_NO_MEM, 4096)
    return (
        f"{type(error).__name__}: {error}",
        type(raised_by(comm.barrier)).__name__,
        (type(no_memory).__name__, no_memory.requested_bytes),
        type(mpi.error_of("broadcast", "cut short", library.ERR_TRUNCATE, 8)).__name__,
    )


def large_counts():
    """More bytes than an int can count, through each collective; whether what arrives is right."""
    count = (1 << 31) + 10
    with create_communicator("mpi") as comm:
        buf = np.zeros(count, np.uint8)
        if comm.rank == 1:
            buf[[0, count // 2, count - 1]] = 1, 2, 3
        comm.broadcast(buf, 1)
        right = [buf[[0, 1, count // 2, count - 1]].tolist() == [1, 0, 2, 3]]
        buf[-1] = comm.rank + 1
        comm.allreduce(buf, buf, ReduceOp.SUM)
        right.append(buf[[0, count // 2, count - 1]].tolist() == [2, 4, 3])
        counts = [count - 3, 3]
        own = slice(0, count - 3) if comm.rank == 0 else slice(count - 3, count)
        buf[:] = 0
        buf[own] = comm.rank + 5
        comm.allgatherv(buf[own], buf, counts)
        right.append(buf[[0, count // 2, count - 4]].tolist() == [5, 5, 5] and buf[-3:].tolist() == [6] * 3)
    return right


def say_when():
    """For the test to see how long the launcher takes from now on."""
    say(f"at {time.time()}")


def raise_on_rank_1():
    comm = create_communicator("mpi")
    if comm.rank == 1:
        say_when()
        raise ValueError("the reservoir is empty")
    comm.barrier()


def killed_on_rank_1():
    comm = create_communicator("mpi")
    if comm.rank == 1:
        say_when()
        os.kill(os.getpid(), signal.SIGKILL)
    comm.barrier()


def rank_1_never_joins():
    if launched_rank() == 1:
        say_when()
        time.sleep(600)
    create_communicator("mpi")


def rank_1_never_comes(operation):
    comm = create_communicator("mpi")
    region = comm.create_shared_region(4)
    if comm.rank == 1:
        say_when()
        time.sleep(600)
    calls = {
        "barrier": comm.barrier,
        "allreduce": lambda: comm.allreduce(np.zeros(4), np.zeros(4)),
        "fence": region.fence,
        "create_shared_region": lambda: comm.create_shared_region(1),
    }
    calls[operation]()


CHILD = """
import os
from cobre.comm import create_communicator
from cobre import CobreError
for backend in (None, "mpi"):
    try: create_communicator(backend)
    except CobreError as error: print(type(error).__name__, error)
os.environ["COBRE_COMM_BACKEND"] = "local"
print(create_communicator().topology.backend)
"""


def child_of_a_rank():
    """A process that a rank starts has the launcher's variables, too."""
    with create_communicator() as comm:
        child = subprocess.run(
            [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True, timeout=50
        )
        comm.barrier()
    return os.getpid(), child.stdout


def other_library(library):
    """mpi4py loads a library that does not know this launcher, and so believes to be alone."""
    os.environ.pop("MPI4PY_LIBMPI", None)
    if library:
        os.environ["MPI4PY_LIBMPI"] = library
    return str(raised_by(create_communicator))


def without_mpi4py():
    """As if it were not installed: what `auto` does, and what asking for mpi does."""
    sys.modules["mpi4py"] = None
    return str(raised_by(create_communicator)), str(raised_by(create_communicator, "mpi"))


def main():
    folder, body, *arguments = sys.argv[1:]
    result = globals()[body](*map(json.loads, arguments))
    Path(folder, str(launched_rank())).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    main()
