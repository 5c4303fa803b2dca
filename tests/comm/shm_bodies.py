"""What ranks run in the tests of shm: functions of a module, so that fresh processes can import them."""

from pathlib import Path

import numpy as np

from cobre.comm import AllocationFailed, shm


def large_collectives(comm, count):
    """Bits of collectives that take every path for large payloads, and whether one copy was used."""
    generator = np.random.default_rng(comm.rank)
    send = generator.standard_normal(count + comm.rank)
    counts = [count + rank for rank in range(comm.size)]
    gathered = np.empty(sum(counts))
    comm.allgatherv(send, gathered, counts)
    total = np.empty(count)
    comm.allreduce(send[:count], total)
    comm.broadcast(send[:count], comm.size - 1)
    digests = [gathered.tobytes(), total.tobytes(), send[:count].tobytes()]
    return digests, comm._group.reads_peers_memory


def region_addresses(comm):
    """Write through one rank's view, read through another's; keep a view beyond region and communicator."""
    region = comm.create_shared_region(1000, np.int32)
    mine = region.as_mut_array()
    mine[comm.rank :: comm.size] = comm.rank
    region.fence()
    kept = region.as_array()
    region.close()
    comm.close()
    del region
    return kept.tolist()


def split_without_memory(comm):
    """Rank 0 finds no memory for the new group; everybody is told, and the old group goes on."""
    if comm.rank == 0:
        shm.available_bytes = lambda: 0
    try:
        comm.split_local()
    except AllocationFailed as exc:
        comm.barrier()
        return exc.requested_bytes
    return 0


def names_in_use(comm):
    """What of ours has a name in shared memory while the group is working."""
    comm.barrier()
    return [entry.name for entry in Path("/dev/shm").iterdir() if "cobre" in entry.name]
