"""The measuring of collectives: what is measured, and that all ranks see the same."""

import numpy as np

from cobre.comm import bench, create_communicator, run_ranks
from cobre.comm.bench import OPERATIONS, SIZES


class Counting:
    """A communicator that notes calls and their payloads."""

    rank, size = 1, 3

    def __init__(self):
        self.seen = {}

    def _note(self, name, payload=0):
        self.seen.setdefault(name, set()).add(payload)

    def barrier(self):
        self._note("barrier")

    def allreduce(self, send, recv, op):
        self._note("allreduce", send.nbytes)
        recv[:] = send

    def broadcast(self, buf):
        self._note("broadcast", buf.nbytes)
        if len(buf) == 1:
            buf[0] = 1.0  # rank 0 says that a call takes a second: as few batches as can be

    def allgatherv(self, send, recv, counts):
        assert len(send) == counts[self.rank]
        assert sum(counts) == len(recv)
        self._note("allgatherv", recv.nbytes)


def test_every_collective_is_called_at_every_size():
    comm = Counting()
    measured = list(bench.bench(comm, sizes=(80, 8_000), budget_s=0.01))
    assert [(one.operation, one.bytes) for one in measured] == [
        ("barrier", 0),
        *((operation, size) for operation in OPERATIONS for size in (80, 8_000)),
    ]
    assert len(measured) == bench.count((80, 8_000))
    assert all(one.calls == bench.FEWEST for one in measured)
    for operation in OPERATIONS:
        assert {80, 8_000} <= comm.seen[operation]


def test_a_payload_of_fewer_elements_than_ranks():
    with create_communicator("local") as comm:
        measured = list(bench.bench(comm, sizes=(8,), budget_s=0.001))
    assert all(0 < one.best_s <= one.median_s for one in measured)


def _measured(comm):
    return list(bench.bench(comm, sizes=(8, SIZES[1]), budget_s=0.001))


def test_all_ranks_see_the_same_numbers():
    results = run_ranks(_measured, 3, backend="shm")
    assert results[0] == results[1] == results[2]
    assert all(np.isfinite(one.median_s) and one.median_s > 0 for one in results[0])


def test_throughput_is_payload_by_time():
    assert bench.Measurement("broadcast", 1000, 0.1, 0.5, 5).bytes_per_s == 2000
    assert bench.Measurement("barrier", 0, 0.1, 0.5, 5).bytes_per_s == 0
