"""What ranks run in the tests of tcp: functions of a module, so that fresh processes can import them."""

import gc
import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np

from cobre.comm import (
    AllocationFailed,
    CollectiveFailed,
    InitializationFailed,
    ReduceOp,
    create_communicator,
)
from cobre.comm.assembly import tcp as tcp_assembly
from cobre.comm.regions.shared import HeapRegion
from tests.comm.group_bodies import DISAGREEMENTS, disagree

#: Around the lengths at which the backend takes another way, in bytes: what is reduced as a whole, a chunk or
#: what is broadcast as a whole, a ring of chunks or one system call's worth, and more than all of them.
EDGES = [16 << 10, 64 << 10, 512 << 10, 1 << 20]


def digest(*arrays):
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def random_sequence(comm, seed, steps):
    """Bits of random collectives, of lengths around every edge and of many types."""
    same, own = np.random.default_rng(seed), np.random.default_rng([seed, comm.rank])
    digests = []
    for _ in range(steps):
        dtype = np.dtype(same.choice(["f8", "f4", "i8", "i4", "u1", "i2"]))
        count = max(1, int(same.choice([3, *EDGES])) // dtype.itemsize + int(same.integers(-2, 3)))
        data = (own.standard_normal(count) * 50).astype(dtype)
        match same.integers(4):
            case 0:
                counts = same.integers(0, count, comm.size).tolist()
                result = np.zeros(sum(counts), dtype)
                comm.allgatherv(data[: counts[comm.rank]], result, counts)
            case 1:
                result = np.empty_like(data)
                comm.allreduce(data, result, same.choice([ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX]))
            case 2:
                result = data
                comm.allreduce(result, result, ReduceOp.SUM)
            case _:
                result = data
                comm.broadcast(result, int(same.integers(comm.size)))
        digests.append(digest(result))
    return digests


def large_allreduce_in_place(comm, count):
    """The sum, and what it should be: added in rank order, without a communicator."""
    operands = [np.random.default_rng([7, rank]).standard_normal(count) for rank in range(comm.size)]
    expected = operands[0].copy()
    for operand in operands[1:]:
        expected += operand
    total = operands[comm.rank]
    comm.allreduce(total, total)
    return digest(total) == digest(expected)


def empty_parts(comm):
    """Parts of which none, one or all are empty; a broadcast of nothing."""
    results = []
    for counts in ([0] * comm.size, [0] * (comm.size - 1) + [100_000], [100_000] + [0] * (comm.size - 1)):
        recv = np.full(sum(counts), -1.0)
        comm.allgatherv(np.full(counts[comm.rank], float(comm.rank)), recv, counts)
        expected = np.repeat(np.arange(float(comm.size)), counts)
        results.append(bool(np.array_equal(recv, expected)))
        comm.broadcast(np.empty(0), comm.size - 1)
    return results


def beyond_four_gib(comm):
    """Broadcast and sum more bytes than 32 bits count; only marked elements differ from zero."""
    count = (1 << 32) + 12_345
    marks = [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, count - 1]
    data = np.zeros(count, np.uint8)
    if comm.rank == 1:
        data[marks] = np.arange(1, 8)
    comm.broadcast(data, 1)
    broadcast = data[marks].tolist(), int(np.count_nonzero(data))
    comm.allreduce(data, data)
    return broadcast, (data[marks].tolist(), int(np.count_nonzero(data)))


def regions_and_leaders(comm):
    with comm.create_shared_region(5, np.int32) as region, comm.split_local() as local:
        return (
            type(region) is HeapRegion,
            region.as_array().tolist(),
            comm.is_leader,
            (local.rank, local.size, local.is_leader),
        )


def one_rank_has_no_memory(comm, unlucky):
    """All are told of it, and go on."""
    if comm.rank == unlucky:

        def refuse(count, dtype):
            raise AllocationFailed(count * dtype.itemsize, "there is none")

        HeapRegion.allocate = refuse
    told = []
    for attempt in range(2):
        try:
            comm.create_shared_region(1000 + attempt)
        except AllocationFailed as exc:
            told.append((exc.requested_bytes, exc.message))
    total = np.empty(1)
    comm.allreduce(np.ones(1), total)
    return told, total[0]


def disagree_in_every_way(comm):
    """Per case and odd rank: in which call this rank learned that the ranks disagree, and the words.

    Each on a fresh group, of the same processes.
    """
    findings = []
    for usual, odd in DISAGREEMENTS:
        for odd_rank in (0, comm.size - 1):
            with create_communicator("tcp") as fresh:
                findings.append((usual, odd, odd_rank, disagree(fresh, usual, odd, odd_rank)))
    return findings


# Nothing is left behind.


def _kept():
    """What this process holds: open files, threads of Python, threads of all kinds."""
    gc.collect()
    files = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one by which this folder is read
            files.append(str(entry.readlink()))
    files = sorted(file for file in files if not file.startswith("/proc/"))
    threads = sorted(thread.name for thread in threading.enumerate())
    return files, threads, len(list(Path("/proc/self/task").iterdir()))


def what_stays(comm, how):
    """What a group has left behind on this rank, once it was closed or has failed; and how that went.

    The error is kept, as by a debugger or a logger: it must not keep the connections.
    """
    before, error = _kept(), None
    for name, value in HOW[how](comm).items():
        os.environ[name] = value
    try:
        if how == "dropped":
            create_communicator("tcp").barrier()
        elif how == "disagreement":
            with create_communicator("tcp") as fresh:
                fresh.allreduce(np.zeros(4 + comm.rank), np.zeros(4 + comm.rank))
        elif how != "one does not come" or comm.rank != 2:
            with create_communicator("tcp") as fresh:
                fresh.barrier()
    except (CollectiveFailed, InitializationFailed) as exc:
        error = exc
    after = _kept()
    comm.barrier()
    return before, after, str(error)


def _without_direct_connections(comm):
    """Rank 1 offers them, and cannot be reached."""
    if comm.rank == 2:

        def unreachable(self, membership):
            membership.direct_problem = "there is no way"

        tcp_assembly._Joiner._connect_directly = unreachable
    return {"COBRE_TCP_TOPOLOGY": "direct", "COBRE_TCP_TIMEOUT_SECS": "1"}


HOW = {
    "closed": lambda comm: {},
    "dropped": lambda comm: {},
    "disagreement": lambda comm: {},
    "one does not come": lambda comm: {"COBRE_TCP_CONNECT_TIMEOUT_MS": "300"},
    "one says star": lambda comm: {"COBRE_TCP_TOPOLOGY": "star" if comm.rank == 2 else "direct"},
    "no direct connections": _without_direct_connections,
    "another size": lambda comm: {
        "COBRE_TCP_SIZE": "4" if comm.rank == 2 else "3",
        "COBRE_TCP_CONNECT_TIMEOUT_MS": "2000",
    },
}


def open_doors(comm):
    """The sockets of this process on which somebody could still connect."""
    comm.barrier()
    targets = _kept()[0]
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]
    ]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in targets]


def fall_back(comm, stars):
    """How ranks are connected if some of them insist on a star and the others leave it open."""
    os.environ["COBRE_TCP_TOPOLOGY"] = "star" if comm.rank in stars else "auto"
    with create_communicator("tcp") as fresh:
        total = np.empty(1)
        fresh.allreduce(np.ones(1), total)
        return fresh.connected_directly, total[0]
