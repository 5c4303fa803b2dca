"""A result in a few numbers, against what the run itself returned and the tables say."""

import json
import shutil

import numpy as np
import pyarrow.compute as pc
import pytest

import cobre
from cobre import report, results
from cobre.errors import ResultsError
from tests.study.cases import copy


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    case = copy("cascade", folder / "case", iterations=6, scenarios=12)
    return cobre.run(case, output=folder / "out", num_workers=2)


@pytest.fixture(scope="module")
def found(run):
    return report.summary(run.output_directory)


@pytest.fixture
def tampered(run, tmp_path):
    return shutil.copytree(run.output_directory, tmp_path / "out")


def test_a_training_is_what_the_run_returned(run, found):
    trained = run.training
    assert found.status == "complete"
    assert found.training.iterations == trained.iterations == 6
    assert found.training.lower_bound == trained.final_lower_bound
    assert found.training.upper_bound == trained.final_upper_bound
    assert found.training.stopped_by == trained.termination_reason
    assert found.training.cuts == trained.total_cuts
    assert found.training.seconds == pytest.approx(trained.engine.seconds, rel=0.5)


def test_costs_are_what_the_run_returned(run, found):
    estimate, costs = run.simulation.estimate, run.simulation.totals
    assert found.simulation.scenarios == 12
    assert found.simulation.mean == pytest.approx(estimate.mean)
    assert found.simulation.half_width == pytest.approx(estimate.half_width())
    assert (found.simulation.least, found.simulation.most) == pytest.approx((costs.min(), costs.max()))
    assert found.simulation.median == pytest.approx(np.median(costs))
    bound = run.training.final_lower_bound
    assert found.simulation.gap_percent == pytest.approx(100 * (estimate.mean / bound - 1))


def test_components_sum_to_the_costs(tmp_path):
    """Where no source earns, they sum to what was minimised."""
    done = cobre.run(copy("one-reservoir", tmp_path / "case"), output=tmp_path / "out")
    found = report.summary(tmp_path / "out").simulation
    assert sum(found.components.values()) == pytest.approx(done.simulation.mean_cost)
    assert list(found.components) == sorted(found.components, key=lambda name: -found.components[name])


#: Totals, and the columns that ``hydro_violation_cost`` is the sum of.
NO_COMPONENT = {
    "total_cost",
    "immediate_cost",
    "future_cost",
    "outflow_violation_below_cost",
    "outflow_violation_above_cost",
    "turbined_violation_cost",
    "generation_violation_cost",
    "evaporation_violation_cost",
    "withdrawal_violation_cost",
}


def test_components_are_discounted(run, found):
    """The cascade has a rate of 8 % a year."""
    table = results.read(run.output_directory).simulation("costs")
    worth = {
        name: float(np.asarray(table["discount_factor"]) @ np.asarray(table[name])) / 12
        for name in table.column_names
        if name.endswith("_cost") and name not in NO_COMPONENT
    }
    assert found.simulation.components == pytest.approx(
        {name: value for name, value in worth.items() if abs(value) > 1e-3}
    )


def test_deficits_are_those_of_the_table(run, found):
    table = results.read(run.output_directory).simulation("buses")
    assert found.deficit.mean_mwh == pytest.approx(pc.sum(table["deficit_mwh"]).as_py() / 12)
    by_scenario = table.group_by("scenario_id").aggregate([("deficit_mwh", "max")])["deficit_mwh_max"]
    assert found.deficit.scenarios == sum(most > 1e-3 for most in by_scenario.to_pylist())
    assert found.deficit.percent_of_load == pytest.approx(
        100 * pc.sum(table["deficit_mwh"]).as_py() / pc.sum(table["load_mwh"]).as_py()
    )


def test_a_shortage_is_told_with_its_place(tmp_path):
    """A city that needs more than there is, in every scenario."""
    case = copy("one-reservoir", tmp_path / "case", iterations=2, scenarios=4)
    thermals = json.loads((case / "system/thermals.json").read_text())
    for plant in thermals["thermals"]:
        plant["generation"] = {"min_mw": 0.0, "max_mw": 1.0}
    (case / "system/thermals.json").write_text(json.dumps(thermals))
    cobre.run(case, output=tmp_path / "out")
    deficit = report.summary(tmp_path / "out").deficit
    assert deficit.scenarios == 4
    assert list(deficit.by_bus_mwh) == ["city"]
    assert deficit.by_bus_mwh["city"] == pytest.approx(deficit.mean_mwh)
    assert "2026" in deficit.worst_stage or "stage" in deficit.worst_stage


def test_reservoirs_at_the_end(run, found):
    table = results.read(run.output_directory).simulation("hydros")
    last = table.filter(pc.and_(pc.equal(table["stage_id"], 11), pc.equal(table["block_id"], 2)))
    assert [row.name for row in found.storage] == ["plain", "spring", "side lake", "gorge", "mouth"]
    for row in found.storage:
        volumes = last.filter(pc.equal(last["hydro_id"], row.id))["storage_final_hm3"].to_numpy()
        assert row.mean_hm3 == pytest.approx(volumes.mean())
        assert (row.p10_hm3, row.p90_hm3) == pytest.approx(tuple(np.quantile(volumes, (0.1, 0.9))))
    spring = next(row for row in found.storage if row.name == "spring")
    assert (spring.initial_hm3, spring.most_hm3) == (420, 800)


def test_what_each_worker_did(run, found):
    table = results.read(run.output_directory).table("timing/mpi_ranks")
    assert [load.rank for load in found.workers] == [0, 1]
    assert sum(load.lp_solves for load in found.workers) == pc.sum(table["lp_solves"]).as_py()
    assert sum(load.trajectories for load in found.workers) == 6 * 3
    for load in found.workers:
        assert 0 <= load.waiting_seconds <= load.communication_seconds <= load.seconds


def test_it_is_plain_data(found):
    assert json.loads(json.dumps(found.to_dict()))["training"]["iterations"] == 6


# What is not as it should be


def test_a_run_under_way_has_what_there_is(tampered):
    path = tampered / "training/_manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "running"}))
    shutil.rmtree(tampered / "simulation")
    found = report.summary(tampered)
    assert found.status == "running"
    assert found.training.iterations == 6
    assert (found.simulation, found.deficit, found.storage) == (None, None, ())


def test_a_run_that_failed_says_why(tampered):
    path = tampered / "training/_manifest.json"
    failed = {"status": "failed", "error": "the disk is full"}
    path.write_text(json.dumps(json.loads(path.read_text()) | failed))
    found = report.summary(tampered)
    assert (found.status, found.error, found.training.stopped_by) == ("failed", "the disk is full", "")


def test_a_simulation_alone(tampered):
    shutil.rmtree(tampered / "training")
    shutil.rmtree(tampered / "policy")
    found = report.summary(tampered)
    assert found.training is None
    assert found.simulation.scenarios == 12
    assert found.simulation.gap_percent is None
    assert found.storage[0].most_hm3 is None


@pytest.mark.parametrize(
    "name", ["training/convergence.parquet", "training/timing/mpi_ranks.parquet", "training/_manifest.json"]
)
def test_a_damaged_file_is_named(tampered, name):
    (tampered / name).write_bytes(b"PAR1 nonsense")
    with pytest.raises(ResultsError, match="cannot be read") as caught:
        report.summary(tampered)
    assert caught.value.path == str(tampered / name)


def test_a_folder_that_is_no_result(tmp_path):
    with pytest.raises(ResultsError, match="there is no training/_manifest.json"):
        report.summary(tmp_path)
