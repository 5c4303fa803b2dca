"""The same bits whatever the backend, the number of ranks and of threads, and the timing.

Every run is compared with one reference: alone, on one thread. A launch runs many studies, each with a number
of threads that goes round, so that every study meets every backend, every size, and every number of threads.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from cobre.comm import run_ranks
from cobre.comm.testing._reduce import rounding_upward
from cobre.lp import LinearProgram, Noise
from cobre.sddp import MultistageProblem, Node, train
from tests.processes import DEADLINE_S
from tests.sddp.bits import Bits, first_difference
from tests.sddp.bodies import STUDIES, bits_of, run_study, several, several_with_delays

THREADS = (1, 2, 4)
SIZES = (1, 2, 3, 4)


@pytest.fixture(scope="module")
def reference():
    """Each study alone, on one thread."""
    return {name: bits_of(name) for name in STUDIES}


def plan(shift, names=tuple(STUDIES)):
    """Studies, each with a number of threads; three shifts give every study every number."""
    return [(name, THREADS[(place + shift) % len(THREADS)]) for place, name in enumerate(names)]


def compare(reference, tasks, by_rank):
    """All ranks have the bits of the reference, in all studies."""
    found = [
        f"{name} on {threads} threads, rank {rank}: {difference}"
        for rank, results in enumerate(by_rank)
        for (name, threads), bits in zip(tasks, results, strict=True)
        if (difference := first_difference(reference[name], bits))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("threads", THREADS)
def test_again_in_this_process_on_threads(reference, threads):
    """One thread is the reference once more, after all else that this process has solved."""
    tasks = [(name, threads) for name in STUDIES]
    compare(reference, tasks, [[bits_of(name, threads=threads) for name in STUDIES]])


@pytest.mark.parametrize("threads", [1, 2])
def test_in_a_program_that_rounds_upward(reference, threads):
    """As if a library had changed the floating-point environment of a rank."""
    names = ["plain", "level1", "lml1 multi"]
    with rounding_upward():
        assert 1 / 3 + 1e-20 > 1 / 3  # the switch works
        runs = [run_study(name, threads=threads) for name in names]
        assert 1 / 3 + 1e-20 > 1 / 3  # and is as it was
    compare(reference, [(name, threads) for name in names], [[Bits.of(*run) for run in runs]])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_on_ranks(reference, backend, size):
    """With three and four ranks some have no trajectory at all in some studies."""
    tasks = plan(size + (backend == "tcp"))
    compare(reference, tasks, run_ranks(several, size, backend=backend, args=(tasks,)))


@pytest.mark.parametrize("size", [2, 3])
def test_whoever_solves(reference, size):
    """Ranks that are late leave trial states to the others: who solves them differs from run to run."""
    tasks = plan(size, ("plain", "lml1 multi", "markov", "circle"))
    shares = set()
    for seed in (1, 2):
        by_rank = run_ranks(several_with_delays, size, args=(tasks, seed))
        compare(reference, tasks, [[bits for bits, _ in results] for results in by_rank])
        shares |= {tuple(solves) for _, solves in by_rank[0]}
    assert len(shares) > len(tasks)


@pytest.mark.parametrize("size", SIZES)
def test_under_mpi(reference, mpiexec, size):
    """Starting takes longest. So one library has half of the studies, and the other one the other half."""
    half = (size + (mpiexec.launcher.name == "mpich")) % 2
    tasks = plan(size // 2, tuple(STUDIES)[half::2])
    ended = mpiexec(size, "several", tasks, within_s=2 * DEADLINE_S, module="tests.sddp.mpi_program")
    compare(reference, tasks, ended.all(size))


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_on_workers_that_train_starts(reference, backend):
    """What the caller gets is rank 0's."""
    found = bits_of("lml1 multi", num_workers=2, backend=backend, threads=2)
    assert first_difference(reference["lml1 multi"], found) is None


@pytest.mark.parametrize("cuts", ["single", "multi"])
def test_a_problem_without_states(cuts):
    """Nothing to carry over, and a rank with nothing to do."""
    program = LinearProgram([1 / 3], [[1.0]], row_lower=[1.0])
    nodes = [Node(name, program, noise=Noise(row_lower={0: [1, 2, 4]})) for name in "abc"]
    problem = MultistageProblem.linear(nodes, {})
    alone, together = (
        train(problem, 3, trajectories=2, cuts=cuts, num_workers=workers) for workers in (None, 3)
    )
    assert alone.bound == pytest.approx(3 * 7 / 9)
    assert first_difference(Bits.of(alone), Bits.of(together)) is None


def test_the_studies_use_what_they_are_meant_to(reference):
    """Cuts are dropped, rules decide, trajectories end early: else equal bits would say little."""
    for name in ("level1", "lml1 multi", "domination", "circle"):
        records = reference[name].records.values()
        assert sum(len(record["active"]) for record in records) < sum(
            len(record["cuts"]) for record in records
        )
    for name in ("lml1 multi", "markov"):
        assert "limit" not in reference[name].reason
    assert len(reference["markov"].table) < 11 * 4
    assert any(len(record["mixtures"]) > 1 for record in reference["lml1 multi"].records.values())
    for name, bits in reference.items():
        assert bits.bounds[-1] != bits.bounds[0], name
        assert any(np.asarray(bits.table["demand"]) != 0), name


# The comparison itself.


def changed_cut(bits, node, place, change):
    record = bits.records[node]
    cuts = record["cuts"].copy()
    cuts[place] = change(cuts[place])
    return replace(bits, records={**bits.records, node: {**record, "cuts": cuts}})


def with_column(bits, column, values):
    place = bits.table.column_names.index(column)
    return replace(bits, table=bits.table.set_column(place, column, pa.array(values)))


def test_a_difference_is_named_where_it_comes_first(reference):
    bits = reference["plain"]
    assert first_difference(bits, bits) is None
    off = [*bits.bounds]
    off[2:] = [np.nextafter(bound, 0).item() for bound in off[2:]]
    words = first_difference(bits, replace(bits, bounds=off))
    assert words.startswith(f"the bound of iteration 3: {off[2]!r}"[:28])
    assert off[2].hex() in words
    assert first_difference(bits, replace(bits, bounds=bits.bounds[:-1])).startswith(
        f"the bound of iteration {len(bits.bounds)}"
    )
    estimates = [bits.estimates[0], (0.0, 1.0, 2), *bits.estimates[2:]]
    assert "the estimate of iteration 2" in first_difference(bits, replace(bits, estimates=estimates))
    nudged = changed_cut(bits, "t1", (4, 2), lambda x: np.nextafter(x, np.inf))
    assert first_difference(bits, nudged).startswith("node 't1', cut 4, v1: ")
    zero = changed_cut(bits, "t2", (0, 0), lambda _: 0.0)
    minus = changed_cut(bits, "t2", (0, 0), lambda _: -0.0)
    assert first_difference(zero, minus) == (
        "node 't2', cut 0, the intercept: 0.0 (0x0.0p+0) and -0.0 (-0x0.0p+0)"
    )
    assert first_difference(bits, replace(bits, file=bits.file + b"!")) == (
        f"the bytes of the policy's file: {len(bits.file)} bytes and {len(bits.file) + 1} bytes"
    )
    duals = bits.table["demand"].to_pylist()
    duals[7] = None
    assert first_difference(bits, with_column(bits, "demand", duals)).startswith(
        "column 'demand' of trajectory 1, step 2: "
    )
    assert first_difference(bits, replace(bits, totals=[0.0])).startswith("the total of trajectory 0")
