"""What is written is what is read."""

import dataclasses
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from cobre import results
from tests.results.made_up import contents, iteration, made_up_log, made_up_tables, write_all, write_scenarios

LAYOUT = """
training/_manifest.json training/metadata.json training/convergence.parquet training/timing/iterations.parquet
training/timing/mpi_ranks.parquet training/solver/iterations.parquet training/dictionaries/codes.json
training/dictionaries/entities.csv training/dictionaries/variables.csv training/dictionaries/bounds.parquet
training/dictionaries/stages.csv training/dictionaries/state_dictionary.json policy/policy.cobre
training/solver/retry_histogram.parquet training/model_provenance.json training/_SUCCESS
simulation/_manifest.json simulation/metadata.json simulation/_SUCCESS
simulation/solver/iterations.parquet simulation/solver/retry_histogram.parquet
"""


@pytest.fixture
def out(tmp_path):
    return tmp_path / "some" / "where"  # made if need be


def test_the_folder_has_the_layout_of_the_format(run, out):
    write_all(results.Writer(out), run, 2)
    partitions = {
        f"simulation/{name}/scenario_id=000{i}/data.parquet"
        for name in ("costs", "hydros", "violations/generic")
        for i in range(2)
    }
    assert contents(out).keys() == set(LAYOUT.split()) | partitions


def test_what_is_written_is_what_is_read(run, out):
    write_all(results.Writer(out), run, 12)
    read = results.read(out)
    for name, table in made_up_log().tables.items():
        assert read.table(name).equals(table)
    assert read.convergence.equals(made_up_log().tables["convergence"])
    for name, table in made_up_tables(range(12)).items():
        found = read.simulation(name)
        assert found.column_names == [*table.column_names[1:], "scenario_id"]
        assert found.select(table.column_names).cast(table.schema).equals(table)
    assert read.tables == ("costs", "hydros", "violations/generic")
    assert read.policy_path.read_bytes() == b"a policy"


def test_some_columns_of_some_scenarios(run, out):
    write_all(results.Writer(out), run, 12)
    found = results.read(out).simulation("costs", ["scenario_id", "thermal_cost"], scenarios=[3, 11])
    whole = made_up_tables(range(12))["costs"]
    assert found["scenario_id"].to_pylist() == [3] * 4 + [11] * 4
    assert found["thermal_cost"].to_pylist()[:4] == whole["thermal_cost"].to_pylist()[12:16]


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_every_compression_of_the_format(run, out, compression):
    write_all(results.Writer(out, compression), run, 2)
    column = pq.ParquetFile(out / "training/convergence.parquet").metadata.row_group(0).column(0)
    assert column.compression.lower() == {"none": "uncompressed"}.get(compression, compression)
    assert results.read(out).simulation("hydros").num_rows == 8


def test_many_scenarios_stay_in_their_order(run, out, monkeypatch):
    """Names of ten thousand and more do not sort as their numbers do; here, of ten."""
    short = results.Layout(1, "scenario_id={}/data.parquet")
    monkeypatch.setitem(results.LAYOUTS, "scenarios", short)
    write_all(results.Writer(out), run, 12)
    assert (out / "simulation/costs/scenario_id=11/data.parquet").exists()
    found = results.read(out).simulation("costs", ["scenario_id"])["scenario_id"].to_pylist()
    assert found == sorted(found)
    monkeypatch.undo()
    assert results.LAYOUTS["scenarios"].file(10_002) == "scenario_id=10002/data.parquet"


def test_ranks_write_what_one_would_have_written(run, tmp_path):
    """Each its own scenarios, in any order."""
    one, several = results.Writer(tmp_path / "one"), results.Writer(tmp_path / "several")
    for writer, parts in ((one, [range(9)]), (several, [range(5, 9), range(3), range(3, 5)])):
        writer.begin(run)
        writer.begin_simulation(9)
        for part in parts:
            write_scenarios(writer, part)
        writer.finish_simulation()
    data = [
        {name: content for name, content in contents(writer.folder).items() if name.endswith("data.parquet")}
        for writer in (one, several)
    ]
    assert data[0] == data[1]


def test_only_documented_columns_depend_on_the_clock(run, tmp_path):
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        write_all(results.Writer(folder), run, 2)
    one, other = (contents(folder) for folder in folders)
    timed = ("_manifest.json", "metadata.json", "codes.json")
    assert {name for name in one if one[name] != other[name] and not name.endswith(timed)} == set()


