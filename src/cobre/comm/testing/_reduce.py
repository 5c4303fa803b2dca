"""Checks of ``allreduce``. The oracle is NumPy, one rank after the other."""

from __future__ import annotations

import ctypes
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre._native import ReduceOp
from cobre.comm.contract import BackendCommunicator
from cobre.comm.testing._expect import equal, mixed_magnitudes, same_bits, same_bits_on_all_ranks
from cobre.comm.testing._run import RunRanks

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "longdouble")
OPERATIONS = (ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX)
#: C's number of the rounding mode "upward", by processor.
UPWARD = {"x86_64": 0x800, "aarch64": 0x400000, "arm64": 0x400000}


def sequential(parts: list[NDArray[Any]], op: ReduceOp) -> NDArray[Any]:
    """Reduce in rank order, one rank after the other; NaN comes out as `numpy.nan`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow and invalid operations are part of the exercise
        so_far = parts[0].copy()
        for part in parts[1:]:
            if op is ReduceOp.SUM:
                so_far = so_far + part
            else:
                better = part < so_far if op is ReduceOp.MIN else part > so_far
                so_far = np.where(better | (part != part), part, so_far)  # noqa: PLR0124  finds NaN
        so_far[so_far != so_far] = np.nan if so_far.dtype.kind == "f" else 0  # noqa: PLR0124
    return so_far


def _reduce(comm: BackendCommunicator, send: NDArray[Any], op: ReduceOp) -> NDArray[Any]:
    recv = np.full_like(send, 99)
    comm.allreduce(send, recv, op)
    return recv


def _convergence_statistics(rank: int) -> NDArray[np.float64]:
    return np.array([1.0, 2.0, 3.0, 4.0]) * (rank + 1)


def _four_doubles(comm: BackendCommunicator) -> NDArray[np.float64]:
    return _reduce(comm, _convergence_statistics(comm.rank), ReduceOp.SUM)


def allreduce_sums_four_doubles(run_ranks: RunRanks) -> None:
    """SDDP's four convergence statistics are summed over all ranks."""
    results = run_ranks(_four_doubles)
    ranks = len(results)
    same_bits_on_all_ranks(results, np.array([1.0, 2.0, 3.0, 4.0]) * (ranks * (ranks + 1) // 2), "sum")


def _ascending_and_descending(comm: BackendCommunicator, op: ReduceOp) -> NDArray[np.float64]:
    return _reduce(comm, np.array([float(comm.rank), float(comm.size - comm.rank)]), op)


def allreduce_finds_the_minimum(run_ranks: RunRanks) -> None:
    """MIN gives the smallest element of all ranks, wherever it is."""
    results = run_ranks(_ascending_and_descending, ReduceOp.MIN)
    same_bits_on_all_ranks(results, np.array([0.0, 1.0]), "minimum")


def allreduce_finds_the_maximum(run_ranks: RunRanks) -> None:
    """MAX gives the largest element of all ranks, wherever it is."""
    results = run_ranks(_ascending_and_descending, ReduceOp.MAX)
    same_bits_on_all_ranks(results, np.array([len(results) - 1.0, float(len(results))]), "maximum")


def _single_element(comm: BackendCommunicator) -> NDArray[np.int64]:
    return _reduce(comm, np.array([comm.rank + 1]), ReduceOp.SUM)


def allreduce_takes_a_single_element(run_ranks: RunRanks) -> None:
    """One number per rank is enough."""
    results = run_ranks(_single_element)
    ranks = len(results)
    same_bits_on_all_ranks(results, np.array([ranks * (ranks + 1) // 2]), "sum")


def _numbers(rank: int, dtype: str) -> NDArray[Any]:
    """Numbers that reach the ends of the type's range: integers wrap around, floats overflow."""
    generator = np.random.default_rng([3, rank])
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (generator.standard_normal(257) * 10.0 ** generator.integers(-6, 5, 257)).astype(kind)
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max, 257, kind, endpoint=True)


def _all_dtypes(comm: BackendCommunicator) -> dict[str, list[NDArray[Any]]]:
    return {
        dtype: [_reduce(comm, _numbers(comm.rank, dtype), op) for op in OPERATIONS]
        for dtype in INTEGERS + FLOATS
    }


def allreduce_takes_all_numeric_dtypes(run_ranks: RunRanks) -> None:
    """Every integer and floating-point type is summed, minimised and maximised as NumPy does it."""
    results = run_ranks(_all_dtypes)
    for dtype in INTEGERS + FLOATS:
        parts = [_numbers(rank, dtype) for rank in range(len(results))]
        for which, op in enumerate(OPERATIONS):
            expected = sequential(parts, op)
            for rank, result in enumerate(results):
                what = f"{op.name} of {dtype} on rank {rank}"
                actual = result[dtype][which]
                equal(actual.dtype, expected.dtype, what)
                # By value: NumPy leaves chance in the padding of a long double.
                np.testing.assert_array_equal(actual, expected, what, strict=True)


def _random_sum(comm: BackendCommunicator, count: int) -> NDArray[np.float64]:
    return _reduce(comm, mixed_magnitudes(4, comm.rank, count), ReduceOp.SUM)


def allreduce_sums_in_rank_order(run_ranks: RunRanks) -> None:
    """A sum has the bits of the sequential loop over the ranks, for small and large arrays."""
    for count in (1, 7, 1_000, 100_003):
        results = run_ranks(_random_sum, count)
        parts = [mixed_magnitudes(4, rank, count) for rank in range(len(results))]
        same_bits_on_all_ranks(results, sequential(parts, ReduceOp.SUM), f"sum of {count} doubles")


@contextmanager
def rounding_upward() -> Iterator[None]:
    """Change the rounding of this thread, as a library may do when it is loaded."""
    set_rounding = getattr(ctypes.CDLL(None), "fesetround", lambda mode: None)
    set_rounding(UPWARD.get(platform.machine(), 0))
    try:
        yield
    finally:
        set_rounding(0)


def _sum_with_odd_rounding(comm: BackendCommunicator, count: int, dtype: str) -> NDArray[Any]:
    send = mixed_magnitudes(6, comm.rank, count).astype(dtype)
    if comm.rank < comm.size - 1:
        return _reduce(comm, send, ReduceOp.SUM)
    with rounding_upward():
        return _reduce(comm, send, ReduceOp.SUM)


def allreduce_does_not_depend_on_the_rounding_of_a_rank(run_ranks: RunRanks) -> None:
    """The sums are the same on all ranks although the last one's program rounds upward."""
    for dtype in ("float64", "longdouble"):
        for count in (5, 20_000):
            results = run_ranks(_sum_with_odd_rounding, count, dtype)
            parts = [mixed_magnitudes(6, rank, count).astype(dtype) for rank in range(len(results))]
            expected = sequential(parts, ReduceOp.SUM)
            for rank, result in enumerate(results):
                np.testing.assert_array_equal(result, expected, f"sum of {dtype} on rank {rank}", strict=True)


def _special_values(rank: int) -> NDArray[np.float64]:
    """Rank r's column r differs: each value meets each other in both orders."""
    odd_nan = np.array([0xFFF8000000001234], np.uint64).view(np.float64)[0]
    values = np.array([0.0, -0.0, np.inf, -np.inf, odd_nan, 5e-324, -5e-324, 1.0])
    return np.roll(values, rank) if rank % 2 else np.repeat(values, 8)[rank : rank + 8]


def _reduce_special_values(comm: BackendCommunicator) -> list[NDArray[np.float64]]:
    return [_reduce(comm, _special_values(comm.rank), op) for op in OPERATIONS]


def allreduce_treats_special_values_alike(run_ranks: RunRanks) -> None:
    """NaN, infinities, subnormals and both zeros give the promised bits; NaN is always the same NaN."""
    results = run_ranks(_reduce_special_values)
    parts = [_special_values(rank) for rank in range(len(results))]
    for which, op in enumerate(OPERATIONS):
        same_bits_on_all_ranks([result[which] for result in results], sequential(parts, op), op.name)


def _in_place(comm: BackendCommunicator) -> NDArray[np.float64]:
    both = mixed_magnitudes(5, comm.rank, 5_000)
    comm.allreduce(both, both, ReduceOp.SUM)
    return both


def allreduce_works_in_place(run_ranks: RunRanks) -> None:
    """Send and recv may be the same buffer."""
    results = run_ranks(_in_place)
    parts = [mixed_magnitudes(5, rank, 5_000) for rank in range(len(results))]
    same_bits_on_all_ranks(results, sequential(parts, ReduceOp.SUM), "sum")


def _send_stays(comm: BackendCommunicator) -> NDArray[np.float64]:
    send = _convergence_statistics(comm.rank)
    _reduce(comm, send, ReduceOp.SUM)
    return send


def allreduce_leaves_send_alone(run_ranks: RunRanks) -> None:
    """The send buffer has the same contents afterwards."""
    for rank, send in enumerate(run_ranks(_send_stays)):
        same_bits(send, _convergence_statistics(rank), f"send on rank {rank}")


CHECKS = (
    allreduce_sums_four_doubles,
    allreduce_finds_the_minimum,
    allreduce_finds_the_maximum,
    allreduce_takes_a_single_element,
    allreduce_takes_all_numeric_dtypes,
    allreduce_sums_in_rank_order,
    allreduce_does_not_depend_on_the_rounding_of_a_rank,
    allreduce_treats_special_values_alike,
    allreduce_works_in_place,
    allreduce_leaves_send_alone,
)
