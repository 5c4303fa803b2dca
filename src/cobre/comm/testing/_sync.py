"""Checks of ``rank``, ``size``, ``topology``, ``broadcast`` and ``barrier``."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cobre.comm.contract import BackendCommunicator
from cobre.comm.testing._expect import difference, equal, expect, mixed_magnitudes
from cobre.comm.testing._run import RunRanks
from cobre.comm.topology import Topology

#: How late a rank comes where others must wait for it; enough for them to run ahead if they do not.
LATE_S = 0.02
#: How often ranks come to barriers in a row, all taken together: where ranks share a processor, each barrier
#: takes a turn of all of them.
ARRIVALS = 20_000


def _rank_and_size(comm: BackendCommunicator) -> tuple[int, int]:
    return comm.rank, comm.size


def ranks_are_in_range(run_ranks: RunRanks) -> None:
    """Every rank's number is from 0 to size - 1."""
    for rank, size in run_ranks(_rank_and_size):
        expect(0 <= rank < size, f"rank {rank} of size {size}")


def ranks_are_unique(run_ranks: RunRanks) -> None:
    """No two ranks have the same number, and results come in rank order."""
    ranks = [rank for rank, _ in run_ranks(_rank_and_size)]
    equal(ranks, list(range(len(ranks))), "ranks")


def size_is_the_same_everywhere(run_ranks: RunRanks) -> None:
    """Every rank knows how many there are."""
    sizes = [size for _, size in run_ranks(_rank_and_size)]
    equal(sizes, [len(sizes)] * len(sizes), "sizes")


def _constant(comm: BackendCommunicator) -> list[tuple[int, int]]:
    before = (comm.rank, comm.size)
    comm.barrier()
    comm.close()
    return [before, (comm.rank, comm.size)]


def rank_and_size_never_change(run_ranks: RunRanks) -> None:
    """Rank and size stay as they were, also after the communicator is closed."""
    for before, after in run_ranks(_constant):
        equal(after, before, "rank and size after close()")


def _topology(comm: BackendCommunicator) -> Topology:
    return comm.topology


def topology_places_every_rank_once(run_ranks: RunRanks) -> None:
    """The topology is the same on every rank and names each rank on exactly one host."""
    topologies = run_ranks(_topology)
    for topology in topologies:
        equal(topology.size, len(topologies), "topology.size")
        placed = sorted(rank for ranks in topology.hosts.values() for rank in ranks)
        equal(placed, list(range(len(topologies))), "ranks in topology.hosts")
        equal(list(topology.hosts.items()), list(topologies[0].hosts.items()), "hosts")


def _from_root(root: int, count: int) -> NDArray[np.float64]:
    return mixed_magnitudes(6, root, count)


def _broadcast_from_every_root(comm: BackendCommunicator, count: int) -> list[str]:
    found = []
    for root in range(comm.size):
        buf = _from_root(root, count) if comm.rank == root else np.full(count, np.nan)
        comm.broadcast(buf, root)
        found.append(difference(buf, _from_root(root, count), f"rank {comm.rank}'s buffer from root {root}"))
    return found


def broadcast_reaches_everybody_from_every_root(run_ranks: RunRanks) -> None:
    """Whichever rank is root, all ranks end with its bits."""
    for found in run_ranks(_broadcast_from_every_root, 3):
        equal(list(filter(None, found)), [], "differences")


def broadcast_carries_100_000_elements(run_ranks: RunRanks) -> None:
    """A buffer too large for one message or slot arrives whole."""
    for found in run_ranks(_broadcast_from_every_root, 100_000):
        equal(list(filter(None, found)), [], "differences")


def _broadcast_unusual_buffers(comm: BackendCommunicator) -> bytes:
    root = comm.size - 1
    nothing = np.empty(0)
    comm.broadcast(nothing, root)
    text = b"read-only on the root" if comm.rank == root else bytearray(21)
    comm.broadcast(text, root)
    comm.broadcast(nothing, root)
    return bytes(text)


