"""Checks of ``allgatherv``."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.comm.contract import BackendCommunicator
from cobre.comm.testing._expect import difference, equal, mixed_magnitudes, same_bits, same_bits_on_all_ranks
from cobre.comm.testing._run import RunRanks

UNTOUCHED = -7.25  # a value that no rank sends


def _part(rank: int, count: int) -> NDArray[np.float64]:
    return 1000.0 * rank + np.arange(count, dtype=np.float64)


def _joined(counts: list[int]) -> NDArray[np.float64]:
    return np.concatenate([_part(rank, count) for rank, count in enumerate(counts)])


def _gather(comm: BackendCommunicator, counts: list[int]) -> NDArray[np.float64]:
    recv = np.full(sum(counts), np.nan)  # an element that nobody wrote must not pass for data
    comm.allgatherv(_part(comm.rank, counts[comm.rank]), recv, counts)
    return recv


def _unequal_parts(comm: BackendCommunicator) -> NDArray[np.float64]:
    return _gather(comm, [3 + 2 * rank for rank in range(comm.size)])


def allgatherv_joins_unequal_parts(run_ranks: RunRanks) -> None:
    """Parts of different length land on every rank, in rank order."""
    results = run_ranks(_unequal_parts)
    expected = _joined([3 + 2 * rank for rank in range(len(results))])
    same_bits_on_all_ranks(results, expected, "recv")


def _one_empty_part_each_time(comm: BackendCommunicator) -> list[NDArray[np.float64]]:
    return [
        _gather(comm, [0 if rank == empty else 4 for rank in range(comm.size)]) for empty in range(comm.size)
    ]


def allgatherv_takes_an_empty_part(run_ranks: RunRanks) -> None:
    """A rank with nothing to give, whichever it is, gets the others' parts and disturbs none."""
    for rank, gathered in enumerate(run_ranks(_one_empty_part_each_time)):
        for empty, recv in enumerate(gathered):
            counts = [0 if r == empty else 4 for r in range(len(gathered))]
            same_bits(
                recv,
                _joined(counts) if sum(counts) else np.empty(0),
                f"recv on rank {rank}, rank {empty} empty",
            )


def _single_elements(comm: BackendCommunicator) -> NDArray[np.float64]:
    return _gather(comm, [1] * comm.size)


def allgatherv_joins_single_elements(run_ranks: RunRanks) -> None:
    """One element from each rank makes an array with one element per rank."""
    results = run_ranks(_single_elements)
    same_bits_on_all_ranks(results, _joined([1] * len(results)), "recv")


def _large_parts(comm: BackendCommunicator, count: int) -> str:
    recv = np.full(count * comm.size, np.nan)
    comm.allgatherv(mixed_magnitudes(1, comm.rank, count), recv, [count] * comm.size)
    expected = np.concatenate([mixed_magnitudes(1, rank, count) for rank in range(comm.size)])
    return difference(recv, expected, f"recv on rank {comm.rank}")  # compared here: it is much to send


def allgatherv_joins_100_000_elements_per_rank(run_ranks: RunRanks) -> None:
    """Parts too large for one message or slot arrive whole and in order."""
    for found in run_ranks(_large_parts, 100_000):
        equal(found, "", "difference")


def _parts_with_gaps(comm: BackendCommunicator) -> NDArray[np.float64]:
    recv = np.full(5 * comm.size + 2, UNTOUCHED)
    comm.allgatherv(_part(comm.rank, 3), recv, [3] * comm.size, [5 * rank + 2 for rank in range(comm.size)])
    return recv


def allgatherv_leaves_gaps_untouched(run_ranks: RunRanks) -> None:
    """Elements of recv before, between and after the parts keep their value."""
    results = run_ranks(_parts_with_gaps)
    expected = np.full(5 * len(results) + 2, UNTOUCHED)
    for rank in range(len(results)):
        expected[5 * rank + 2 : 5 * rank + 5] = _part(rank, 3)
    same_bits_on_all_ranks(results, expected, "recv")


def _rotated_order(comm: BackendCommunicator) -> NDArray[np.float64]:
    recv = np.full(2 * comm.size, np.nan)
    displs = [2 * ((rank + comm.rank + 1) % comm.size) for rank in range(comm.size)]
    comm.allgatherv(_part(comm.rank, 2), recv, [2] * comm.size, displs)
    return recv


