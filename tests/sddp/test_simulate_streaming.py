"""Simulations whose visits go to a recorder, on the rank that made them."""

import os
from pathlib import Path

import numpy as np
import pytest

from cobre import sddp
from cobre.errors import InvalidProblem
from cobre.sddp import simulation
from tests.sddp.bodies import chain


class ToFiles:
    """Writes what it sees to a folder, a file for each trajectory and step; its rank is its process."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, visits):
        for visit in visits:
            for i, trajectory in enumerate(visit.trajectories):
                arrays = {name: value[i] for name, value in vars(visit).items() if np.ndim(value)}
                np.savez(self.folder / f"{trajectory}-{visit.step}", process=os.getpid(), **arrays)

    def read(self):
        return {path.stem: dict(np.load(path)) for path in self.folder.iterdir()}


@pytest.fixture(scope="module")
def trained():
    problem = chain(4)
    return problem, sddp.train(problem, 5, trajectories=4).policy


def test_a_recorder_sees_what_the_table_has(trained, tmp_path):
    problem, policy = trained
    recorder = ToFiles(tmp_path)
    totals = sddp.simulate_streaming(problem, policy, recorder, 7, seed=3)
    names = problem.nodes[0].program.column_names
    result = sddp.simulate(problem, policy, 7, seed=3, columns=names)
    np.testing.assert_array_equal(totals, result.totals)
    seen = recorder.read()
    assert len(seen) == result.table.num_rows == 28
    for row in result.table.to_pylist():
        visit = seen[f"{row['trajectory']}-{row['step']}"]
        assert visit["costs"] == row["cost"]
        assert visit["realizations"] == row["realization"]
        node = problem.nodes[row["step"]]
        np.testing.assert_array_equal(visit["noise"], node.noise.table[row["realization"]])
        np.testing.assert_array_equal(visit["outgoing"], [row[f"{s}_out"] for s in problem.states])
        np.testing.assert_array_equal(visit["columns"], [row[name] for name in names])


def test_workers_record_their_own_trajectories(trained, tmp_path):
    problem, policy = trained
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = ToFiles(tmp_path / "one"), ToFiles(tmp_path / "two")
    totals = sddp.simulate_streaming(problem, policy, one, 7)
    np.testing.assert_array_equal(sddp.simulate_streaming(problem, policy, two, 7, num_workers=2), totals)
    alone, shared = one.read(), two.read()
    assert len({int(visit["process"]) for visit in shared.values()}) == 2
    assert shared.keys() == alone.keys()
    for name, visit in shared.items():
        for field in visit.keys() - {"process"}:
            np.testing.assert_array_equal(visit[field], alone[name][field])


def test_a_batch_takes_no_more_memory_than_allowed(trained, monkeypatch):
    problem, policy = trained
    monkeypatch.setattr(simulation, "BATCH_BYTES", 1)
    sizes = []
    sddp.simulate_streaming(problem, policy, lambda visits: sizes.append(len(visits[0].trajectories)), 5)
    assert sizes == [1] * 5


def test_no_trajectories_are_refused(trained):
    with pytest.raises(InvalidProblem):
        sddp.simulate_streaming(*trained, print, 0)
