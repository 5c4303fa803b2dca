"""Batteries that can be solved on paper."""

import pytest

from cobre.study import Study
from tests.hydrothermal.small_cases import battery, small_case, thermal

#: Hours of a block: a stage is half a day of night, and half of day.
HALF = 12.0
#: The load as a share of 100 MW, by block.
NIGHT_FIRST, DAY_FIRST = (0.2, 1.0), (1.0, 0.2)


def study(folder, one, *, mode="chronological", stages=1, shape=NIGHT_FIRST, bounds=None):
    """Load a case: 40 MW at 10 $/MWh and more at 100, for a load of 20 MW at night and 100 by day."""

    def change(files):
        for stage in files["stages.json"]["stages"]:
            stage["block_mode"] = mode
            stage["blocks"] = [{"id": k, "name": str(k), "hours": HALF} for k in (0, 1)]
        files["scenarios/load_factors.json"] = {
            "load_factors": [
                {
                    "bus_id": 0,
                    "stage_id": t,
                    "block_factors": [{"block_id": k, "factor": share} for k, share in enumerate(shape)],
                }
                for t in range(stages)
            ]
        }
        files["system/batteries.json"] = {"batteries": [one]}
        if bounds:
            files["constraints/battery_bounds.parquet"] = bounds

    plants = [thermal(0, 40.0, 10.0), thermal(1, 200.0, 100.0)]
    return Study.load(small_case(folder, stages=stages, thermals=plants, change=change))


WITHOUT = HALF * (20 * 10 + 40 * 10 + 60 * 100)


def test_energy_bought_at_night_is_sold_by_day_with_losses_on_both_ways(tmp_path):
    """20 MW for 12 h: 80 % are stored, half a day of self-discharge is lost, and 90 % come out."""
    one = study(tmp_path, battery(0, 500.0, costs={"charge_per_mwh": 1.0, "discharge_per_mwh": 2.0}))
    stored = 240.0 * 0.8 * (1 - 1e-4) ** HALF
    delivered = stored * 0.9
    expected = WITHOUT + 240.0 * (10 + 1) - delivered * (100 - 2)
    assert one.train().bound == pytest.approx(expected, rel=1e-9)


def test_capacity_limits_what_is_stored(tmp_path):
    one = study(tmp_path, battery(0, 96.0, self_discharge_per_hour=0.0))
    assert one.train().bound == pytest.approx(WITHOUT + 120.0 * 10 - 96.0 * 0.9 * 100, rel=1e-9)


@pytest.mark.parametrize(("cycles", "charged"), [(0.25, 125.0), (0.4, 200.0), (1.0, 240.0)])
def test_in_parallel_blocks_cycles_limit_what_is_charged(tmp_path, cycles, charged):
    """A stage of a day: as many capacities of 500 MWh as cycles, and no more than 20 MW for 12 h."""
    one = study(
        tmp_path, battery(0, 500.0, self_discharge_per_hour=0.0, cycles_per_day=cycles), mode="parallel"
    )
    expected = WITHOUT + charged * 10 - charged * 0.8 * 0.9 * 100
    assert one.train().bound == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("mode", "saved"), [("chronological", 0.0), ("parallel", 240 * (0.72 * 100 - 10))])
def test_the_order_of_chronological_blocks_counts(tmp_path, mode, saved):
    """By day first, nothing is stored yet when it is needed; parallel blocks have no order."""
    one = study(tmp_path, battery(0, 500.0, self_discharge_per_hour=0.0), mode=mode, shape=DAY_FIRST)
    assert one.train().bound == pytest.approx(WITHOUT - saved, rel=1e-9)


@pytest.mark.parametrize("mode", ["chronological", "parallel"])
def test_energy_waits_for_a_battery_that_enters(tmp_path, mode):
    """Before, nothing is charged, given or lost; then a day's self-discharge is lost of 90 MWh."""
    late = battery(0, 500.0, initial_energy_mwh=90.0, entry_stage_id=1, cycles_per_day=0.0)
    no_charge = {"battery_id": [0], "stage_id": [1], "charge_mw": [0.0]}
    one = study(tmp_path, late, mode=mode, stages=2, bounds=no_charge)
    delivered = 90.0 * (1 - 1e-4) ** (2 * HALF) * 0.9
    assert one.train().bound == pytest.approx(2 * WITHOUT - delivered * 100, rel=1e-9)


def test_energy_of_a_battery_that_leaves_is_of_no_use(tmp_path):
    gone = battery(0, 500.0, initial_energy_mwh=90.0, exit_stage_id=1)
    nothing = {"battery_id": [0], "stage_id": [0], "discharge_mw": [0.0]}
    one = study(tmp_path, gone, stages=2, bounds=nothing)
    assert one.train().bound == pytest.approx(2 * WITHOUT, rel=1e-9)


def test_energy_that_no_longer_fits_is_lost(tmp_path):
    """300 MWh are stored, 0 can be discharged, and the second stage has room for 100."""
    bounds = {
        "battery_id": [0, 0],
        "stage_id": [0, 1],
        "energy_mwh": [None, 100.0],
        "charge_mw": [0.0, 0.0],
        "discharge_mw": [0.0, 20.0],
    }
    full = battery(0, 300.0, initial_energy_mwh=300.0, self_discharge_per_hour=0.0, discharge=1.0)
    one = study(tmp_path, full, stages=2, bounds=bounds)
    # In the second stage's first block 20 MW replace cheap power for 10 h; for the other 100 MWh are left.
    assert one.train().bound == pytest.approx(2 * WITHOUT - 200.0 * 10 - 100.0 * 100, rel=1e-9)
