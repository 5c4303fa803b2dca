"""Backends broken in one way each: for every check of the kit, one that it must catch.

``caught_as`` is how: by a comparison, unless the fault itself raises.
"""

import itertools
import os

import numpy as np

from cobre._native import ReduceOp, place
from cobre.comm import AllocationFailed, CollectiveFailed, Topology
from cobre.comm.testing._reduce import sequential
from tests.comm.thread_group import ThreadCommunicator, ThreadRegion


class NumbersFromOne(ThreadCommunicator):
    rank = property(lambda self: self._rank + 1)


class TwoRanksWithOneNumber(ThreadCommunicator):
    rank = property(lambda self: self._rank // 2)


class RankZeroCountsOneMore(ThreadCommunicator):
    size = property(lambda self: self._size + (self._rank == 0 and hasattr(self, "topology")))


class ForgetsRankOnClose(ThreadCommunicator):
    rank = property(lambda self: -1 if self._closed else self._rank)


class TopologyWithoutLastRank(ThreadCommunicator):
    def __init__(self, rank, group):
        super().__init__(rank, group)
        self.topology = Topology("threads", self._size, {"here": tuple(range(self._size - 1))})


class BroadcastsFromZeroAlways(ThreadCommunicator):
    def _broadcast(self, buf, root):
        super()._broadcast(buf, 0)


class BroadcastsFirstChunkOnly(ThreadCommunicator):
    def _broadcast(self, buf, root):
        super()._broadcast(buf[: 65536 // buf.itemsize], root)


class BroadcastsFromWritableOnly(ThreadCommunicator):
    caught_as = "ValueError"

    def broadcast(self, buf, root=0):
        if memoryview(buf).readonly:
            raise ValueError("read-only")
        super().broadcast(buf, root)


class BarrierDoesNotWait(ThreadCommunicator):
    def _barrier(self):
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls > self._size:  # the check tidies up behind a last barrier
            super()._barrier()


class GatherOfNothingDoesNotWait(ThreadCommunicator):
    def _allgatherv(self, send, recv, counts, displs):
        if sum(counts) > 0:
            super()._allgatherv(send, recv, counts, displs)


class BarrierWearsOut(ThreadCommunicator):
    caught_as = "CollectiveFailed"

    def _barrier(self):
        self.passed = getattr(self, "passed", 0) + 1
        if self.passed == 4096:
            raise CollectiveFailed("barrier", "the generation wrapped around")
        super()._barrier()


class GatherOf(ThreadCommunicator):
    """Has the parts of all ranks at hand, to place them wrongly."""

    def _allgatherv(self, send, recv, counts, displs):
        self.place_all(self._group.exchange(self._rank, send.copy()), recv, displs)


class GathersEqualPartsOnly(GatherOf):
    def place_all(self, parts, recv, displs):
        shortest = min(len(part) for part in parts)
        for part, displ in zip(parts, displs, strict=True):
            place(part[:shortest], recv, displ)


class StopsAtAnEmptyPart(GatherOf):
    def place_all(self, parts, recv, displs):
        for part, displ in itertools.takewhile(
            lambda pair: len(pair[0]) > 0, zip(parts, displs, strict=True)
        ):
            place(part, recv, displ)


class SwapsNeighbours(GatherOf):
    def place_all(self, parts, recv, displs):
        for part, displ in zip([*parts[1:], parts[0]], displs, strict=True):
            place(part, recv, displ)


class GathersFirstChunkOnly(GatherOf):
    def place_all(self, parts, recv, displs):
        for part, displ in zip(parts, displs, strict=True):
            place(part[: 65536 // part.itemsize], recv, displ)


class ClearsRecvFirst(GatherOf):
    def place_all(self, parts, recv, displs):
        recv[:] = 0
        for part, displ in zip(parts, displs, strict=True):
            place(part, recv, displ)


class IgnoresDisplacements(GatherOf):
    def place_all(self, parts, recv, displs):
        place(np.concatenate(parts), recv, 0)


class CopiesFieldByField(GatherOf):
    def place_all(self, parts, recv, displs):
        for part, displ in zip(parts, displs, strict=True):
            target = recv[displ : displ + len(part)]
            if part.dtype.names is None:
                target[:] = part
            for name in part.dtype.names or ():
                target[name] = part[name]


class TakesArraysOnly(ThreadCommunicator):
    caught_as = "TypeError"

    def allgatherv(self, send, recv, counts, displs=None):
        if not isinstance(send, np.ndarray):
            raise TypeError("arrays only")
        super().allgatherv(send, recv, counts, displs)


class ClearsRecvBeforeReadingSend(ThreadCommunicator):
    def _allgatherv(self, send, recv, counts, displs):
        recv.view(np.uint8)[:] = 0
        super()._allgatherv(send, recv, counts, displs)

    def _allreduce(self, send, recv, op):
        recv[:] = 0
        super()._allreduce(send, recv, op)


class UsesSendAsScratch(ThreadCommunicator):
    def _allgatherv(self, send, recv, counts, displs):
        super()._allgatherv(send, recv, counts, displs)
        if send.flags.writeable:
            send.view(np.uint8)[:] = 0

    def _allreduce(self, send, recv, op):
        super()._allreduce(send, recv, op)
        send[:] = 0


class ReducesNothing(ThreadCommunicator):
    def _allreduce(self, send, recv, op):
        super()._allreduce(send, recv, op)
        recv[:] = send


class SumsForMinAndMax(ThreadCommunicator):
    def _allreduce(self, send, recv, op):
        super()._allreduce(send, recv, ReduceOp.SUM)


class SkipsTheLastElement(ThreadCommunicator):
    def _allreduce(self, send, recv, op):
        before = recv[-1]
        super()._allreduce(send, recv, op)
        recv[-1] = before


class ReducesInDoubles(ThreadCommunicator):
    def _allreduce(self, send, recv, op):
        wide = np.zeros(len(recv))
        super()._allreduce(send.astype(np.float64), wide, op)
        with np.errstate(all="ignore"):
            recv[:] = wide.astype(recv.dtype)


class SumsInReverse(ThreadCommunicator):
    def _allreduce(self, send, recv, op):
        total, *others = self._group.exchange(self._rank, send.copy())[::-1]
        for other in others:
            total = total + other
        recv[:] = total


class MinIgnoresNaN(ThreadCommunicator):
    def _allreduce(self, send, recv, op):
        by_op = {ReduceOp.SUM: np.add, ReduceOp.MIN: np.fmin, ReduceOp.MAX: np.fmax}
        with np.errstate(all="ignore"):
            recv[:] = by_op[op].reduce(self._group.exchange(self._rank, send.copy()))


class SumsAsItsThreadRounds(ThreadCommunicator):
    def _allreduce(self, send, recv, op):
        recv[:] = sequential(self._group.exchange(self._rank, send.copy()), op)


class KeepsAStaleSlot(ThreadCommunicator):
    """The second call of some length finds the first one's slot and takes it for new."""

    def _allgatherv(self, send, recv, counts, displs):
        super()._allgatherv(send, recv, counts, displs)
        slots = self.__dict__.setdefault("slots", {})
        place(slots.setdefault((counts, recv.dtype), recv.copy()), recv, 0)


class FailsOnTheTwentiethBroadcast(ThreadCommunicator):
    def _broadcast(self, buf, root):
        super()._broadcast(buf, root)
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls == 20 and len(buf) > 0:
            buf[-1] += 1


class PrivateRegions(ThreadCommunicator):
    def _create_shared_region(self, count, dtype):
        return ThreadRegion(np.zeros(count, dtype), super()._create_shared_region(count, dtype)._machine)


class PublishesOnce(ThreadCommunicator):
    class Region(ThreadRegion):
        published = None

        def as_array(self):
            return super().as_array() if self.published is None else self.published

        def _fence(self):
            super()._fence()
            self.published = self._memory.copy() if self.published is None else self.published
            super()._fence()

    def _create_shared_region(self, count, dtype):
        region = super()._create_shared_region(count, dtype)
        return self.Region(region._memory, region._machine)


class FollowersWriteToACopy(ThreadCommunicator):
    class Region(ThreadRegion):
        def as_mut_array(self):
            return self._memory.copy()

    def _create_shared_region(self, count, dtype):
        region = super()._create_shared_region(count, dtype)
        return region if self.is_leader else self.Region(region._memory, region._machine)


class OneArenaForAllRegions(ThreadCommunicator):
    def _create_shared_region(self, count, dtype):
        region = super()._create_shared_region(max(count, 1000), dtype)
        arena = self.__dict__.setdefault("arena", region.as_mut_array().view(np.uint8))
        return ThreadRegion(arena[: count * dtype.itemsize].view(dtype), region._machine)


class RecyclesWithoutClearing(ThreadCommunicator):
    def _create_shared_region(self, count, dtype):
        region = super()._create_shared_region(count, dtype)
        memory = self.__dict__.setdefault("recycled", region.as_mut_array())
        return ThreadRegion(memory, region._machine)


class UnmapsUnderTheViews(ThreadCommunicator):
    class Region(ThreadRegion):
        def close(self):
            if self._memory is not None:
                self._memory[:] = -1
            super().close()

    def _create_shared_region(self, count, dtype):
        region = super()._create_shared_region(count, dtype)
        return self.Region(region._memory, region._machine)


class NoEmptyRegions(ThreadCommunicator):
    caught_as = "AllocationFailed"

    def _create_shared_region(self, count, dtype):
        if count == 0:
            raise AllocationFailed(0, "cannot map nothing")
        return super()._create_shared_region(count, dtype)


class EverybodyLeads(ThreadCommunicator):
    is_leader = property(lambda self: True)


class SplitsIntoItself(ThreadCommunicator):
    caught_as = "InvalidCommunicator"

    def _split_local(self):
        return self


class TakesItsChildrenAlong(ThreadCommunicator):
    caught_as = "InvalidCommunicator"

    def _split_local(self):
        self.child = super()._split_local()
        return self.child

    def _close(self):
        if hasattr(self, "child"):
            self.child.close()


class KeepsFilesOpen(ThreadCommunicator):
    def _split_local(self):
        self.__dict__.setdefault("files", []).append(os.open(os.devnull, os.O_RDONLY))
        return super()._split_local()

    def _close(self):
        for file in self.__dict__.get("files", ()):
            os.close(file)


class PublishesOnlyItself(ThreadCommunicator):
    def gather_region(self, counts, dtype=np.float64):
        region = super().gather_region(counts, dtype)
        region._publish = lambda which: self.barrier()
        region._wholes = [whole.copy() for whole in region._wholes]
        return region


class GathersInOneBuffer(ThreadCommunicator):
    def gather_region(self, counts, dtype=np.float64):
        region = super().gather_region(counts, dtype)
        region._parts[1], region._wholes[1] = region._parts[0], region._wholes[0]
        return region


class RegionsStayOpen(ThreadCommunicator):
    class Region(ThreadRegion):
        def close(self):
            pass

    def _create_shared_region(self, count, dtype):
        region = super()._create_shared_region(count, dtype)
        return self.Region(region._memory, region._machine)


class ChecksNothing(ThreadCommunicator):
    """Hands whatever it gets to the hooks, which is the end of the communicator."""

    caught_as = "InvalidCommunicator"

    def allgatherv(self, send, recv, counts, displs=None):
        displs = np.cumsum([0, *counts[:-1]]).tolist() if displs is None else displs
        self._run(
            "allgatherv", self._allgatherv, np.asarray(send), np.asarray(recv), tuple(counts), tuple(displs)
        )

    def allreduce(self, send, recv, op=ReduceOp.SUM):
        self._run("allreduce", self._allreduce, np.asarray(send), np.asarray(recv), op)

    def broadcast(self, buf, root=0):
        self._run("broadcast", self._broadcast, np.asarray(buf), root)


class WrapsTheRoot(ThreadCommunicator):
    def broadcast(self, buf, root=0):
        super().broadcast(buf, root % self._size)


class RunsOutOfMemoryUntyped(ThreadCommunicator):
    def create_shared_region(self, count, dtype=np.float64):
        if count > 2**40:
            raise MemoryError
        return super().create_shared_region(count, dtype)


class NeverCloses(ThreadCommunicator):
    def close(self):
        pass


class LetsThreadsThrough(ThreadCommunicator):
    caught_as = (
        "AssertionError",
        "CollectiveFailed",
        "InvalidBufferSize",
        "TypeError",
    )  # whichever corruption comes first

    def _run(self, operation, hook, *args):
        return hook(*args)


#: Check → a backend with the fault that it guards against.
BROKEN = {
    "ranks_are_in_range": NumbersFromOne,
    "ranks_are_unique": TwoRanksWithOneNumber,
    "size_is_the_same_everywhere": RankZeroCountsOneMore,
    "rank_and_size_never_change": ForgetsRankOnClose,
    "topology_places_every_rank_once": TopologyWithoutLastRank,
    "broadcast_reaches_everybody_from_every_root": BroadcastsFromZeroAlways,
    "broadcast_carries_100_000_elements": BroadcastsFirstChunkOnly,
    "broadcast_takes_empty_and_readonly_buffers": BroadcastsFromWritableOnly,
    "barrier_waits_for_everybody": BarrierDoesNotWait,
    "allgatherv_waits_for_everybody": GatherOfNothingDoesNotWait,
    "barrier_can_be_repeated_at_once": BarrierWearsOut,
    "allgatherv_joins_unequal_parts": GathersEqualPartsOnly,
    "allgatherv_takes_an_empty_part": StopsAtAnEmptyPart,
    "allgatherv_joins_single_elements": SwapsNeighbours,
    "allgatherv_joins_100_000_elements_per_rank": GathersFirstChunkOnly,
    "allgatherv_leaves_gaps_untouched": ClearsRecvFirst,
    "allgatherv_places_parts_in_any_order": IgnoresDisplacements,
    "allgatherv_copies_structured_elements_bit_for_bit": CopiesFieldByField,
    "allgatherv_takes_any_contiguous_buffer": TakesArraysOnly,
    "allgatherv_works_in_place": ClearsRecvBeforeReadingSend,
    "allgatherv_leaves_send_alone": UsesSendAsScratch,
    "allreduce_sums_four_doubles": ReducesNothing,
    "allreduce_finds_the_minimum": SumsForMinAndMax,
    "allreduce_finds_the_maximum": SumsForMinAndMax,
    "allreduce_takes_a_single_element": SkipsTheLastElement,
    "allreduce_takes_all_numeric_dtypes": ReducesInDoubles,
    "allreduce_sums_in_rank_order": SumsInReverse,
    "allreduce_does_not_depend_on_the_rounding_of_a_rank": SumsAsItsThreadRounds,
    "allreduce_treats_special_values_alike": MinIgnoresNaN,
    "allreduce_works_in_place": ClearsRecvBeforeReadingSend,
    "allreduce_leaves_send_alone": UsesSendAsScratch,
    "results_never_come_from_an_earlier_call": KeepsAStaleSlot,
    "a_long_mixed_sequence_matches_the_model": FailsOnTheTwentiethBroadcast,
    "region_shows_what_the_leader_wrote": PrivateRegions,
    "region_can_be_written_again": PublishesOnce,
    "region_can_be_populated_by_all_ranks": FollowersWriteToACopy,
    "regions_are_independent": OneArenaForAllRegions,
    "regions_can_be_dropped_and_created_again": RecyclesWithoutClearing,
    "arrays_outlive_their_region": UnmapsUnderTheViews,
    "region_may_be_empty": NoEmptyRegions,
    "every_machine_has_one_leader": EverybodyLeads,
    "split_local_gives_a_communicator_of_its_own": SplitsIntoItself,
    "split_local_outlives_its_parent": TakesItsChildrenAlong,
    "closing_leaves_no_file_open": KeepsFilesOpen,
    "gather_region_gives_everybody_the_whole": PublishesOnlyItself,
    "gather_region_keeps_what_was_published": GathersInOneBuffer,
    "a_closed_region_says_so": RegionsStayOpen,
    "allgatherv_refuses_lengths_that_do_not_fit": ChecksNothing,
    "allreduce_refuses_lengths_that_do_not_fit": ChecksNothing,
    "broadcast_refuses_a_root_that_is_no_rank": WrapsTheRoot,
    "bad_buffers_are_refused": ChecksNothing,
    "a_region_beyond_memory_is_refused": RunsOutOfMemoryUntyped,
    "a_closed_communicator_says_so": NeverCloses,
    "two_threads_at_once_are_told_apart": LetsThreadsThrough,
}