def broadcast_takes_empty_and_readonly_buffers(run_ranks: RunRanks) -> None:
    """An empty buffer is legal, and the root's buffer is only read."""
    for rank, text in enumerate(run_ranks(_broadcast_unusual_buffers)):
        equal(text, b"read-only on the root", f"buffer on rank {rank}")


class Noticeboard:
    """A folder per host where ranks leave notes outside the communicator."""

    def __init__(self, comm: BackendCommunicator) -> None:
        token = np.frombuffer(uuid.uuid4().bytes, np.uint8).copy()
        comm.broadcast(token, root=0)
        self._folder = Path(tempfile.gettempdir()) / f"cobre-check-{token.tobytes().hex()}"
        self._folder.mkdir(exist_ok=True)
        self._comm = comm

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                self._comm.barrier()  # nobody reads any more
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def leave(self, note: str) -> None:
        (self._folder / f"{note}.{self._comm.rank}").touch()

    def missing(self, note: str) -> list[int]:
        """Ranks of this host that have not left the note."""
        here = next(ranks for ranks in self._comm.topology.hosts.values() if self._comm.rank in ranks)
        return [rank for rank in here if not (self._folder / f"{note}.{rank}").exists()]

    def wait_for(self, note: str, rank: int) -> None:
        """Wait for a rank's note; only for a while, since the rank may be on another host."""
        deadline = time.monotonic() + 2.0
        while not (self._folder / f"{note}.{rank}").exists() and time.monotonic() < deadline:
            time.sleep(0.001)


def _arrive_late_in_turn(comm: BackendCommunicator, meet: str) -> list[list[int]]:
    missing = []
    with Noticeboard(comm) as board:
        for late in range(comm.size):
            if comm.rank == late:
                time.sleep(LATE_S)
            board.leave(f"came-{late}")
            if meet == "barrier":
                comm.barrier()
            else:
                comm.allgatherv(np.empty(0), np.empty(0), [0] * comm.size)
            missing.append(board.missing(f"came-{late}"))
    return missing


def _nobody_leaves_early(results: list[Any], meet: str) -> None:
    for rank, missing in enumerate(results):
        for late, absent in enumerate(missing):
            equal(
                absent, [], f"ranks that had not come when rank {rank} left the {meet} (rank {late} was late)"
            )


def barrier_waits_for_everybody(run_ranks: RunRanks) -> None:
    """Every rank can read after the barrier what any rank wrote before it, however late a rank is."""
    _nobody_leaves_early(run_ranks(_arrive_late_in_turn, "barrier"), "barrier")


def allgatherv_waits_for_everybody(run_ranks: RunRanks) -> None:
    """No rank returns from an allgatherv before all have come, even if no rank has anything to give."""
    _nobody_leaves_early(run_ranks(_arrive_late_in_turn, "allgatherv"), "allgatherv")


def _barriers_in_a_row(comm: BackendCommunicator) -> int:
    passed = 0
    for _ in range(ARRIVALS // comm.size):
        comm.barrier()
        passed += 1
    return passed


def barrier_can_be_repeated_at_once(run_ranks: RunRanks) -> None:
    """Thousands of barriers in a row let every rank through, none of them twice."""
    results = run_ranks(_barriers_in_a_row)
    equal(results, [ARRIVALS // len(results)] * len(results), "barriers passed")


CHECKS = (
    ranks_are_in_range,
    ranks_are_unique,
    size_is_the_same_everywhere,
    rank_and_size_never_change,
    topology_places_every_rank_once,
    broadcast_reaches_everybody_from_every_root,
    broadcast_carries_100_000_elements,
    broadcast_takes_empty_and_readonly_buffers,
    barrier_waits_for_everybody,
    allgatherv_waits_for_everybody,
    barrier_can_be_repeated_at_once,
)
