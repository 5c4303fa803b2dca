"""A case that is right becomes a system in which every number is resolved."""

import copy
import dataclasses
import itertools
import os
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from cobre import case
from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.thermal.data import Thermal
from tests.case import folders
from tests.case.valid_case import stage, valid

EXAMPLES = os.environ.get("COBRE_TEST_CASES")


@pytest.fixture
def loaded(tmp_path):
    return case.load(folders.write(tmp_path, valid()))


def same(one, other):
    """Whether two resolved values are equal in all their parts."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(other) and all(same(getattr(one, n), getattr(other, n)) for n in names)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other


def test_nothing_is_doubtful(loaded):
    assert loaded.warnings == ()


def test_stages(loaded):
    first, second, _ = loaded.system.stages
    assert (first.start, first.end, first.season, first.openings) == (
        date(2024, 1, 1),
        date(2024, 2, 1),
        0,
        2,
    )
    assert [block.hours for block in second.blocks] == [400.0, 296.0]
    assert first.discount == pytest.approx(1.12 ** (-31 / 365.25), rel=1e-15)
    assert second.discount == 1.0  # its transition has a rate of its own
    assert first.risk == {"measure": "expectation"}


def test_buses(loaded):
    north, south = loaded.system.of(Bus)
    assert [(part.depth_mw, part.cost_per_mwh) for part in north.deficit] == [
        (50.0, 1000.0),
        (np.inf, 5000.0),
    ]
    assert [(part.depth_mw, part.cost_per_mwh) for part in south.deficit] == [(np.inf, 3000.0)]
    assert north.excess_cost_per_mwh.tolist() == [100.0, 90.0, 100.0]
    assert south.load_mean_mw.tolist() == [30.0, 31.0, 32.0]
    assert south.load_std_mw.tolist() == [3.0, 0.0, 3.0]
    assert [factors.tolist() for factors in north.load_factors] == [[1.0, 1.0], [1.0, 0.8], [1.0, 1.0]]


def test_a_line_before_its_entry_has_no_capacity(loaded):
    (line,) = loaded.system.of(Line)
    assert [blocks.tolist() for blocks in line.direct_mw] == [[0.0, 0.0], [40.0, 40.0], [10.0, 20.0]]
    assert [blocks.tolist() for blocks in line.reverse_mw] == [[0.0, 0.0], [30.0, 30.0], [30.0, 30.0]]
    assert line.exchange_cost_per_mwh.tolist() == [2.0, 1.5, 2.0]
    assert line.efficiency == 0.98


def test_bounds_of_a_stage_replace_those_of_the_plant(loaded):
    thermal, second = loaded.system.of(Thermal)[0], loaded.system.of(Hydro)[1]
    assert [blocks.tolist() for blocks in thermal.min_mw] == [[0.0, 0.0], [5.0, 5.0], [0.0, 0.0]]
    assert [blocks.tolist() for blocks in thermal.max_mw] == [[80.0, 80.0]] * 3
    assert second.max_storage_hm3.tolist() == [100.0, 110.0, 110.0]
    assert second.withdrawal_m3s.tolist() == [0.0, 0.0, 1.5]
    assert second.max_outflow_m3s.tolist() == [np.inf] * 3
    assert second.mw_per_m3s.tolist() == [0.8, 0.75, 0.75]


def test_penalties_of_a_stage_count_before_those_of_the_plant_and_of_all(loaded):
    first, second = (plant.penalties for plant in loaded.system.of(Hydro))
    assert first.spillage.tolist() == [0.02, 0.02, 0.03]
    assert second.spillage.tolist() == [0.01] * 3
    assert first.evaporation_above.tolist() == first.evaporation_below.tolist() == [4000.0, 4000.0, 3000.0]
    assert first.outflow_below.tolist() == [510.0] * 3
    assert first.negative_inflow.tolist() == [1000.0] * 3


def test_a_particular_penalty_counts_before_a_symmetric_one(tmp_path):
    files = valid()
    files["penalties.json"]["hydro"]["water_withdrawal_violation_pos_cost"] = 1200.0
    files["system/hydros.json"]["hydros"][1]["penalties"] = {"evaporation_violation_neg_cost": 1.0}
    first, second = (plant.penalties for plant in case.load(folders.write(tmp_path, files)).system.of(Hydro))
    assert first.withdrawal_above.tolist() == [1200.0] * 3
    assert first.withdrawal_below.tolist() == [1100.0] * 3
    assert second.evaporation_below.tolist() == [1.0] * 3
    assert second.evaporation_above.tolist() == [5000.0] * 3


def test_hydro_plants(loaded):
    first, second = loaded.system.of(Hydro)
    assert (first.initial_hm3, first.downstream, first.diversion) == (60.0, 1, 1)
    assert first.max_diversion_m3s.tolist() == [5.0] * 3
    assert (second.downstream, second.diversion, second.evaporation) == (None, None, None)


def test_inflows_are_in_the_units_of_the_system(loaded):
    """By hand: φ = 0.5 · std / std of the lag, base = mean - φ · mean of the lag, scale = std · 0.9."""
    inflow = loaded.system.of(Hydro)[0].inflow
    assert np.concatenate(inflow.coefficients).tolist() == pytest.approx([0.4, 0.375, 1 / 3])
    assert inflow.base_m3s.tolist() == pytest.approx([40 - 0.4 * 50, 30 - 0.375 * 40, 20 - 30 / 3])
    assert inflow.scale_m3s.tolist() == pytest.approx([7.2, 5.4, 3.6])
    assert inflow.past_m3s == (45.0,)
    other = loaded.system.of(Hydro)[1].inflow
    assert (other.base_m3s.tolist(), other.scale_m3s.tolist()) == ([4.0, 3.0, 2.0], [1.0] * 3)
    assert [lags.tolist() for lags in other.coefficients] == [[], [], []]


def test_lags_before_the_study_have_the_statistics_of_their_season(tmp_path):
    """A year that begins in March: its February is the last of its stages."""
    files = valid()
    for name in ("scenarios/noise_openings.parquet", "scenarios/inflow_seasonal_stats.parquet"):
        del files[name]
    starts = [date(2024 + (2 + place) // 12, (2 + place) % 12 + 1, 1) for place in range(13)]
    files["stages.json"]["pre_study_stages"] = []
    del files["stages.json"]["policy_graph"]["transitions"]
    pairs = itertools.pairwise(starts)
    stages = [stage(place, str(one), str(end)) for place, (one, end) in enumerate(pairs)]
    for place, one in enumerate(stages):
        one["season_id"] = (2 + place) % 12
    files["stages.json"]["stages"] = stages
    for name, key, columns in (
        ("scenarios/load_seasonal_stats.parquet", "bus_id", ("mean_mw", "std_mw")),
        ("scenarios/inflow_seasonal_stats.parquet", "hydro_id", ("mean_m3s", "std_m3s")),
        ("scenarios/non_controllable_stats.parquet", "ncs_id", ("mean", "std")),
    ):
        rows = [(entity, place) for entity in ((0, 1) if key != "ncs_id" else (0,)) for place in range(12)]
        files[name] = {key: [row[0] for row in rows], "stage_id": [row[1] for row in rows]}
        files[name][columns[0]] = [(1 + row[1]) / 100 for row in rows]
        files[name][columns[1]] = [1.0] * len(rows)
    loaded = case.load(folders.write(tmp_path, files))
    assert loaded.system.of(Hydro)[0].inflow.base_m3s[0] == pytest.approx(0.01 - 0.5 * 0.12)


def test_evaporation_is_the_tangent_at_the_middle_of_the_reservoir(loaded):
    """By hand: 31 mm in 744 h at 60 hm³, where the area is 8 km² and grows by 3 km² in 60 hm³."""
    evaporation = loaded.system.of(Hydro)[0].evaporation
    per_area = 31.0 / (3.6 * 744)
    assert evaporation.slope_m3s_per_hm3[0] == pytest.approx(per_area * 3 / 60)
    assert evaporation.constant_m3s[0] == pytest.approx(per_area * (8 - 3))


def test_sources(loaded):
    wind, sun = loaded.system.of(NonControllableSource)
    assert wind.max_generation_mw.tolist() == [20.0, 18.0, 0.0]
    assert (wind.mean.tolist(), wind.std.tolist()) == ([0.5, 0.6, 0.7], [0.1] * 3)
    assert [factors.tolist() for factors in wind.factors] == [[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    assert wind.curtailment_cost_per_mwh.tolist() == [0.005, 0.005, 0.5]
    assert (sun.mean.tolist(), sun.std.tolist()) == ([1.0] * 3, [0.0] * 3)
    assert sun.curtailment_cost_per_mwh.tolist() == [0.25] * 3


def test_pumping_and_contracts(loaded):
    (station,), (contract,) = loaded.system.of(PumpingStation), loaded.system.of(Contract)
    assert station.max_m3s.tolist() == [3.0, 3.0, 1.0]
    assert contract.price_per_mwh.tolist() == [65.0, 70.0, 70.0]
    assert contract.imports


def test_generic_constraints(loaded):
    (constraint,) = loaded.system.of(GenericConstraint)
    assert [(term.coefficient, term.variable, term.entity, term.block) for term in constraint.terms] == [
        (1.0, "thermal_generation", 0, None),
        (-0.5, "line_direct", 0, 1),
    ]
    bounds = [[70.0, 70.0], [np.nan, np.nan], [np.nan, 60.0]]
    assert same([*constraint.bounds], [np.array(blocks) for blocks in bounds])
    assert constraint.slack_cost == 5000.0


def test_noise(loaded):
    scenarios = loaded.scenarios
    assert scenarios.entities == (("inflow", 0), ("inflow", 1), ("load", 1), ("ncs", 0))
    assert scenarios.openings[2].tolist() == [[200.0, 201.0, 202.0, 203.0], [210.0, 211.0, 212.0, 213.0]]
    assert scenarios.seed == 7
    assert scenarios.methods == ("saa",) * 3
    (group,) = scenarios.correlation.by_stage[1]
    assert group.matrix.tolist() == [[1.0, 0.5], [0.5, 1.0]]


def test_history_and_given_scenarios(tmp_path):
    files = valid()
    files["scenarios/inflow_history.parquet"] = {
        "hydro_id": [0, 0],
        "date": [date(2000, 2, 1), date(2000, 1, 1)],
        "value_m3s": [2.0, 1.0],
    }
    rows = [(hydro, place, number) for hydro in (1, 0) for place in range(3) for number in range(2)]
    files["scenarios/external_inflow_scenarios.parquet"] = {
        "hydro_id": [row[0] for row in rows],
        "stage_id": [row[1] for row in rows],
        "scenario_id": [row[2] for row in rows],
        "value_m3s": [100.0 * row[0] + 10 * row[1] + row[2] for row in rows],
    }
    scenarios = case.load(folders.write(tmp_path, files)).scenarios
    assert scenarios.history[0].values_m3s.tolist() == [1.0, 2.0]
    assert scenarios.external["inflow"].entities == (0, 1)
    assert scenarios.external["inflow"].values[2].tolist() == [[20.0, 120.0], [21.0, 121.0]]


def test_config_has_the_defaults_of_the_format(loaded):
    assert loaded.config.training.forward_passes == 2
    assert loaded.config.simulation.num_scenarios == 2000
    assert loaded.config.policy.mode == "fresh"
    assert loaded.system.negative_inflows == "truncation"


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_entities_changes_nothing(tmp_path, loaded, seed):
    files = folders.shuffled(copy.deepcopy(valid()), seed)
    other = case.load(folders.write(tmp_path / "other", files))
    assert same(loaded.system, other.system)
    assert same(loaded.scenarios, other.scenarios)


def test_only_required_files_are_needed(tmp_path):
    files = {name: content for name, content in valid().items() if "/" not in name}
    for kind in ("buses", "lines", "hydros", "thermals"):
        files[f"system/{kind}.json"] = {kind: []}
    files["system/buses.json"] = {"buses": [{"id": 3, "name": "B"}]}
    files["initial_conditions.json"] = {"storage": [], "filling_storage": []}
    loaded = case.load(folders.write(tmp_path, files))
    assert [warning.message for warning in loaded.warnings] == ["there are no loads: all are 0"]
    assert loaded.scenarios.entities == ()


def test_risk_is_read(tmp_path):
    files = valid()
    files["stages.json"]["stages"][1]["risk_measure"] = {"cvar": {"alpha": 0.2, "lambda": 0.5}}
    loaded = case.load(folders.write(tmp_path, files))
    expectation = {"measure": "expectation"}
    averse = {"measure": "eavar", "weight": 0.5, "level": 0.2}
    assert [one.risk for one in loaded.system.stages] == [expectation, averse, expectation]


def test_schemas_name_all_fields():
    schemas = case.schemas()
    assert "$schema" in schemas["config.json"]["properties"]
    assert "lambda" in schemas["stages.json"]["$defs"]["CVaR"]["properties"]
    assert schemas["system/hydros.json"]["additionalProperties"] is False
    assert len(schemas) == 18


@pytest.mark.skipif(not EXAMPLES, reason="COBRE_TEST_CASES names no folder of case folders")
def test_the_public_examples_load():
    found = [path.parent for path in sorted(Path(EXAMPLES).glob("*/config.json"))]
    assert found
    for folder in found:
        assert case.load(folder).system.stages
