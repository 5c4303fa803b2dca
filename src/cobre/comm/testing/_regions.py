"""Checks of shared regions, leaders and ``split_local``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre._native import ReduceOp
from cobre.comm.contract import BackendCommunicator
from cobre.comm.testing._expect import (
    equal,
    expect,
    mixed_magnitudes,
    raised_by,
    same_bits,
    same_bits_on_all_ranks,
)
from cobre.comm.testing._run import RunRanks


def _life_cycle(comm: BackendCommunicator) -> tuple[NDArray[np.float64], NDArray[np.float64], int, str]:
    with comm.create_shared_region(100) as region:
        fresh = region.as_array().copy()
        comm.barrier()  # everybody has looked before anybody writes
        if comm.is_leader:
            region.as_mut_array()[:] = np.arange(100)
        region.fence()
        return fresh, region.as_array().copy(), len(region), str(region.dtype)


def region_shows_what_the_leader_wrote(run_ranks: RunRanks) -> None:
    """A region begins zero-filled; what the leader writes, every rank reads after the fence."""
    results = run_ranks(_life_cycle)
    same_bits_on_all_ranks([fresh for fresh, _, _, _ in results], np.zeros(100), "a fresh region")
    same_bits_on_all_ranks(
        [read for _, read, _, _ in results], np.arange(100.0), "the region after the fence"
    )
    equal({(count, dtype) for _, _, count, dtype in results}, {(100, "float64")}, "length and dtype")


def _rewrite(comm: BackendCommunicator) -> list[bool]:
    seen = []
    with comm.create_shared_region(1000, np.int64) as region:
        for number in range(50):
            if comm.is_leader:
                region.as_mut_array()[:] = number
            region.fence()
            seen.append(bool((region.as_array() == number).all()))
            region.fence()  # everybody has read before the leader writes again
    return seen


def region_can_be_written_again(run_ranks: RunRanks) -> None:
    """Write, fence, read, fence, and so on: every rank reads each version, none too early or late."""
    for rank, seen in enumerate(run_ranks(_rewrite)):
        equal(seen.count(False), 0, f"versions that rank {rank} read wrongly")


def _populate_together(comm: BackendCommunicator, count: int) -> NDArray[np.float64]:
    with comm.split_local() as local, comm.create_shared_region(count) as region:
        begin = count * local.rank // local.size
        end = count * (local.rank + 1) // local.size
        region.as_mut_array()[begin:end] = mixed_magnitudes(7, 0, count)[begin:end]
        region.fence()
        return region.as_array().copy()


def region_can_be_populated_by_all_ranks(run_ranks: RunRanks) -> None:
    """Each rank of a machine writes its share; after the fence every rank reads the whole."""
    results = run_ranks(_populate_together, 10_007)
    same_bits_on_all_ranks(results, mixed_magnitudes(7, 0, 10_007), "the region")


_RECORD = np.dtype([("id", np.int32), ("value", np.float64)])
_DTYPES = (np.dtype(np.float64), np.dtype(np.int8), np.dtype(np.complex128), _RECORD)


def _many_regions(comm: BackendCommunicator) -> list[bytes]:
    regions = [comm.create_shared_region(number + 1, _DTYPES[number % 4]) for number in range(24)]
    if comm.is_leader:
        for number, region in enumerate(regions):
            region.as_mut_array().view(np.uint8)[:] = number
    for region in regions:
        region.fence()
    contents = [region.as_array().tobytes() for region in regions]
    for region in regions:
        region.close()
    return contents


def regions_are_independent(run_ranks: RunRanks) -> None:
    """Two dozen regions of different types and sizes live side by side without touching each other."""
    expected = [bytes([number]) * ((number + 1) * _DTYPES[number % 4].itemsize) for number in range(24)]
    for rank, contents in enumerate(run_ranks(_many_regions)):
        for number, (actual, wanted) in enumerate(zip(contents, expected, strict=True)):
            equal(actual, wanted, f"region {number} on rank {rank}")


def _create_and_drop(comm: BackendCommunicator) -> int:
    wrong = 0
    for number in range(100):
        with comm.create_shared_region(5000) as region:
            wrong += int(region.as_array().any())  # zero-filled: nothing of the region before
            comm.barrier()
            if comm.is_leader:
                region.as_mut_array()[:] = number + 1
            region.fence()
            wrong += int((region.as_array() != number + 1).any())
    return wrong


def regions_can_be_dropped_and_created_again(run_ranks: RunRanks) -> None:
    """A hundred regions one after the other: each is fresh, none keeps what the last one held."""
    results = run_ranks(_create_and_drop)
    equal(results, [0] * len(results), "regions with wrong contents, by rank")


def _views(comm: BackendCommunicator) -> tuple[bool, bool, NDArray[np.float64]]:
    region = comm.create_shared_region(8)
    if comm.is_leader:
        region.as_mut_array()[:] = 5.0
    region.fence()
    kept, writable = region.as_array(), region.as_mut_array()
    flags = (kept.flags.writeable, writable.flags.writeable)
    del writable
    region.close()
    region.close()  # a second time does nothing
    return *flags, kept + 0.0


def arrays_outlive_their_region(run_ranks: RunRanks) -> None:
    """An array taken from a region stays readable after the region is closed; the read view is read-only."""
    for rank, (readable_only, writable, kept) in enumerate(run_ranks(_views)):
        equal((readable_only, writable), (False, True), f"writeable flags on rank {rank}")
        same_bits(kept, np.full(8, 5.0), f"the array kept on rank {rank}")


def _empty_region(comm: BackendCommunicator) -> int:
    with comm.create_shared_region(0, _RECORD) as region:
        region.fence()
        return int(region.as_array().size)


def region_may_be_empty(run_ranks: RunRanks) -> None:
    """A region of no elements is a region."""
    equal(set(run_ranks(_empty_region)), {0}, "elements")


def _leaders(comm: BackendCommunicator) -> tuple[bool, int, int]:
    with comm.split_local() as local:
        return comm.is_leader, local.rank, local.size


def every_machine_has_one_leader(run_ranks: RunRanks) -> None:
    """Rank 0 of split_local() is the leader, and nobody else; local ranks are in range."""
    results = run_ranks(_leaders)
    for rank, (leads, local_rank, local_size) in enumerate(results):
        expect(0 <= local_rank < local_size <= len(results), f"local rank {local_rank} of {local_size}")
        equal(leads, local_rank == 0, f"is_leader of rank {rank}, which is local rank {local_rank}")
    # Groups of s ranks have s members each, so the reciprocals add up to the number of groups.
    groups = round(sum(1 / local_size for _, _, local_size in results))
    equal(sum(leads for leads, _, _ in results), groups, "leaders")


def _use_split(comm: BackendCommunicator) -> tuple[int, list[int], list[int]]:
    local = comm.split_local()
    members = np.empty(local.size, np.int64)
    local.allgatherv(np.array([comm.rank]), members, [1] * local.size)
    total = np.empty(1, np.int64)
    local.allreduce(np.array([1]), total, ReduceOp.SUM)
    local.close()
    everybody = np.empty(comm.size, np.int64)
    comm.allgatherv(np.array([comm.rank]), everybody, [1] * comm.size)  # the parent is still open
    return int(total[0]), members.tolist(), everybody.tolist()


def split_local_gives_a_communicator_of_its_own(run_ranks: RunRanks) -> None:
    """The ranks of a machine form a group of their own, in order; closing it leaves the parent open."""
    results = run_ranks(_use_split)
    for rank, (total, members, everybody) in enumerate(results):
        equal(total, len(members), f"ranks counted by allreduce, by rank {rank}")
        expect(
            rank in members and members == sorted(set(members)), f"rank {rank} is not in order in {members}"
        )
        equal(everybody, list(range(len(results))), f"ranks of the parent, by rank {rank}")


def _use_split_alone(comm: BackendCommunicator) -> tuple[int, int]:
    total = np.empty(1, np.int64)
    with comm.split_local() as local:
        comm.close()
        local.allreduce(np.array([1]), total)
        return int(total[0]), local.size


def split_local_outlives_its_parent(run_ranks: RunRanks) -> None:
    """Closing a communicator leaves those that were split from it open."""
    for rank, (total, size) in enumerate(run_ranks(_use_split_alone)):
        equal(total, size, f"ranks counted after the parent was closed, by rank {rank}")


def _make_and_close(comm: BackendCommunicator, times: int) -> int:
    before = len([*Path("/dev/fd").iterdir()])
    for _ in range(times):
        with comm.split_local() as local, comm.create_shared_region(10) as region:
            region.fence()
            local.barrier()
        comm.gather_region([1] * comm.size).close()
    return len([*Path("/dev/fd").iterdir()]) - before


def closing_leaves_no_file_open(run_ranks: RunRanks) -> None:
    """Communicators that were split off and regions, once closed, leave no file descriptor open."""
    for rank, more in enumerate(run_ranks(_make_and_close, 30)):
        # A backend may open something once and keep it, and ranks may be threads of one process.
        expect(more < 30, f"rank {rank} has {more} more open files after 30 times")


def _parts_of(size: int) -> list[int]:
    return [5 * rank % 7 for rank in range(size)]  # rank 0 has nothing to give


def _rounds(comm: BackendCommunicator, rounds: int) -> list[NDArray[np.float64]]:
    published = []
    with comm.gather_region(_parts_of(comm.size)) as region:
        for number in range(rounds):
            region.own[:] = 100.0 * number + comm.rank
            published.append(region.publish().copy())
    return published


def gather_region_gives_everybody_the_whole(run_ranks: RunRanks) -> None:
    """Round after round every rank reads all parts, in rank order, as they were published."""
    results = run_ranks(_rounds, 50)
    parts = _parts_of(len(results))
    for number in range(50):
        expected = np.repeat(100.0 * number + np.arange(len(results)), parts)
        same_bits_on_all_ranks([result[number] for result in results], expected, f"round {number}")


def _write_ahead(comm: BackendCommunicator) -> list[bool]:
    intact = []
    with comm.gather_region([1000] * comm.size, np.int64) as region:
        for number in range(20):
            region.own[:] = number
            whole = region.publish()
            region.own[:] = -1  # the next round's part; nobody may see it in this round's whole
            comm.barrier()
            intact.append(bool((whole == number).all()) and not whole.flags.writeable)
    return intact


def gather_region_keeps_what_was_published(run_ranks: RunRanks) -> None:
    """Writing the next part changes nothing of the whole that others still read; that is read-only."""
    for rank, intact in enumerate(run_ranks(_write_ahead)):
        equal(intact.count(False), 0, f"rounds that changed under rank {rank}")


def _use_closed_region(comm: BackendCommunicator) -> list[str]:
    region = comm.create_shared_region(4)
    region.close()
    gather = comm.gather_region([2] * comm.size)
    gather.close()
    calls: tuple[Any, ...] = (region.as_array, region.as_mut_array, region.fence, gather.publish)
    return [type(raised_by(call)).__name__ for call in calls]


def a_closed_region_says_so(run_ranks: RunRanks) -> None:
    """Every use of a closed region raises InvalidCommunicator."""
    for rank, raised in enumerate(run_ranks(_use_closed_region)):
        equal(raised, ["InvalidCommunicator"] * 4, f"errors on rank {rank}")


CHECKS = (
    region_shows_what_the_leader_wrote,
    region_can_be_written_again,
    region_can_be_populated_by_all_ranks,
    regions_are_independent,
    regions_can_be_dropped_and_created_again,
    arrays_outlive_their_region,
    region_may_be_empty,
    every_machine_has_one_leader,
    split_local_gives_a_communicator_of_its_own,
    split_local_outlives_its_parent,
    closing_leaves_no_file_open,
    gather_region_gives_everybody_the_whole,
    gather_region_keeps_what_was_published,
    a_closed_region_says_so,
)
