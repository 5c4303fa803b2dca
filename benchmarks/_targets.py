"""What we aim for, as multiples of a peer's time for the same case in the same run."""

from __future__ import annotations

from _comm_program import KB, MB, Case

SMALL = 64 * KB  # payloads up to here, and the barrier
MIDDLE = 16 * MB  # and up to here

# Multiples of the fastest MPI's time by ranks and case, where we aim below that for all cases.
SHM: dict[int, dict[tuple[str, int], float]] = {
    2: {
        ("barrier", 0): 0.8,
        ("allreduce", 8): 0.4,
        ("allreduce", 32): 0.4,
        ("allreduce", KB): 0.5,
        ("allreduce", 16 * MB): 0.65,
        ("allgatherv", 64): 0.45,
        ("zero-copy gather", 3_200_000): 0.4,
        ("allgatherv", 64_000_000): 0.85,
        ("broadcast", 20_000_000): 0.9,
    },
    4: {
        ("allreduce", 32): 0.4,
        ("allreduce", 64 * KB): 0.55,
        ("allgatherv", 128): 0.4,
        ("allgatherv", 64 * KB): 0.55,
        ("allgatherv", 206_000_000): 0.7,
    },
}
TCP: dict[int, dict[tuple[str, int], float]] = {
    2: {
        ("allreduce", 8): 0.75,
        ("allreduce", 32): 0.75,
        ("allreduce", KB): 0.75,
        ("allreduce", 64 * KB): 0.75,
        ("allgatherv", 64): 0.75,
        ("allgatherv", 64 * KB): 0.75,
        ("allgatherv", 206_000_000): 0.9,
    },
    4: {},
}
STAR_FOUR_RANKS = 1.5  # of large payloads, which all pass through rank 0

# What our mpi backend may add to mpi4py over the same library.
OVER_MPI: dict[tuple[str, int], float] = {
    ("allreduce", 32): 1.3,
    ("allgatherv", 3_200_000): 1.01,
    ("allgatherv", 64_000_000): 1.01,
}
OF_BEFORE = 1.03  # multiples of the time of another checkout
MORE_PER_SMALL_CALL_S = 1.5e-6


def of_mpi4py(ranks: int, case: Case) -> float | None:
    """Return the multiple of mpi4py's own time over the same library; None where we have no aim."""
    return OVER_MPI.get(tuple(case)) if ranks <= 4 else None


def more_than_mpi4py(case: Case) -> float | None:
    """Return how many seconds a call may take beyond mpi4py's own; None where a ratio says more."""
    return MORE_PER_SMALL_CALL_S if case.bytes <= KB else None


def of_fastest_mpi(transport: str, ranks: int, case: Case, star: bool) -> float | None:
    """Return the multiple of the fastest MPI's time over the same transport; None where we have no aim."""
    if ranks not in {2, 4}:
        return None
    if star and ranks == 4 and case.bytes > SMALL:
        return STAR_FOUR_RANKS
    usual = 0.9 if ranks == 2 and case.bytes <= MIDDLE else 1.0
    lower = {"shm": SHM, "tcp": TCP}[transport]
    return lower[ranks].get(tuple(case), usual)


def of_gloo(transport: str, case: Case) -> float | None:
    """Return the multiple of gloo's time; None for large payloads, where copying takes most of it."""
    return 0.1 if transport == "tcp" and case.bytes <= SMALL else None
