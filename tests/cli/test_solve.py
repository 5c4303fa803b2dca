"""``cobre solve`` as users call it."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from cobre.sddp import Policy
from tests.cli.commands import cobre
from tests.formats.files import NEWSVENDOR, mspformat, stochoptformat, write


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "news.sof.json", stochoptformat())


def test_a_policy_is_trained_and_simulated(file):
    code, out, err = cobre("solve", file, "-n", "12")
    assert code == 0, err
    assert "news.sof.json: 2 nodes, 1 state" in err
    assert "upper bound 35" in out
    folder = file.parent / "news.output"
    assert f"written to {folder}" in out
    assert Policy.load(folder / "policy.cobre").bound == pytest.approx(NEWSVENDOR)
    bounds = pq.read_table(folder / "bounds.parquet")
    assert bounds["iteration"].to_pylist() == list(range(1, 13))
    np.testing.assert_array_equal(bounds["bound"], np.minimum.accumulate(bounds["raw_bound"]))
    rows = pq.read_table(folder / "simulation.parquet")
    assert rows.num_rows == 2 * 1000
    np.testing.assert_allclose(rows["x_out"].to_pylist()[::2], 20.0)


def test_what_programs_read_is_the_same_with_workers_and_after_resuming(file, tmp_path):
    whole = cobre("solve", file, "-n", "8", "-f", "json", "-o", tmp_path / "whole")
    assert cobre("solve", file, "-n", "3", "-q", "-o", tmp_path / "parts") == (0, "", "")
    parts = cobre("solve", file, "-n", "8", "-f", "json", "-o", tmp_path / "parts", "--resume", "-w", "2")
    first, second = (json.loads(out) for _, out, _ in (whole, parts))
    assert first["simulation"]["mean"] == pytest.approx(NEWSVENDOR, abs=3)
    for key in ("output_directory", "seconds", "workers", "finished_at"):
        del first[key], second[key]
    assert first == second
    names = [
        json.loads((tmp_path / name / "summary.json").read_text())["bound"] for name in ("whole", "parts")
    ]
    assert names == [first["bound"]] * 2


@pytest.mark.filterwarnings("default")
def test_a_lattice_is_found_beside_or_named(tmp_path):
    problem, lattice = mspformat(kind="INTEGER")
    path = write(tmp_path / "news.problem.json", problem)
    other = write(tmp_path / "other.json", lattice)
    code, out, err = cobre(
        "solve", path, "--lattice", other, "-n", "9", "--relax-integers", "--simulations", "0"
    )
    assert (code, "upper bound 35" in out, "simulated" in out) == (0, True, False), err
    assert f"warning: {path}: 1 integer variables are taken as continuous ('x')" in err


def test_findings_end_it_with_1(tmp_path):
    path = write(tmp_path / "a.sof.json", {"version": {"major": 2, "minor": 0}})
    code, out, err = cobre("solve", path)
    assert (code, out) == (1, "")
    assert "4 findings" in err
    assert not (tmp_path / "a.output").exists()
    code, out, _ = cobre("solve", path, "-f", "json")
    assert (code, json.loads(out)["error"]["kind"]) == (1, "SchemaViolation")


def test_a_value_bound_can_be_given(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = cobre("solve", file, "-n", "12", "--value-bound=-5")
    assert code == 4
    assert "the value bound of node 'buy' is -5, but the recomputed value is" in err
