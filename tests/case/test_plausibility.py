"""What is valid and probably not meant is a warning: one per check, with the worst case."""

import copy

import pytest

from cobre import case
from cobre.case import CaseError
from tests.case import folders
from tests.case.changes import (
    COEFFICIENTS,
    CONTRACTS,
    HYDRO_BOUNDS,
    HYDROS,
    INITIAL,
    LINES,
    LOADS,
    PENALTIES,
    SOURCES,
    STAGES,
    THERMALS,
    at,
)
from tests.case.valid_case import valid
from tests.hydrothermal.full_case import full_case

RESOURCES = (
    "the cost of the cheapest thermal plant or deficit is below the largest cost of spillage, turbined or "
    "diverted water, curtailment or exchange in"
)
#: A change, and part of the only warning that it leads to.
CASES = {
    "storage": (
        at(PENALTIES, "hydro.storage_violation_below_cost", 2500.0),
        "storage_violation_below_cost is below the cost of the last deficit segment of its bus in 6 cases, "
        "such as hydro 0 in stage 0: 2500 and 5000",
    ),
    "deficit": (
        at(PENALTIES, "bus.deficit_segments", [{"depth_mw": None, "cost": 3900.0}]),
        "the cost of the last deficit segment of its bus is below its largest violation cost in 2 cases, "
        "such as hydro 0 in stage 0: 3900 and 4000",
    ),
    "violations": (
        at(THERMALS, "thermals.0.cost_per_mwh", 1100.5),
        "its smallest violation cost is below the cost of the most expensive thermal plant",
    ),
    "exchange": (
        at(LINES, "lines.0.exchange_cost", 60.0),
        f"{RESOURCES} 1 cases, such as line 0 in stage 2: 50 and 60",  # stage 1 has its own
    ),
    "spillage": (
        at(PENALTIES, "hydro.spillage_cost", 70.0),  # hydro 0 has its own
        f"{RESOURCES} 3 cases, such as hydro 1 in stage 0: 50 and 70",
    ),
    "diversion": (
        at(PENALTIES, "hydro.diversion_cost", 55.0),  # only hydro 0 diverts
        f"{RESOURCES} 3 cases, such as hydro 0 in stage 0: 50 and 55",
    ),
    "curtailment": (
        at(SOURCES, "non_controllable_sources.1.curtailment_cost", 52.0),
        f"{RESOURCES} 3 cases, such as non-controllable source 4 in stage 0: 50 and 52",
    ),
    "unserved": (
        at(
            PENALTIES,
            "bus.deficit_segments",
            [{"depth_mw": 1.0, "cost": 45.0}, {"depth_mw": None, "cost": 5000.0}],
        ),
        "the cost of its first deficit segment is below the cost of its most expensive thermal plant, which "
        "is never used in 3 cases, such as bus 0 in stage 0: 45 and 50",
    ),
    "no loads": (at(LOADS, "mean_mw", [0.0] * 6), "there are no loads"),
    "loads in kW": (
        at(LOADS, "mean_mw", [60.0, 61000.0, 62.0, 30.0, 31.0, 32.0]),
        "more than 10 times what can be generated and imported in 1 stages, such as stage 1: 61031 MW and",
    ),
    "unstable": (at(COEFFICIENTS, "coefficient", [1.5] * 3), "hydro 0: past inflows count 1.35 times"),
    "idle thermal": (
        lambda files: (
            at(THERMALS, "thermals.1.generation.max_mw", 0.0)(files),
            at(INITIAL, "gnl_pipeline.0.committed_mw", 0.0)(files),
        ),
        "no capacity in any stage: 1 in all, such as thermal 1",
    ),
    "alpha for 1 - alpha": (
        lambda files: [
            at(STAGES, f"stages.{t}.risk_measure", {"cvar": {"alpha": 0.95 - t / 10, "lambda": 0.5}})(files)
            for t in (1, 2)
        ],
        "alpha is the fraction of worst outcomes, and above 0.5 in 2 stages, first in stage 1: "
        "the worst 85 %; if the worst 15 % are meant, give 0.15",
    ),
    "idle hydro": (
        lambda files: (
            at(HYDROS, "hydros.1.generation.max_turbined_m3s", 0.0)(files),
            at(HYDROS, "hydros.1.reservoir.max_storage_hm3", 50.0)(files),
            at(HYDROS, "hydros.1.reservoir.min_storage_hm3", 50.0)(files),
            files.pop(HYDRO_BOUNDS, None),
        ),
        "no capacity in any stage: 1 in all, such as hydro 1",
    ),
    "idle line": (
        lambda files: (
            at(LINES, "lines.0.capacity", {"direct_mw": 0.0, "reverse_mw": 0.0})(files),
            files.pop("constraints/line_bounds.parquet", None),
        ),
        "no capacity in any stage: 1 in all, such as line 0",
    ),
    "idle source": (
        at(SOURCES, "non_controllable_sources.1.max_generation_mw", 0.0),
        "such as non-controllable source 4",
    ),
}


