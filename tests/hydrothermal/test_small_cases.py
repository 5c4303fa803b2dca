"""Cases that can be solved on paper."""

import pytest

from cobre.sddp import simulate
from cobre.study import Study
from tests.hydrothermal.small_cases import HOURS, VOLUME, hydro, small_case, thermal


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
