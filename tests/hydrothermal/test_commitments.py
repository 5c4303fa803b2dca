"""Generation committed in advance, in cases that can be solved on paper."""

import pytest

from cobre import sddp
from cobre.hydrothermal import SimulationTables
from cobre.study import Study
from tests.hydrothermal.small_cases import HOURS, given, small_case, thermal, two_blocks
from tests.hydrothermal.test_boundary import boundary, part

CHEAP, DEAR = 10.0, 100.0


def committed(lag, initial, **more):
    """A change: thermal 0 is committed so many stages in advance; ``more`` are other fields of the plant."""

    def change(files):
        plant = files["system/thermals.json"]["thermals"][0]
        plant |= {"gnl_config": {"lag_stages": lag}, **more}
        files["initial_conditions.json"]["gnl_pipeline"] = [
            {"thermal_id": 0, "stage_offset": offset, "committed_mw": mw}
            for offset, mw in enumerate(initial, 1)
        ]

    return change


def limits(stages, least, most, blocks=None):
    """A change: limits of thermal 0 in some stages."""
    rows = {"thermal_id": [0 for _ in stages], "stage_id": stages}
    rows |= {"min_generation_mw": least, "max_generation_mw": most}
    return given("constraints/thermal_bounds.parquet", rows | ({"block_id": blocks} if blocks else {}))


def study(folder, **more):
    """A load of 100 MW, which a cheap plant of 80 MW and a dear one meet."""
    return Study.load(small_case(folder, thermals=[thermal(0, 80.0, CHEAP), thermal(1, 200.0, DEAR)], **more))


def cost(*cheap, load=100.0):
    """What it costs if the cheap plant generates so much in each stage, in MW."""
    return HOURS * sum(mw * CHEAP + max(load - mw, 0.0) * DEAR + max(mw - load, 0.0) * 0.01 for mw in cheap)


def thermals(one, result):
    """The table of thermal plants in one trajectory, and the states before its stages."""
    visits = []
    sddp.simulate_streaming(one.problem, result.policy, visits.extend, 1)
    return SimulationTables(one.case.system, one.problem).tables(visits)["thermals"].to_pylist()


def test_what_is_committed_before_is_generated_and_then_what_was_decided(tmp_path):
    generation = {"min_mw": 20.0, "max_mw": 80.0}
    one = study(tmp_path, stages=4, gas=committed(2, [30.0, 50.0], generation=generation))
    result = one.train()
    assert result.bound == pytest.approx(cost(30, 50, 80, 80), rel=1e-9)
    rows = thermals(one, result)
    gas, other = rows[::2], rows[1::2]
    assert [row["is_gnl"] for row in (gas[0], other[0])] == [True, False]
    assert [row["generation_mw"] for row in gas] == [30.0, 50.0, 80.0, 80.0]
    assert [row["gnl_committed_mw"] for row in gas] == [30.0, 50.0, 80.0, 80.0]
    # In the last stages, nothing is decided for after the end, not even the least generation.
    assert [row["gnl_decision_mw"] for row in gas] == [80.0, 80.0, 0.0, 0.0]
    assert {row[name] for row in other for name in ("gnl_committed_mw", "gnl_decision_mw")} == {None}


@pytest.mark.parametrize(("dear", "ordered"), [(15.0, 60.0), (25.0, 100.0)])
def test_it_is_decided_before_the_load_is_known(tmp_path, dear, ordered):
    """A load of 60 or 100 MW: another MW is worth its cost if half of the dear power that it saves is."""

    def noise(files):
        files["scenarios/load_seasonal_stats.parquet"] |= {"mean_mw": [80.0, 80.0], "std_mw": [0.0, 20.0]}
        files["stages.json"]["stages"][1]["num_scenarios"] = 2
        files["scenarios/noise_openings.parquet"] = {
            "stage_id": [0, 1, 1],
            "opening_index": [0, 0, 1],
            "entity_index": [0, 0, 0],
            "value": [0.0, -1.0, 1.0],
        }

    plants = [thermal(0, 120.0, CHEAP), thermal(1, 200.0, dear)]
    folder = small_case(tmp_path, thermals=plants, gas=committed(1, [80.0]), noise=noise)
    missing, surplus = 0.5 * (100 - ordered), 0.5 * (ordered - 60)
    expected = HOURS * ((80 + ordered) * CHEAP + missing * dear + surplus * 0.01)
    assert Study.load(folder).train().bound == pytest.approx(expected, rel=1e-9)