def warnings(folder, files):
    return [
        f"{warning.message}; {warning.suggestion}"
        for warning in case.load(folders.write(folder, files)).warnings
    ]


@pytest.mark.parametrize("name", CASES)
def test_what_is_doubtful_is_told_once(tmp_path, name):
    change, message = CASES[name]
    files = copy.deepcopy(valid())
    change(files)
    found = warnings(tmp_path, files)
    assert sum(message in one for one in found) == 1, found


def test_what_is_fine_is_not_doubtful(tmp_path):
    assert warnings(tmp_path, valid()) == []


@pytest.mark.parametrize(("alpha", "weight"), [(0.5, 1.0), (0.05, 0.3), (1.0, 0.5), (0.95, 0.0)])
def test_an_alpha_that_can_only_mean_a_tail_is_fine(tmp_path, alpha, weight):
    """So is 1, the expectation, and whatever has no weight."""
    files = copy.deepcopy(valid())
    at(STAGES, "stages.0.risk_measure", {"cvar": {"alpha": alpha, "lambda": weight}})(files)
    assert warnings(tmp_path, files) == []


def test_turbined_water_costs_less_than_power(tmp_path):
    """Only where planes bound the power."""
    files = full_case()
    files[PENALTIES]["hydro"]["fpha_turbined_cost"] = 60.0
    assert "such as hydro 11 in stage 1: 50 and 60" in "".join(warnings(tmp_path, files))


def test_imports_count_as_capacity(tmp_path):
    files = copy.deepcopy(valid())
    at(LOADS, "mean_mw", [60.0, 61000.0, 62.0, 30.0, 31.0, 32.0])(files)
    at(CONTRACTS, "contracts.0.limits.max_mw", 6000.0)(files)
    assert warnings(tmp_path, files) == []


def test_an_initial_volume_above_the_capacity_is_an_error(tmp_path):
    """That of the first stage in which the plant is there, by its own bounds or those of the stage."""
    message = "the capacity is below the initial volume in 1 cases, such as hydro {}: {}"
    files = copy.deepcopy(valid())
    at(INITIAL, "storage.1.value_hm3", 110.5)(files)
    files.pop(HYDRO_BOUNDS)
    with pytest.raises(CaseError, match=message.format("1 in stage 0", "110 and 110.5")):
        case.load(folders.write(tmp_path / "own", files))
    files = copy.deepcopy(valid())
    files[HYDRO_BOUNDS] = {"hydro_id": [1], "stage_id": [0], "max_storage_hm3": [49.0]}
    with pytest.raises(CaseError, match=message.format("1 in stage 0", "49 and 50")):
        case.load(folders.write(tmp_path / "less", files))
    files[HYDRO_BOUNDS]["max_storage_hm3"] = [120.0]
    at(INITIAL, "storage.1.value_hm3", 115.0)(files)
    case.load(folders.write(tmp_path / "more", files))
    files = full_case()
    files[HYDRO_BOUNDS] = {"hydro_id": [11, 11], "stage_id": [0, 1], "max_storage_hm3": [11.0, 24.0]}
    with pytest.raises(CaseError, match=message.format("11 in stage 1", "24 and 25")):
        case.load(folders.write(tmp_path / "later", files))


def test_targets_of_filling_come_before_storage(tmp_path):
    files = full_case()
    files[PENALTIES]["hydro"]["filling_target_violation_cost"] = 9000.0
    message = (
        "filling_target_violation_cost is below storage_violation_below_cost in 3 cases, such as hydro 12"
    )
    assert any(message in one for one in warnings(tmp_path, files))


def test_water_that_is_cheaper_to_turbine_than_to_spill_is_an_error(tmp_path):
    """Only where planes bound the power: there a solution below the planes would cost nothing."""
    files = copy.deepcopy(valid())
    files[PENALTIES]["hydro"]["fpha_turbined_cost"] = 0.001
    case.load(folders.write(tmp_path / "valid", files))
    files = full_case()
    files[PENALTIES]["hydro"]["fpha_turbined_cost"] = 0.01
    with pytest.raises(CaseError, match="fpha_turbined_cost is not above spillage_cost in 2 cases"):
        case.load(folders.write(tmp_path / "full", files))


def test_turbined_water_that_costs_nothing_may_be_meant(tmp_path):
    """As in public cases."""
    files = full_case()
    files[PENALTIES]["hydro"]["fpha_turbined_cost"] = 0.0
    found = warnings(tmp_path, files)
    assert sum("fpha_turbined_cost is not above spillage_cost in 2 cases" in one for one in found) == 1


def test_violations_that_cannot_occur_do_not_count(tmp_path):
    files = copy.deepcopy(valid())
    files[PENALTIES]["hydro"]["turbined_violation_below_cost"] = 1.0
    assert warnings(tmp_path / "impossible", files) == []
    at(HYDROS, "hydros.1.generation.min_turbined_m3s", 1.0)(files)
    assert "such as hydro 1 in stage 0: 1 and 50" in "".join(warnings(tmp_path / "possible", files))
