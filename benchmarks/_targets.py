"""What we aim for, as multiples of a peer's time for the same case in the same run."""

from __future__ import annotations

from _comm_program import KB, MB, Case

SMALL = 64 * KB  # payloads up to here, and the barrier

# Multiples of the fastest MPI's time: {ranks: {(operation, bytes): ratio}}.
SHM: dict[int, dict[tuple[str, int], float]] = {
    2: {
        ("barrier", 0): 0.8,
        ("allreduce", 8): 0.4,
        ("allreduce", 32): 0.4,
        ("allreduce", KB): 0.5,
        ("allreduce", 64 * KB): 1.0,
        ("allreduce", MB): 1.0,
        ("allreduce", 16 * MB): 0.65,
        ("allgatherv", 64): 0.45,
        ("allgatherv", 64 * KB): 0.95,
        ("allgatherv", 3_200_000): 1.0,
        ("zero-copy gather", 3_200_000): 0.4,
        ("allgatherv", 64_000_000): 0.85,
        ("allgatherv", 206_000_000): 1.0,
        ("broadcast", 20_000_000): 0.9,
    },
    4: {
        ("allreduce", 32): 0.4,
        ("allreduce", 64 * KB): 0.55,
        ("allgatherv", 128): 0.4,
        ("allgatherv", 64 * KB): 0.55,
        ("allgatherv", 3_200_000): 1.0,
        ("allgatherv", 206_000_000): 0.7,
    },
}
TCP_TWO_RANKS: dict[tuple[str, int], float] = {
    ("barrier", 0): 0.95,
    ("allreduce", 8): 0.75,
    ("allreduce", 32): 0.75,
    ("allreduce", KB): 0.75,
    ("allreduce", 64 * KB): 0.75,
    ("allreduce", MB): 0.9,
    ("allreduce", 16 * MB): 1.0,
    ("allgatherv", 64): 0.75,
    ("allgatherv", 64 * KB): 0.75,
    ("allgatherv", 3_200_000): 1.0,
    ("allgatherv", 64_000_000): 1.0,
    ("allgatherv", 206_000_000): 0.9,
    ("broadcast", 20_000_000): 1.0,
}

# What our mpi backend may add to mpi4py over the same library.
OVER_MPI: dict[tuple[str, int], float] = {
    ("allreduce", 32): 1.3,
    ("allgatherv", 3_200_000): 1.01,
    ("allgatherv", 64_000_000): 1.01,
}
MORE_PER_SMALL_CALL_S = 1.5e-6


def of_mpi4py(ranks: int, case: Case) -> float | None:
    """Return the multiple of mpi4py's own time over the same library; None where we have no aim."""
    return OVER_MPI.get(tuple(case)) if ranks <= 4 else None


def more_than_mpi4py(case: Case) -> float | None:
    """Return how many seconds a call may take beyond mpi4py's own; None where a ratio says more."""
    return MORE_PER_SMALL_CALL_S if case.bytes <= KB else None


def of_fastest_mpi(transport: str, ranks: int, case: Case, star: bool) -> float | None:
    """Return the multiple of the fastest MPI's time over the same transport; None where we have no aim."""
    if transport == "shm":
        return SHM.get(ranks, {}).get(tuple(case))
    if ranks == 2:
        return TCP_TWO_RANKS.get(tuple(case))
    if ranks != 4:
        return None
    if case.bytes <= SMALL:
        return 1.0
    return 1.5 if star else 1.1  # in a star, everything passes through rank 0


def of_gloo(transport: str, case: Case) -> float | None:
    """Return the multiple of gloo's time; None for large payloads, where copying takes most of it."""
    return 0.1 if transport == "tcp" and case.bytes <= SMALL else None
