"""Benchmark of the four collectives on this machine or cluster.

```python
with create_communicator() as comm:
    for measured in bench(comm):
        if comm.rank == 0:
            print(measured.operation, measured.bytes, measured.median_s)
```

Ranks synchronise before every batch of calls, which is not timed. The slowest rank determines the time of a
batch. Small payloads run back to back, in batches of about a millisecond.

The numbers are not the times of a program that computes between calls, whose ranks arrive at different times
and whose arrays are not in the caches. With more ranks than processors they mainly measure the scheduler.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cobre._native import ReduceOp
from cobre.comm.contract import Communicator

#: Payloads in bytes: one array for ``allreduce`` and ``broadcast``, all parts together for ``allgatherv``.
SIZES = (8, 1 << 10, 64 << 10, 1 << 20, 16 << 20)

#: Operations with a payload; ``barrier`` has none.
OPERATIONS = ("allreduce", "allgatherv", "broadcast")

BACK_TO_BACK = 64 << 10  # payloads up to here are timed in batches
BATCH_S = 0.001
FEWEST, MOST = 5, 200


@dataclass(frozen=True)
class Measurement:
    """Times of one collective at one size.

    Attributes:
        operation: name of the collective.
        bytes: size of the payload; 0 for a barrier.
        best_s: time per call in the fastest batch.
        median_s: time per call in the median batch.
        calls: number of timed calls.
    """

    operation: str
    bytes: int
    best_s: float
    median_s: float
    calls: int

    @property
    def bytes_per_s(self) -> float:
        """Payload divided by the median time; 0 for a barrier."""
        return self.bytes / self.median_s


def count(sizes: Sequence[int] = SIZES) -> int:
    """Number of measurements of `bench`."""
    return 1 + len(OPERATIONS) * len(sizes)


def bench(comm: Communicator, sizes: Sequence[int] = SIZES, budget_s: float = 0.1) -> Iterator[Measurement]:
    """Measure all collectives at some sizes. All ranks call it and get the same results.

    Args:
        comm: communicator to measure.
        sizes: payloads in bytes, multiples of 8.
        budget_s: approximate time per measurement, which has at least five batches.
    """
    yield _measure(comm, "barrier", 0, comm.barrier, budget_s)
    for operation in OPERATIONS:
        for size in sizes:
            yield _measure(comm, operation, size, _call(comm, operation, size // 8), budget_s)


def _call(comm: Communicator, operation: str, length: int) -> Callable[[], None]:
    send, recv = np.full(length, comm.rank + 1.0), np.empty(length)
    if operation == "allreduce":
        return lambda: comm.allreduce(send, recv, ReduceOp.SUM)
    if operation == "broadcast":
        return lambda: comm.broadcast(recv)
    counts = [length // comm.size + (rank < length % comm.size) for rank in range(comm.size)]
    part = send[: counts[comm.rank]]
    return lambda: comm.allgatherv(part, recv, counts)


def _measure(
    comm: Communicator, operation: str, size: int, call: Callable[[], None], budget_s: float
) -> Measurement:
    # A root of broadcasts could run ahead of the others, so these are timed one by one.
    together = size <= BACK_TO_BACK and operation != "broadcast"
    calls, batches = _plan(comm, call, budget_s, together)
    own = np.empty(batches)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for batch in range(batches):
            comm.barrier()
            own[batch] = _time(call, calls) / calls
    finally:
        if collecting:
            gc.enable()
    slowest = np.empty(batches)
    comm.allreduce(own, slowest, ReduceOp.MAX)
    return Measurement(operation, size, float(slowest.min()), float(np.median(slowest)), calls * batches)


def _plan(comm: Communicator, call: Callable[[], None], budget_s: float, together: bool) -> tuple[int, int]:
    """Calls per batch, and batches: rank 0 decides for all, from some calls that also warm up."""
    trial, agreed = 1, np.empty(1)
    while True:
        comm.barrier()
        agreed[0] = _time(call, trial) / trial
        comm.broadcast(agreed)
        estimate = max(float(agreed[0]), 1e-9)
        if not together or estimate * trial >= BATCH_S / 4:
            break
        trial *= 4
    calls = max(1, round(BATCH_S / estimate)) if together else 1
    return calls, int(min(MOST, max(FEWEST, budget_s / (calls * estimate))))


def _time(call: Callable[[], None], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start