def test_manifests_say_what_was_done(run, out):
    write_all(results.Writer(out), run, 2)
    read = results.read(out)
    manifest, about, simulation = read.manifest, read.metadata, read.simulation_manifest
    assert (manifest["version"], manifest["status"]) == ("2.0.0", "complete")
    assert manifest["iterations"] == {"max_iterations": 10, "completed": 3, "converged_at": None}
    gap = 100 * (150 - 103) / 103
    assert manifest["convergence"] == {
        "achieved": False,
        "final_gap_percent": pytest.approx(gap),
        "final_lower_bound": 103.0,
        "termination_reason": "the iteration limit of 3 is reached",
    }
    assert manifest["cuts"] == {"total_generated": 60, "total_active": 57, "peak_active": 57}
    assert manifest["checksum"]["policy"] == hashlib.sha256(b"a policy").hexdigest()
    assert manifest["distribution"]["world_size"] == 2
    assert (manifest["distribution"]["num_nodes"], manifest["distribution"]["hosts"]) == (2, ["a", "b"])
    assert manifest["started_at"] <= manifest["completed_at"]
    assert about["configuration_snapshot"]["seed"] == 7
    assert about["configuration_snapshot"]["settings"]["training"]["forward_passes"] == 2
    assert about["run_info"]["duration_seconds"] == 6.0
    assert about["run_info"]["solver_version"].count(".") == 2
    inputs = about["data_integrity"]["input_files"]
    assert inputs["stages.json"] == hashlib.sha256((run.case / "stages.json").read_bytes()).hexdigest()
    assert len(inputs) == len(contents(run.case))
    assert simulation["scenarios"] == {"total": 2, "completed": 2, "failed": 0}


def test_a_run_that_has_converged_says_so(run, out):
    writer = results.Writer(out)
    writer.begin(run)
    writer.finish(made_up_log(), "the bound has settled", converged=True)
    manifest = results.read(out).manifest
    assert (manifest["status"], manifest["iterations"]["converged_at"]) == ("converged", 3)


def test_a_simulation_alone(run, out):
    writer = results.Writer(out)
    for count in (3, 2):
        writer.begin_simulation(count)
        write_scenarios(writer, range(count))
        writer.finish_simulation()
    read = results.read(out)
    assert (read.manifest, read.metadata) == ({}, {})
    assert read.simulation("costs").num_rows == 8
    assert len(list(out.glob("simulation/costs/*"))) == 2


def test_outputs_inside_the_case_are_no_inputs(run, monkeypatch):
    """Nor are those of other runs; and a path may be relative."""
    before = len(contents(run.case))
    monkeypatch.chdir(run.case.parent)
    run = dataclasses.replace(run, case=Path("case"))
    for name in ("output", "output", "studies/other"):
        writer = results.Writer(run.case / name)
        writer.begin(run)
        inputs = json.loads((writer.folder / "training/metadata.json").read_text())["data_integrity"]
        assert len(inputs["input_files"]) == before


def test_cuts_that_were_removed_are_counted():
    table = made_up_log().tables["convergence"]
    assert table["cuts_removed"].to_pylist() == [1, 1, 1]
    assert table["time_total_ms"].to_pylist() == [2000, 2000, 2000]


def test_a_bound_that_is_not_positive_has_no_gap():
    log = results.TrainingLog()
    log.add(iteration(1, bound=0.0))
    assert log.gap_percent is None


def test_a_resumed_run_keeps_the_iterations_before_it(run, out):
    """Its checkpoint, which has the iterations up to it, may be older than what was written last."""
    writer = results.Writer(out)
    writer.begin(run)
    writer.training(made_up_log(4))
    log = made_up_log(2)
    writer.begin(run)
    for number in (3, 4, 5):
        log.add(iteration(number))
    writer.finish(log, "enough")
    assert results.read(out).convergence["iteration"].to_pylist() == [1, 2, 3, 4, 5]
    assert results.read(out).table("timing/mpi_ranks")["rank"].to_pylist() == [0, 1] * 5


def test_folders_have_what_the_readers_of_cobre_look_for(run, tmp_path):
    """``load_results`` of cobre-python 0.5.1 goes by the markers, and by these names in both metadata."""
    writer = results.Writer(tmp_path / "out")
    writer.begin(run)
    assert not list((tmp_path / "out").rglob("_SUCCESS"))
    write_all(writer, run, 2)
    for part, names in (
        ("training", {"status", "iterations", "convergence", "row_pool", "distribution"}),
        (
            "simulation",
            {"status", "scenarios", "distribution", "cobre_version", "solver_version", "hostname"},
        ),
    ):
        folder = tmp_path / "out" / part
        about = json.loads((folder / "metadata.json").read_text())
        assert names <= about.keys()
        assert about["status"] == json.loads((folder / "_manifest.json").read_text())["status"] == "complete"
        assert (folder / "_SUCCESS").read_bytes() == b""


def test_retries_have_a_row_where_there_were_some(tmp_path):
    log = made_up_log(2)
    log.add(SimpleNamespace(**{**vars(iteration(3)), "retries": 0}))
    table = log.tables["solver/retry_histogram"]
    assert table.select(["iteration", "retry_level", "count"]).to_pylist() == [
        {"iteration": 1, "retry_level": 1, "count": 1},
        {"iteration": 2, "retry_level": 1, "count": 1},
    ]
