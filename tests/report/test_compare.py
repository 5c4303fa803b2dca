"""What differs between results: nothing between runs of other shapes, else exactly what was changed."""

import json
import math
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

import cobre
from cobre import report, results
from cobre.errors import PolicyFileError, ResultsError
from cobre.sddp import Policy
from tests.study.cases import copy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


def run(folder, name, workers=1, **settings):
    options = {"iterations": 6, "scenarios": 12, **settings}
    case = copy("cascade", folder / f"case-{name}", **options)
    return cobre.run(case, output=folder / name, num_workers=workers).output_directory


@pytest.fixture(scope="module")
def a(folder):
    return run(folder, "a")


@pytest.fixture(scope="module")
def longer(folder):
    return run(folder, "longer", iterations=8)


@pytest.fixture(scope="module")
def wider(folder):
    return run(folder, "wider", passes=4)


@pytest.fixture
def tampered(a, tmp_path):
    return shutil.copytree(a, tmp_path / "b")


def discounted(folder):
    """The cost of each scenario, added up without the code under test."""
    table = results.read(folder).simulation("costs")
    cost = np.asarray(table["discount_factor"]) * np.asarray(table["immediate_cost"])
    return np.bincount(np.asarray(table["scenario_id"]), cost)


def test_two_workers_give_the_same_bits(a, folder):
    found = report.compare(a, run(folder, "b", workers=2))
    assert found.same
    assert (found.settings, found.inputs, found.versions, found.means) == ((), (), (), ())
    assert found.bounds.same
    assert found.policy == report.PolicyComparison(True, "", ())
    assert found.costs.common
    assert (found.costs.difference, found.costs.half_width) == (0, 0)
    assert "world_size" in [change.name for change in found.distribution]


def test_layouts_do_not_matter(a, folder):
    case = folder / "case-a"
    b = cobre.run(case, output=folder / "compact", layout="compact").output_directory
    assert not list((b / "simulation").glob("*/scenario_id=*"))
    assert report.compare(a, b).same
    assert report.compare(b, a).same
    assert report.summary(b).simulation == report.summary(a).simulation


def test_one_bit_of_another_layout(a, folder, tampered):
    change(tampered / "simulation/hydros/scenario_id=0007/data.parquet", "generation_mw", 5, next_float)
    b = cobre.run(folder / "case-a", output=folder / "compact-2", layout="compact").output_directory
    found = report.compare(tampered, b)
    assert (found.same, found.costs.differing_tables) == (False, ("hydros",))


def test_a_longer_run_begins_with_the_same_bits(a, longer):
    found = report.compare(a, longer)
    assert not found.same
    assert [(change.name, change.a, change.b) for change in found.settings] == [
        ("training.stopping_rules[0].limit", 6, 8)
    ]
    assert found.bounds.first_difference is None
    assert not found.bounds.same
    assert (found.bounds.iterations_a, found.bounds.iterations_b) == (6, 8)
    assert [change.name for change in found.inputs] == ["config.json"]


def test_differences_of_costs_are_those_of_pairs(a, wider):
    found = report.compare(a, wider).costs
    one, two = discounted(a), discounted(wider)
    assert found.common
    assert found.difference == pytest.approx((two - one).mean())
    assert found.half_width == pytest.approx(1.959964 * (two - one).std(ddof=1) / math.sqrt(12), rel=1e-6)
    components = sum(change.b - change.a for change in found.components)
    assert components == pytest.approx(found.difference, rel=1e-6, abs=1e-3)  # the wind is the same in both


def test_other_scenarios_are_two_samples(a, folder):
    b = run(
        folder, "others", simulation={"scenario_source": {"seed": 99, "inflow": {"scheme": "out_of_sample"}}}
    )
    found = report.compare(a, b)
    assert not found.costs.common
    one, two = discounted(a), discounted(b)
    variance = one.var(ddof=1) / 12 + two.var(ddof=1) / 12
    assert found.costs.half_width == pytest.approx(1.959964 * math.sqrt(variance), rel=1e-6)
    assert found.bounds.same
    assert found.policy.same
    assert not found.same


def test_policies_are_compared_where_the_first_has_been(a, wider):
    found = report.compare(a, wider).policy
    one, two = (Policy.load(results.read(folder).policy_path) for folder in (a, wider))
    assert not found.same
    node = next(node for node in found.nodes if node.node == "4")
    assert (node.cuts_a, node.cuts_b) == (len(one.cuts("4").intercepts), len(two.cuts("4").intercepts))
    table = results.read(a).simulation("hydros", scenarios=range(10))
    # The volume at the end of a stage is that of its last block.
    rows = [row for row in table.to_pylist() if row["stage_id"] == 4 and row["block_id"] == 2]
    states = [{} for _ in range(10)]
    for row in rows:
        states[row["scenario_id"]][f"storage:{row['hydro_id']}"] = row["storage_final_hm3"]
    largest = max(abs(one.value("4", state).value - two.value("4", state).value) for state in states)
    assert node.largest == pytest.approx(largest)