def test_the_limits_are_those_of_the_stage_in_which_it_is_generated(tmp_path):
    """The decision in stage 0 is for stage 2, which has room for 20 MW; stage 3 must have 120."""
    change = limits([0, 2, 3], [None, None, 120.0], [70.0, 20.0, 160.0])
    one = study(tmp_path, stages=4, gas=committed(2, [70.0, 0.0]), change=change)
    assert one.train().bound == pytest.approx(cost(70, 0, 20, 120), rel=1e-9)


def test_before_a_plant_enters_it_can_be_committed_and_after_it_leaves_not(tmp_path):
    """In service in stages 2 and 3 of 5; stage_offset 2 is stage 1, for which nothing need be committed."""
    one = study(tmp_path, stages=5, gas=committed(2, [], entry_stage_id=2, exit_stage_id=4))
    assert one.train().bound == pytest.approx(cost(0, 0, 80, 80, 0), rel=1e-9)


def test_it_is_the_same_in_all_blocks(tmp_path):
    """60 and 100 MW of load: 80 MW for both; a block with room for less limits the other too."""
    shape = {"bus_id": 0, "stage_id": 1, "block_factors": [{"block_id": 0, "factor": 0.6}]}
    load = given("scenarios/load_factors.json", {"load_factors": [shape]})
    half = HOURS / 2
    changes = {"gas": committed(1, [0.0]), "blocks": two_blocks, "factors": load}
    one = study(tmp_path / "free", **changes)
    surplus = half * (20 * 0.01 + 20 * DEAR)
    assert one.train().bound == pytest.approx(cost(0) + HOURS * 80 * CHEAP + surplus, rel=1e-9)
    one = study(tmp_path / "narrow", **changes, narrow=limits([1], [None], [50.0], blocks=[1]))
    rest = half * (10 + 50) * DEAR
    assert one.train().bound == pytest.approx(cost(0) + HOURS * 50 * CHEAP + rest, rel=1e-9)


def test_discounts_count_where_it_is_generated(tmp_path):
    """Fuel is paid when it is burnt: the decision itself costs nothing."""

    def change(files):
        files["stages.json"]["policy_graph"]["annual_discount_rate"] = 0.2

    one = study(tmp_path, gas=committed(1, [80.0]), discount=change)
    factor = 1.2 ** (-31 / 365.25)
    assert one.train().bound == pytest.approx(cost(80) * (1 + factor), rel=1e-9)


def test_cuts_of_another_study_value_what_is_committed_for_after_the_end(tmp_path):
    """Six stages in two parts, of which the first one decides what the second begins with."""

    def section(name, first, last, initial, **more):
        def undiscounted(files):
            files["stages.json"]["policy_graph"]["annual_discount_rate"] = 0.0

        changes = {"gas": committed(2, initial), "part": part(first, last), "undiscounted": undiscounted}
        return study(tmp_path / name, stages=6, **changes, **more)

    later = section("later", 2, 5, [5.0, 5.0])
    later.train().policy.save(tmp_path / "policy.cobre")
    sooner = section("sooner", 0, 2, [10.0, 20.0], cuts=boundary(tmp_path / "policy.cobre", 2))
    result = sooner.train()
    assert result.bound == pytest.approx(cost(10, 20, 80, 80, 80, 80), rel=1e-9)
    assert [row["gnl_decision_mw"] for row in thermals(sooner, result)[::2]] == [80.0, 80.0, 80.0]
