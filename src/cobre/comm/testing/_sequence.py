"""Checks that collectives following each other do not disturb each other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre._native import ReduceOp
from cobre.comm.contract import BackendCommunicator
from cobre.comm.testing._expect import equal
from cobre.comm.testing._reduce import FLOATS, INTEGERS, OPERATIONS, sequential
from cobre.comm.testing._run import RunRanks

STEPS = 300
SEED = 20_26


@dataclass(frozen=True)
class _Step:
    """One collective of the sequence; all ranks derive the same from seed and number."""

    number: int
    kind: str
    dtype: str
    counts: list[int]
    displs: list[int]
    length: int  # of recv
    op: ReduceOp
    root: int

    @classmethod
    def at(cls, number: int, size: int) -> _Step:
        generator = np.random.default_rng([SEED, number, size])
        kinds = ("allgatherv", "allreduce", "broadcast", "barrier")
        longest = int(generator.choice([4, 300, 20_000], p=[0.6, 0.35, 0.05]))
        counts = generator.integers(0, longest, size, endpoint=True)
        gaps = generator.integers(0, 3, size + 1)
        order = generator.permutation(size)
        displs = np.empty(size, int)
        position = gaps[0]
        for rank in order:
            displs[rank] = position
            position += counts[rank] + gaps[rank + 1]
        return cls(
            number=number,
            kind=str(generator.choice(kinds, p=[0.4, 0.3, 0.2, 0.1])),
            # Long doubles are left out: their padding is chance in what NumPy computes.
            dtype=str(generator.choice([*INTEGERS, *FLOATS[:-1]])),
            counts=counts.tolist(),
            displs=displs.tolist(),
            length=int(position),
            op=OPERATIONS[int(generator.integers(3))],
            root=int(generator.integers(size)),
        )

    def data(self, rank: int, count: int) -> NDArray[Any]:
        """Contribution of a rank."""
        generator = np.random.default_rng([SEED, self.number, rank, count])
        return (generator.standard_normal(count) * 50).astype(self.dtype)

    def perform(self, comm: BackendCommunicator) -> NDArray[Any]:
        """Call the collective and return the buffer it wrote."""
        if self.kind == "allgatherv":
            recv = np.ones(self.length, self.dtype)
            comm.allgatherv(self.data(comm.rank, self.counts[comm.rank]), recv, self.counts, self.displs)
            return recv
        if self.kind == "allreduce":
            recv = np.ones(1 + self.counts[0], self.dtype)
            comm.allreduce(self.data(comm.rank, len(recv)), recv, self.op)
            return recv
        if self.kind == "broadcast":
            buf = self.data(self.root if comm.rank == self.root else self.root + 1, self.counts[0])
            comm.broadcast(buf, self.root)
            return buf
        comm.barrier()
        return np.empty(0)

    def model(self, size: int) -> NDArray[Any]:
        """Expected buffer of every rank, computed without a communicator."""
        if self.kind == "allgatherv":
            recv = np.ones(self.length, self.dtype)
            for rank, (count, displ) in enumerate(zip(self.counts, self.displs, strict=True)):
                recv[displ : displ + count] = self.data(rank, count)
            return recv
        if self.kind == "allreduce":
            return sequential([self.data(rank, 1 + self.counts[0]) for rank in range(size)], self.op)
        if self.kind == "broadcast":
            return self.data(self.root, self.counts[0])
        return np.empty(0)


def _digest(array: NDArray[Any]) -> str:
    return f"{array.dtype} {array.size} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _mixed_sequence(comm: BackendCommunicator) -> list[str]:
    return [_digest(_Step.at(number, comm.size).perform(comm)) for number in range(STEPS)]


def a_long_mixed_sequence_matches_the_model(run_ranks: RunRanks) -> None:
    """Hundreds of random collectives in a row each give what a model without processes gives."""
    results = run_ranks(_mixed_sequence)
    size = len(results)
    for number in range(STEPS):
        step = _Step.at(number, size)
        expected = _digest(step.model(size))
        for rank, digests in enumerate(results):
            equal(digests[number], expected, f"step {number}, {step.kind} of {step.dtype}, on rank {rank}")


def _alternating_lengths(comm: BackendCommunicator, rounds: int) -> list[int]:
    stale = []
    for number in range(rounds):
        count = (5, 1, 700, 2)[number % 4]
        recv = np.full(count * comm.size, -1.0)
        comm.allgatherv(np.full(count, number * 100.0 + comm.rank), recv, [count] * comm.size)
        total = np.empty(count)
        comm.allreduce(np.full(count, float(number)), total)
        expected = np.repeat(number * 100.0 + np.arange(comm.size), count)
        if not np.array_equal(recv, expected) or not np.all(total == number * comm.size):
            stale.append(number)
    return stale


def results_never_come_from_an_earlier_call(run_ranks: RunRanks) -> None:
    """Collectives back to back, longer and shorter in turn, never return data of a call before."""
    for rank, stale in enumerate(run_ranks(_alternating_lengths, 400)):
        equal(stale, [], f"rounds with old data on rank {rank}")


CHECKS = (results_never_come_from_an_earlier_call, a_long_mixed_sequence_matches_the_model)