def test_means_are_those_of_the_tables(a, wider):
    found = report.compare(a, wider).means
    volume = next(mean for mean in found if (mean.entity, mean.quantity) == ("spring", "volume"))
    for folder, value in ((a, volume.a), (wider, volume.b)):
        table = results.read(folder).simulation("hydros")
        own = (np.asarray(table["hydro_id"]) == 0) & (np.asarray(table["block_id"]) == 2)
        assert value == pytest.approx(np.asarray(table["storage_final_hm3"])[own].mean())
    price = next(mean for mean in found if mean.quantity == "price" and mean.entity == "coast")
    table = results.read(a).simulation("buses")
    own = np.asarray(table["bus_id"]) == 2
    load, spot = np.asarray(table["load_mwh"])[own], np.asarray(table["spot_price"])[own]
    assert price.a == pytest.approx(np.average(spot, weights=load))
    assert price.difference == price.b - price.a


# One bit


def change(path, column, row, value):
    table = pq.read_table(path)
    values = table[column].to_pylist()
    values[row] = value(values[row])
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, table.schema.field(column), [values]), path)


def next_float(value):
    return float(np.nextafter(value, np.inf))


def test_one_bit_of_a_bound(a, tampered):
    change(tampered / "training/convergence.parquet", "lower_bound", 2, next_float)
    found = report.compare(a, tampered)
    assert found.bounds.first_difference == 3
    assert 0 < found.bounds.largest_relative < 1e-15
    assert not found.same
    assert found.policy.same
    assert found.costs.same


def test_one_bit_of_a_simulated_number(a, tampered):
    change(tampered / "simulation/hydros/scenario_id=0007/data.parquet", "generation_mw", 5, next_float)
    found = report.compare(a, tampered)
    assert found.costs.differing_tables == ("hydros",)
    assert found.costs.common
    assert not found.same


def test_files_written_by_another_version_are_compared_by_their_numbers(a, tampered):
    path = tampered / "simulation/buses/scenario_id=0003/data.parquet"
    before = path.read_bytes()
    pq.write_table(pq.read_table(path), path, compression="gzip")
    assert path.read_bytes() != before
    assert report.compare(a, tampered).same


def test_times_do_not_matter(a, tampered):
    change(tampered / "training/convergence.parquet", "time_total_ms", 0, lambda value: value + 1000)
    found = report.compare(a, tampered)
    assert found.same
    assert found.bounds.seconds_b == pytest.approx(found.bounds.seconds_a + 1)


def test_versions_are_told(a, tampered):
    path = tampered / "training/metadata.json"
    about = json.loads(path.read_text())
    about["environment"]["highspy"] = "1.99"
    path.write_text(json.dumps(about))
    assert [(one.name, one.b) for one in report.compare(a, tampered).versions] == [("highspy", "1.99")]


# Incompatible results


def test_results_of_other_cases(a, folder):
    case = copy("one-reservoir", folder / "lake", iterations=2, scenarios=3)
    found = report.compare(a, cobre.run(case, output=folder / "lake-out").output_directory)
    assert not found.same
    assert found.policy == report.PolicyComparison(False, "their problems have different states", ())
    assert not found.costs.common
    assert {mean.entity for mean in found.means} == {"coal", "gas", "diesel"} & {
        plant.name for plant in cobre.case.load(folder / "case-a").thermals
    }  # what has the same name


def test_without_a_simulation_policies_are_compared_by_their_cuts(a, wider, tmp_path):
    one, two = (shutil.copytree(folder, tmp_path / folder.name) for folder in (a, wider))
    for folder in (one, two):
        shutil.rmtree(folder / "simulation")
    found = report.compare(one, two)
    assert found.costs is None
    assert found.policy.obstacle.startswith("there is no simulation")
    assert {node.largest for node in found.policy.nodes} == {None}


def test_a_simulation_that_only_one_has(a, tampered):
    shutil.rmtree(tampered / "simulation")
    found = report.compare(a, tampered)
    assert found.costs is None
    assert not found.same


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("training/convergence.parquet", ResultsError),
        ("policy/policy.cobre", PolicyFileError),
        ("simulation/thermals/scenario_id=0002/data.parquet", ResultsError),
    ],
)
def test_a_damaged_file_is_named(a, tampered, name, error):
    (tampered / name).write_bytes(b"nonsense")
    with pytest.raises(error) as caught:
        report.compare(a, tampered)
    assert caught.value.path == str(tampered / name)