def allgatherv_places_parts_in_any_order(run_ranks: RunRanks) -> None:
    """Displacements need not follow the ranks' order, and each rank may choose its own."""
    results = run_ranks(_rotated_order)
    for rank, recv in enumerate(results):
        order = np.roll(np.arange(len(results)), rank + 1).tolist()
        same_bits(recv, np.concatenate([_part(r, 2) for r in order]), f"recv on rank {rank}")


# Natural alignment puts seven bytes of padding behind the flag.
_RECORD = np.dtype([("flag", np.int8), ("value", np.float64), ("grid", np.int16, (2, 2))], align=True)


def _records(rank: int) -> NDArray[Any]:
    generator = np.random.default_rng([2, rank])
    return np.frombuffer(generator.bytes(_RECORD.itemsize * (rank + 1)), _RECORD)


def _gather_records(comm: BackendCommunicator) -> NDArray[np.uint8]:
    counts = [rank + 1 for rank in range(comm.size)]
    recv = np.zeros(sum(counts), _RECORD)
    comm.allgatherv(_records(comm.rank), recv, counts)
    return recv.view(np.uint8)  # as bytes, since pickling drops what lies between the fields


def allgatherv_copies_structured_elements_bit_for_bit(run_ranks: RunRanks) -> None:
    """Records arrive with every byte, padding and NaN payloads included."""
    results = run_ranks(_gather_records)
    expected = np.concatenate([_records(rank).view(np.uint8) for rank in range(len(results))])
    same_bits_on_all_ranks(results, expected, "recv as bytes")


def _other_buffers(comm: BackendCommunicator) -> list[bytes]:
    text = bytearray(3 * comm.size)
    comm.allgatherv(bytes([comm.rank] * 3), text, [3] * comm.size)
    numbers = array.array("i", [0] * comm.size)
    comm.allgatherv(memoryview(array.array("i", [comm.rank])), numbers, [1] * comm.size)
    table = np.zeros((comm.size, 2, 2))
    comm.allgatherv(np.full((2, 2), float(comm.rank)), table, [4] * comm.size)
    dates = np.zeros(comm.size, "datetime64[s]")
    comm.allgatherv(np.array([comm.rank], "datetime64[s]"), dates, [1] * comm.size)
    return [bytes(text), numbers.tobytes(), table.tobytes(), dates.tobytes()]


def allgatherv_takes_any_contiguous_buffer(run_ranks: RunRanks) -> None:
    """Bytes, memory views, arrays of several dimensions and dates are buffers like any other."""
    results = run_ranks(_other_buffers)
    ranks = np.arange(len(results))
    expected = [
        np.repeat(ranks, 3).astype(np.uint8).tobytes(),
        array.array("i", ranks.tolist()).tobytes(),
        np.repeat(ranks, 4).astype(np.float64).tobytes(),
        ranks.astype("datetime64[s]").tobytes(),
    ]
    for rank, result in enumerate(results):
        for kind, (actual, wanted) in enumerate(zip(result, expected, strict=True)):
            same_bits(
                np.frombuffer(actual, np.uint8),
                np.frombuffer(wanted, np.uint8),
                f"buffer {kind} on rank {rank}",
            )


def _in_place(comm: BackendCommunicator) -> NDArray[np.float64]:
    recv = np.full(3 * comm.size, np.nan)
    own = recv[3 * comm.rank : 3 * comm.rank + 3]
    own[:] = _part(comm.rank, 3)
    comm.allgatherv(own, recv, [3] * comm.size)
    return recv


def allgatherv_works_in_place(run_ranks: RunRanks) -> None:
    """Send may be this rank's own part of recv."""
    results = run_ranks(_in_place)
    same_bits_on_all_ranks(results, _joined([3] * len(results)), "recv")


def _send_stays(comm: BackendCommunicator) -> NDArray[np.float64]:
    send = _part(comm.rank, 3)
    comm.allgatherv(send, np.empty(3 * comm.size), [3] * comm.size)
    return send


def allgatherv_leaves_send_alone(run_ranks: RunRanks) -> None:
    """The send buffer has the same contents afterwards."""
    for rank, send in enumerate(run_ranks(_send_stays)):
        same_bits(send, _part(rank, 3), f"send on rank {rank}")


CHECKS = (
    allgatherv_joins_unequal_parts,
    allgatherv_takes_an_empty_part,
    allgatherv_joins_single_elements,
    allgatherv_joins_100_000_elements_per_rank,
    allgatherv_leaves_gaps_untouched,
    allgatherv_places_parts_in_any_order,
    allgatherv_copies_structured_elements_bit_for_bit,
    allgatherv_takes_any_contiguous_buffer,
    allgatherv_works_in_place,
    allgatherv_leaves_send_alone,
)
