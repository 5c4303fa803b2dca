"""Stage data and openings are in memory once per machine, and nobody can tell but by the memory."""

import sys

import numpy as np
import pytest

from cobre import sddp
from cobre.comm import run_ranks
from cobre.sddp import LinearProgram, MultistageProblem, Node, Noise, RankContext
from cobre.sddp._sharing import share_numbers
from tests.comm.rank_bodies import own_kib
from tests.mpi_launch import ROOT
from tests.processes import DEADLINE_S

COLUMNS, REALISATIONS = 3000, 200


def wide_problem(cost=1.0):
    """Two stages with arrays of many pages: a stock, and things to buy that nobody needs."""
    costs = np.full(COLUMNS, cost)
    rows = np.zeros((1, COLUMNS))
    rows[0, :3] = 1, -1, 1
    demand = {j: np.linspace(1.0, 2.0, REALISATIONS) for j in range(3, 103)}
    nodes = [
        Node(
            f"week {t}",
            LinearProgram(costs, rows, row_lower=0.0, row_upper=0.0, column_upper=9.0),
            incoming={"stock": 0},
            outgoing={"stock": 1},
            noise=Noise(cost=demand),
        )
        for t in range(2)
    ]
    return MultistageProblem.linear(nodes, {"stock": 2.0})


def arrays_of(problem):
    return [problem.nodes[1].program.costs, problem.nodes[1].noise.table]


def shared_by(comm, cost_of_rank_1=1.0):
    """A rank that has made the problem itself, as under mpiexec."""
    problem = wide_problem(cost_of_rank_1 if comm.rank == 1 else 1.0)
    before = problem.fingerprint
    for _ in range(2):  # as a run does, for training and for simulation
        share_numbers(problem, RankContext(comm))
    del problem.__dict__["fingerprint"]
    assert problem.fingerprint == before
    assert not any(array.flags.writeable for array in arrays_of(problem))
    costs, table = arrays_of(problem)
    assert costs.sum() + table.sum() > 0  # all pages are looked at
    comm.barrier()
    own = own_kib(table)
    comm.barrier()
    return own, float(costs[0])


@pytest.mark.parametrize("size", [2, 4, 8])
def test_ranks_of_shm_share_the_openings(size):
    """The first and the last page may hold other data too, none of which is this rank's alone."""
    assert run_ranks(shared_by, size, backend="shm") == [(0, 1.0)] * size


def test_over_tcp_each_rank_has_its_own_and_nothing_else_differs():
    for own, cost in run_ranks(shared_by, 2, backend="tcp"):
        assert own * 1024 >= wide_problem().nodes[1].noise.table.nbytes / 2
        assert cost == 1.0


def test_a_rank_with_other_numbers_keeps_them():
    assert [cost for _, cost in run_ranks(shared_by, 3, args=(5.0,))] == [1.0, 5.0, 1.0]


def test_a_problem_outlives_the_communicator():
    alone = sddp.train(wide_problem(), 3, trajectories=2)
    for again, bound in run_ranks(trained_twice, 2):
        assert again == bound == alone.bound


def trained_twice(comm):
    """Bounds of a training with a communicator, and of one without after the communicator is closed."""
    problem = wide_problem()
    bound = sddp.train(problem, 3, trajectories=2, comm=comm).bound
    comm.close()
    return sddp.train(problem, 3, trajectories=2, backend="local").bound, bound


PROGRAM = """
from cobre.comm import create_communicator
from tests.sddp.test_sharing import shared_by
with create_communicator("mpi") as comm:
    print(" ".join(map(str, ("own", *shared_by(comm)))) + "\\n", end="", flush=True)  # in one piece
"""


def test_ranks_of_mpi_share_the_openings(mpiexec, start_process, tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    launcher = mpiexec.launcher
    process = start_process(str(launcher.mpiexec), *launcher.options, "-n", "2", sys.executable, str(script))
    out, err = process.communicate(timeout=DEADLINE_S)
    assert out.count("own 0 1.0") == 2, err
