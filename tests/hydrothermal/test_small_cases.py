"""Cases that can be solved on paper."""

import pytest

from cobre.sddp import simulate
from cobre.study import Study
from tests.hydrothermal.small_cases import HOURS, VOLUME, given, hydro, small_case, thermal


def trained(folder):
    return Study.load(folder).train()


def test_load_that_fuel_does_not_meet_goes_unserved_segment_by_segment(tmp_path):
    folder = small_case(tmp_path, thermals=[thermal(0, 60.0, 10.0)])
    stage = HOURS * (60 * 10 + 20 * 1000 + 20 * 5000)
    assert trained(folder).bound == pytest.approx(2 * stage)


def test_all_water_replaces_fuel(tmp_path):
    """Three times 30 m³/s arrive or are there: each is worth a MW for a stage."""
    plant = hydro(0, inflow=30.0)
    folder = small_case(
        tmp_path, hydros=[plant], thermals=[thermal(0, 200.0, 10.0)], initial={0: 30 * VOLUME}
    )
    assert trained(folder).bound == pytest.approx(10 * HOURS * (200 - 90))


def test_water_works_again_downstream(tmp_path):
    plants = [hydro(0, inflow=10.0, productivity=2.0, downstream=1), hydro(1, inflow=0.0)]
    folder = small_case(tmp_path, hydros=plants, thermals=[thermal(0, 200.0, 10.0)], initial={0: 0.0, 1: 0.0})
    assert trained(folder).bound == pytest.approx(2 * 10 * HOURS * (100 - 10 * 2 - 10))


def test_a_line_loses_what_it_loses(tmp_path):
    buses = [{"id": 0, "name": "here"}, {"id": 1, "name": "there"}]
    line = {
        "id": 0,
        "name": "line",
        "source_bus_id": 0,
        "target_bus_id": 1,
        "capacity": {"direct_mw": 50.0, "reverse_mw": 0.0},
        "losses_percent": 10.0,
    }
    folder = small_case(
        tmp_path,
        stages=1,
        buses=buses,
        lines=[line],
        thermals=[thermal(0, 100.0, 10.0), thermal(1, 100.0, 40.0, bus=1)],
        load={0: 0.0, 1: 60.0},
    )
    # 50 MW are sent at 10 and 1 for the way; 45 arrive, and 15 are made there at 40.
    assert trained(folder).bound == pytest.approx(HOURS * (50 * 11 + 15 * 40))


def test_water_and_power_balance_in_a_simulation(tmp_path):
    plants = [hydro(0, inflow=40.0, most_hm3=60.0, downstream=1), hydro(1, inflow=5.0, most_hm3=50.0)]
    folder = small_case(
        tmp_path, stages=4, hydros=plants, thermals=[thermal(0, 60.0, 10.0)], initial={0: 50.0, 1: 20.0}
    )
    study = Study.load(folder)
    columns = [f"{kind}:{i}:0" for kind in ("turbined", "spilled") for i in (0, 1)]
    columns += ["thermal:0:0", "deficit:0:0:0", "deficit:0:1:0", "excess:0:0"]
    table = simulate(study.problem, study.train().policy, 3, columns=columns).table.to_pylist()
    assert len(table) == 12
    for row in table:
        out = {i: row[f"turbined:{i}:0"] + row[f"spilled:{i}:0"] for i in (0, 1)}
        for i, arrives in ((0, 40.0), (1, 5.0 + out[0])):
            change = row[f"storage:{i}_out"] - row[f"storage:{i}_in"]
            assert change == pytest.approx(VOLUME * (arrives - out[i]), abs=1e-6)
        made = row["turbined:0:0"] + row["turbined:1:0"] + row["thermal:0:0"] - row["excess:0:0"]
        assert made + row["deficit:0:0:0"] + row["deficit:0:1:0"] == pytest.approx(100.0, abs=1e-6)


def test_an_inflow_remembers_the_one_before(tmp_path):
    """Means of 100 and half of the last difference: 150 and 125 follow 200."""

    def remember(files):
        statistics = files["scenarios/inflow_seasonal_stats.parquet"]
        statistics["hydro_id"].append(0)
        statistics["stage_id"].append(-1)
        statistics["mean_m3s"].append(100.0)
        statistics["std_m3s"] = [10.0, 10.0, 10.0]
        files["initial_conditions.json"]["past_inflows"] = [{"hydro_id": 0, "values_m3s": [200.0]}]
        files["scenarios/inflow_ar_coefficients.parquet"] = {
            "hydro_id": [0, 0],
            "stage_id": [0, 1],
            "lag": [1, 1],
            "coefficient": [0.5, 0.5],
            "residual_std_ratio": [0.9, 0.9],
        }
        files["scenarios/noise_openings.parquet"] = {
            "stage_id": [0, 1],
            "opening_index": [0, 0],
            "entity_index": [0, 0],
            "value": [0.0, 0.0],
        }

    folder = small_case(
        tmp_path,
        hydros=[hydro(0, inflow=100.0, most_hm3=0.0)],
        thermals=[thermal(0, 200.0, 10.0)],
        load={0: 200.0},
        initial={0: 0.0},
        lags=remember,
    )
    assert trained(folder).bound == pytest.approx(10 * HOURS * (50 + 75), rel=1e-6)


