"""A backend whose ranks are threads: several ranks in one process, to test the kit itself with.

It keeps the whole contract, true sharing of regions included, and is simple enough to be believed.
``tests/comm/sabotage.py`` breaks it in one way at a time.
"""

import pickle
import threading
from typing import Any

import numpy as np

from cobre._native import place, reduce
from cobre.comm import BackendCommunicator, CollectiveFailed, SharedRegion, gather_topology
from cobre.comm.regions.shared import HeapRegion


class ThreadGroup:
    """What the ranks of one group share."""

    def __init__(self, size: int, ranks_per_machine: int | None = None, timeout_s: float = 20.0) -> None:
        self.size = size
        self.ranks_per_machine = ranks_per_machine or size
        self.slots: list[Any] = [None] * size
        self.meeting = threading.Barrier(size, timeout=timeout_s)

    def exchange(self, rank: int, mine: Any) -> list[Any]:
        """All ranks' contributions, in rank order."""
        self.slots[rank] = mine
        self.meet()
        everybodys = list(self.slots)
        self.meet()  # all have read before anybody writes again
        return everybodys

    def meet(self) -> None:
        try:
            self.meeting.wait()
        except threading.BrokenBarrierError:
            raise CollectiveFailed("meeting", "a rank is missing") from None


class ThreadRegion(SharedRegion):
    def __init__(self, memory: np.ndarray, machine: ThreadGroup) -> None:
        super().__init__(memory)
        self._machine = machine

    def _fence(self) -> None:
        self._machine.meet()


class ThreadCommunicator(BackendCommunicator):
    def __init__(self, rank: int, group: ThreadGroup) -> None:
        super().__init__(rank, group.size)
        self._group = group
        each = group.ranks_per_machine
        self._local_rank = rank % each
        self._machine_ranks = range(rank - self._local_rank, min(rank - self._local_rank + each, group.size))
        self._all_share_memory = len(self._machine_ranks) == group.size
        self.topology = gather_topology(self, "threads", host=f"machine-{rank // each}")

    @property
    def is_leader(self) -> bool:
        return self._local_rank == 0

    def _allgatherv(self, send, recv, counts, displs):
        for part, displ in zip(self._group.exchange(self._rank, send.copy()), displs, strict=True):
            place(part, recv, displ)

    def _allreduce(self, send, recv, op):
        reduce(self._group.exchange(self._rank, send.copy()), recv, op)

    def _broadcast(self, buf, root):
        sent = self._group.exchange(self._rank, buf.copy())[root]
        if self._rank != root:  # the root's buffer may be read-only
            place(sent, buf, 0)

    def _barrier(self):
        self._group.meet()

    def _create_shared_region(self, count, dtype):
        memory = HeapRegion.allocate(count, dtype).as_mut_array()
        memory, machine = self._of_my_leader((memory, ThreadGroup(len(self._machine_ranks))))
        return ThreadRegion(memory, machine)

    def _split_local(self):
        return type(self)(self._local_rank, self._of_my_leader(ThreadGroup(len(self._machine_ranks))))

    def _of_my_leader(self, mine: Any) -> Any:
        return self._group.exchange(self._rank, mine)[self._machine_ranks[0]]


def thread_runner(
    size: int,
    communicator: type[ThreadCommunicator] = ThreadCommunicator,
    ranks_per_machine: int | None = None,
    timeout_s: float = 20.0,
):
    """``run_ranks`` over threads; the first failure ends the group and is raised."""

    def run_ranks(body, *args):
        body, args = pickle.loads(pickle.dumps((body, args)))  # as a spawned process would get it
        group = ThreadGroup(size, ranks_per_machine, timeout_s)
        results: list[Any] = [None] * size
        failures: list[BaseException] = []

        def run(rank: int) -> None:
            try:
                with communicator(rank, group) as comm:
                    results[rank] = body(comm, *args)
            except BaseException as exc:  # noqa: BLE001
                failures.append(exc)
                group.meeting.abort()

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        pickle.dumps(results)
        return results

    return run_ranks
