"""Constraints on every variable of the format, and bounds by block, in cases solved on paper."""

import pytest

from cobre.study import Study
from tests.hydrothermal.small_cases import HOURS, given, hydro, small_case, thermal, two_blocks

FUEL = [thermal(0, 200.0, 10.0)]


def rule(expression, sense, bound, *, penalty=None, block=None):
    """A change that adds one constraint in stage 0."""
    slack = {"enabled": False} if penalty is None else {"enabled": True, "penalty": penalty}
    constraint = {"id": 0, "name": "rule", "expression": expression, "sense": sense, "slack": slack}
    bounds = {"constraint_id": [0], "stage_id": [0], "block_id": [block], "bound": [bound]}

    def change(files):
        files["constraints/generic_constraints.json"] = {"constraints": [constraint]}
        files["constraints/generic_constraint_bounds.parquet"] = bounds

    return change


def bound(folder, **case):
    return Study.load(small_case(folder, stages=1, **case)).train().bound


def test_what_evaporates_can_be_constrained(tmp_path):
    """A square kilometre loses 25.92 mm in 720 hours: 0.01 m³/s, of which only a tenth may go."""
    plant = hydro(0, inflow=30.0) | {"evaporation": {"coefficients_mm": [25.92] * 12}}
    area = {"hydro_id": [0, 0], "volume_hm3": [0.0, 1000.0], "height_m": [1.0, 2.0], "area_km2": [1.0, 1.0]}
    found = bound(
        tmp_path,
        hydros=[plant],
        thermals=FUEL,
        initial={0: 0.0},
        area=given("system/hydro_geometry.parquet", area),
        rule=rule("hydro_evaporation(0)", "<=", 0.001),
    )
    assert found == pytest.approx(HOURS * (10 * (70 + 0.001) + 1e5 * 0.009))


def test_what_is_withdrawn_can_be_constrained(tmp_path):
    fields = {"hydro_id": [0], "stage_id": [0], "water_withdrawal_m3s": [10.0]}
    found = bound(
        tmp_path,
        hydros=[hydro(0, inflow=30.0)],
        thermals=FUEL,
        initial={0: 0.0},
        fields=given("constraints/hydro_bounds.parquet", fields),
        rule=rule("2 * hydro_withdrawal(0)", "<=", 12.0),
    )
    assert found == pytest.approx(HOURS * (10 * (100 - 24) + 1e5 * 4))


def test_what_a_pump_takes_can_be_constrained(tmp_path):
    """Water that is pumped makes twice the power that it takes, up to 6 MW of it."""
    plants = [hydro(0, inflow=50.0, productivity=0.0), hydro(1, inflow=0.0)]
    station = {
        "id": 0,
        "name": "pump",
        "bus_id": 0,
        "source_hydro_id": 0,
        "destination_hydro_id": 1,
        "consumption_mw_per_m3s": 0.5,
        "flow": {"min_m3s": 0.0, "max_m3s": 40.0},
    }
    found = bound(
        tmp_path,
        hydros=plants,
        thermals=FUEL,
        initial={0: 0.0, 1: 0.0},
        pump=given("system/pumping_stations.json", {"pumping_stations": [station]}),
        rule=rule("pumping_power(0)", "<=", 6.0),
    )
    assert found == pytest.approx(HOURS * 10 * (100 - 12 + 6))


def test_what_is_curtailed_can_be_constrained(tmp_path):
    """Of 20 or 40 MW of wind only 10 are needed. 5 may be curtailed; the rest must go somewhere."""
    source = {"id": 0, "name": "wind", "bus_id": 0, "max_generation_mw": 60.0}

    def two_openings(files):
        files["stages.json"]["stages"][0]["num_scenarios"] = 2
        files["scenarios/non_controllable_stats.parquet"] = {
            "ncs_id": [0],
            "stage_id": [0],
            "mean": [0.5],
            "std": [1 / 6],
        }
        files["scenarios/noise_openings.parquet"] = {
            "stage_id": [0, 0],
            "opening_index": [0, 1],
            "entity_index": [0, 0],
            "value": [-1.0, 1.0],
        }

    found = bound(
        tmp_path,
        load={0: 10.0},
        wind=given("system/non_controllable_sources.json", {"non_controllable_sources": [source]}),
        openings=two_openings,
        rule=rule("non_controllable_curtailment(0)", "<=", 5.0),
    )
    excess = (20 - 10 - 5 + 40 - 10 - 5) / 2
    assert found == pytest.approx(HOURS * (0.01 * excess - 0.005 * (15 + 35) / 2))


@pytest.mark.parametrize(
    ("expression", "block", "fuel"),
    [
        ("thermal_generation(0)", 1, 100 + 30),  # in the block of the bound
        ("thermal_generation(0, 0)", 1, 30 + 100),  # in the block that the term names
        ("thermal_generation(0, 0) + thermal_generation(0, 1)", 0, 30),
        ("thermal_generation(0)", None, 30 + 30),  # in each block
    ],
)
def test_a_constraint_is_about_blocks(tmp_path, expression, block, fuel):
    found = bound(
        tmp_path,
        thermals=[thermal(0, 200.0, 10.0), thermal(1, 200.0, 40.0)],
        blocks=two_blocks,
        rule=rule(expression, "<=", 30.0, block=block),
    )
    assert found == pytest.approx(HOURS / 2 * (10 * fuel + 40 * (200 - fuel)))


def test_thermal_bounds_and_costs_vary_by_block(tmp_path):
    """In the first block the cheap plant makes 20 MW at most, in the second it costs more."""
    bounds = {
        "thermal_id": [0, 0, 0],
        "stage_id": [0, 0, 0],
        "block_id": [None, 0, 1],
        "max_generation_mw": [60.0, 20.0, None],
        "cost_per_mwh": [None, None, 15.0],
    }
    found = bound(
        tmp_path,
        thermals=[thermal(0, 200.0, 10.0), thermal(1, 200.0, 40.0)],
        blocks=two_blocks,
        bounds=given("constraints/thermal_bounds.parquet", bounds),
    )
    assert found == pytest.approx(HOURS / 2 * (20 * 10 + 80 * 40 + 60 * 15 + 40 * 40))