def test_later_costs_are_discounted(tmp_path):
    def discount(files):
        files["stages.json"]["policy_graph"]["annual_discount_rate"] = 0.1

    folder = small_case(tmp_path, thermals=[thermal(0, 100.0, 10.0)], rate=discount)
    january = 1.1 ** (-31 / 365.25)
    assert trained(folder).bound == pytest.approx(HOURS * 100 * 10 * (1 + january))


def test_a_source_saves_fuel_and_is_paid_for_not_being_curtailed(tmp_path):
    source = {"id": 0, "name": "wind", "bus_id": 0, "max_generation_mw": 30.0}
    content = {"non_controllable_sources": [source]}
    folder = small_case(
        tmp_path,
        stages=1,
        thermals=[thermal(0, 100.0, 10.0)],
        wind=given("system/non_controllable_sources.json", content),
    )
    assert trained(folder).bound == pytest.approx(HOURS * (70 * 10 - 30 * 0.005))


def test_a_constraint_of_the_users_makes_way_for_dearer_fuel(tmp_path):
    constraint = {
        "id": 0,
        "name": "cheap fuel",
        "expression": "2 * thermal_generation(0)",
        "sense": "<=",
        "slack": {"enabled": False},
    }
    bound = {"constraint_id": [0], "stage_id": [0], "bound": [80.0]}
    folder = small_case(
        tmp_path,
        stages=1,
        thermals=[thermal(0, 100.0, 10.0), thermal(1, 100.0, 30.0)],
        rule=given("constraints/generic_constraints.json", {"constraints": [constraint]}),
        bound=given("constraints/generic_constraint_bounds.parquet", bound),
    )
    assert trained(folder).bound == pytest.approx(HOURS * (40 * 10 + 60 * 30))


def test_contracts_buy_and_sell(tmp_path):
    def contract(number, kind, price, most):
        limits = {"min_mw": 0.0, "max_mw": most}
        entry = {"id": number, "name": kind, "bus_id": 0, "type": kind, "price_per_mwh": price}
        return {**entry, "limits": limits}

    contracts = [contract(0, "import", 5.0, 20.0), contract(1, "export", -15.0, 30.0)]
    folder = small_case(
        tmp_path,
        stages=1,
        thermals=[thermal(0, 200.0, 10.0)],
        trade=given("system/energy_contracts.json", {"contracts": contracts}),
    )
    assert trained(folder).bound == pytest.approx(HOURS * (20 * 5 - 30 * 15 + 110 * 10))


def test_water_that_is_withdrawn_makes_no_power(tmp_path):
    withdrawal = {"hydro_id": [0], "stage_id": [0], "water_withdrawal_m3s": [10.0]}
    folder = small_case(
        tmp_path,
        stages=1,
        hydros=[hydro(0, inflow=30.0)],
        thermals=[thermal(0, 200.0, 10.0)],
        initial={0: 0.0},
        fields=given("constraints/hydro_bounds.parquet", withdrawal),
    )
    assert trained(folder).bound == pytest.approx(10 * HOURS * (100 - 20))


@pytest.mark.parametrize(("mode", "kept_mw"), [("parallel", 0.0), ("chronological", 30.0)])
def test_water_is_moved_between_blocks_only_if_there_is_room_for_it(tmp_path, mode, kept_mw):
    """Without a reservoir the inflow of a block that needs no power is lost, if blocks follow each other."""

    def two_blocks(files):
        stage = files["stages.json"]["stages"][0]
        stage["block_mode"] = mode
        stage["blocks"] = [{"id": k, "name": str(k), "hours": HOURS / 2} for k in range(2)]
        factors = [{"block_id": 0, "factor": 0.000001}, {"block_id": 1, "factor": 1.0}]
        entry = {"bus_id": 0, "stage_id": 0, "block_factors": factors}
        files["scenarios/load_factors.json"] = {"load_factors": [entry]}

    folder = small_case(
        tmp_path,
        stages=1,
        hydros=[hydro(0, inflow=30.0, most_hm3=0.0)],
        thermals=[thermal(0, 200.0, 10.0)],
        initial={0: 0.0},
        blocks=two_blocks,
    )
    assert trained(folder).bound == pytest.approx(10 * HOURS / 2 * (100 - 60 + kept_mw), rel=1e-4)
