"""Ranks that do not solve the same problem say so, all of them, before anything is solved or written."""

import pytest

from cobre.comm import run_ranks
from cobre.errors import InitializationFailed, InvalidProblem, PolicyFileError
from tests.sddp.bodies import DIFFERENCES, disagreements


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_all_ranks_name_what_differs_and_where(backend, size):
    check(run_ranks(disagreements, size, backend=backend), backend)


def test_all_ranks_of_mpi_name_what_differs_and_where(mpiexec):
    check(mpiexec(2, "disagreements", module="tests.sddp.mpi_program").all(2), "mpi")


def check(by_rank, backend):
    others = [rank for rank in range(len(by_rank)) if rank != 1]
    for name in DIFFERENCES:
        errors = [found[name] for found in by_rank]
        assert len({(type(error), str(error)) for error in errors}) == 1
        [error, *_] = errors
        assert isinstance(error, InitializationFailed)
        assert (error.kind, error.backend) == ("IncompatibleSettings", backend)
        if name != "seed":  # which alternates
            assert list(error.details["differences"][name].values()) == [others, [1]]
        assert f"\n  - {name}: " in str(error)
    ranks = {2: "rank 0", 4: "ranks 0, 2-3"}[len(by_rank)]
    assert f"trajectories: 5 on {ranks}, 6 on rank 1" in str(by_rank[0]["trajectories"])
    for name, kind, which in (
        ("invalid on rank 0", InvalidProblem, 0),
        ("invalid", InvalidProblem, 1),
        ("missing", PolicyFileError, 1),
    ):
        own = by_rank[which][name]
        assert type(own) is kind
        for error in (found[name] for found in by_rank if found is not by_rank[which]):
            assert isinstance(error, InitializationFailed)
            assert f"rank {which} cannot start: {kind.__name__}: " in str(error)
            [(refusal, ranks)] = error.details["refusals"].items()
            assert (str(own) in refusal, ranks) == (True, [which])
        assert all(found[name].reported_by_root for found in by_rank)
