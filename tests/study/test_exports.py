"""Files that ``exports`` of ``config.json`` asks for, and what a run says of its origins and its solver."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import cobre
from cobre import results
from cobre.study import Study
from tests.study.cases import copy

NEVER = {"exports": {"stochastic": False, "states": False}}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases") / "case"
    copy("one-reservoir", folder, exports={"stochastic": True, "states": True})
    (folder / "scenarios" / "noise_openings.parquet").unlink(missing_ok=True)
    return folder


@pytest.fixture(scope="module")
def out(case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    cobre.run(case, output=folder)
    return folder


def states(folder):
    return pq.read_table(folder / "policy" / "states.parquet")


def test_the_stochastic_model_is_written_and_gives_the_same_run(case, out, tmp_path):
    exported = out / "stochastic"
    assert {path.name for path in exported.iterdir()} == {
        "noise_openings.parquet",
        "inflow_seasonal_stats.parquet",
        "inflow_ar_coefficients.parquet",
        "correlation.json",
    }
    again = copy("one-reservoir", tmp_path / "again")
    for path in exported.iterdir():
        (again / "scenarios" / path.name).write_bytes(path.read_bytes())
    cobre.run(again, output=tmp_path / "out")
    for file in ("policy/policy.cobre", "simulation/costs/scenario_id=0004/data.parquet"):
        assert (tmp_path / "out" / file).read_bytes() == (out / file).read_bytes()
    before, after = (
        json.loads((folder / "training" / "model_provenance.json").read_text())
        for folder in (out, tmp_path / "out")
    )
    assert before["opening_tree_source"] == "estimated"
    assert after == before | {"opening_tree_source": "user_file", "correlation_source": "user_file"} | {
        "ar_coefficients_source": "user_file",
        "estimation_path": "user_provided_no_history",
    }


def test_states_are_those_at_which_cuts_were_made(case, out):
    table, study = states(out), Study.load(case)
    assert table.column_names == ["stage_id", *study.problem.states]
    counts = np.bincount(table["stage_id"].to_numpy(), minlength=12)
    assert counts[-1] == 0  # nothing follows the last stage
    assert 0 < counts[:-1].min() <= counts.max() <= 4 * 3
    policy = cobre.sddp.Policy.load(out / "policy" / "policy.cobre")
    for row in table.to_pylist()[::5]:
        node, state = str(row.pop("stage_id")), row
        assert 0 <= state["storage:0"] <= study.case.hydros[0].max_storage_hm3.max()
        value, _ = policy.value(node, state)
        # A cut was made there, so the policy knows more of it than its first bound.
        assert value > policy.value_bounds[node]


def test_states_do_not_depend_on_an_interruption(case, out, tmp_path):
    few = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    cobre.run(case, few, output=tmp_path)
    assert states(tmp_path).num_rows < states(out).num_rows
    cobre.run(case, output=tmp_path, resume=True, threads=2)
    assert states(tmp_path).equals(states(out))


def test_what_is_not_asked_for_is_not_written_and_not_left_there(case, tmp_path):
    cobre.run(case, output=tmp_path)
    cobre.run(case, NEVER, output=tmp_path)
    assert not list((tmp_path / "stochastic").iterdir())
    assert not (tmp_path / "policy" / "states.parquet").exists()
    assert (tmp_path / "training" / "model_provenance.json").exists()


def test_a_simulation_says_what_solving_took_each_rank(out):
    (row,) = pq.read_table(out / "simulation" / "solver" / "iterations.parquet").to_pylist()
    assert (row["phase"], row["rank"], row["iteration"]) == ("simulation", 0, 0)
    assert 0 < row["lp_solves"] == row["lp_successes"] <= 5 * 12
    assert row["simplex_iterations"] > 0
    assert row["solve_time_ms"] > 0
    assert pq.read_table(out / "simulation" / "solver" / "retry_histogram.parquet").num_rows == 0
    assert "solver" not in results.read(out).tables
