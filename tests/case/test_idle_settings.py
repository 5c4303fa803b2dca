"""A setting that has no effect in a case is named in a warning, and one that has an effect is not."""

import copy

import pytest

from cobre import case
from tests.case import folders
from tests.case.changes import (
    CONFIG,
    CORRELATION,
    HYDRO_BOUNDS,
    HYDROS,
    PENALTIES,
    PLANES,
    PRODUCTION,
    STAGES,
    at,
    content,
)
from tests.case.field_cases import models
from tests.case.histories import to_fit
from tests.case.valid_case import valid

SELECTION = "training.cut_selection"
YEARS = {"historical_years": [2001]}

#: Settings by sections of config.json, and those of them that have no effect.
CASES = {
    "no cut selection": (
        {"training": {"cut_selection": {"method": "lml1", "memory_window": 3}}},
        {"method", "memory_window"},
    ),
    "Level-1": (
        {
            "training": {
                "cut_selection": {
                    "enabled": True,
                    "method": "level1",
                    "memory_window": 3,
                    "domination_epsilon": 0.1,
                }
            }
        },
        {"memory_window", "domination_epsilon"},
    ),
    "old names beside the new ones": (
        {
            "training": {
                "cut_selection": {"enabled": True, "method": "lml1", "memory_window": 3, "threshold": 4}
            }
        },
        {"threshold"},
    ),
    "domination": (
        {
            "training": {
                "cut_selection": {"enabled": True, "method": "domination", "cut_activity_tolerance": 0.1}
            }
        },
        {"cut_activity_tolerance"},
    ),
    "LML1": ({"training": {"cut_selection": {"enabled": True, "method": "lml1", "memory_window": 3}}}, set()),
    "in sample": ({"training": {"scenario_source": {"seed": 3, **YEARS}}}, {"seed", "historical_years"}),
    "a mode of selection": (
        {"training": {"scenario_source": {"selection_mode": "random"}}},
        {"selection_mode"},
    ),
    "fresh noise": (
        {"training": {"scenario_source": {"seed": 3, "load": {"scheme": "out_of_sample"}}}},
        set(),
    ),
    "simulation in sample": ({"simulation": {"scenario_source": {"seed": 3}}}, {"seed"}),
    "upper bound": (
        {"upper_bound_evaluation": {"initial_iteration": 3, "lipschitz": {}}},
        {"initial_iteration", "lipschitz"},
    ),
    "policy": (
        {
            "policy": {
                "validate_compatibility": False,
                "checkpointing": {"initial_iteration": 2, "interval_iterations": 3},
            }
        },
        {"validate_compatibility", "initial_iteration"},
    ),
    "path": ({"simulation": {"output_path": "sim"}}, {"output_path"}),
    "vertices": ({"exports": {"vertices": True, "training": True, "simulation": False}}, {"vertices"}),
    "estimation": ({"estimation": {"max_order": 3}}, {"max_order"}),
    "inside": ({"simulation": {"io_channel_capacity": 8}}, {"io_channel_capacity"}),
}


#: Changes of other files, and the fields that have no effect after them.
ELSEWHERE = {
    "sampling of given openings": (
        at(STAGES, "stages.1.sampling_method", "lhs"),
        (STAGES, "sampling_method"),
    ),
    "cost of lifting inflows that are truncated": (
        at(HYDROS, "hydros.1.penalties", {"inflow_nonnegativity_cost": 5.0}),
        (HYDROS, "inflow_nonnegativity_cost"),
    ),
    "the same of all plants": (
        at(PENALTIES, "hydro.inflow_nonnegativity_cost", 5.0),
        (PENALTIES, "inflow_nonnegativity_cost"),
    ),
    "fitting of a model without planes": (
        at(PRODUCTION, "production_models.0.stage_ranges.0.fpha_config", {"source": "computed"}),
        (PRODUCTION, "fpha_config"),
    ),
    "room of a plant that diverts nothing": (
        at(HYDRO_BOUNDS, "max_diversion_m3s", [3.0, None]),
        (HYDRO_BOUNDS, "max_diversion_m3s"),
    ),
    "planes that are good for some volumes": (
        content(
            PLANES,
            {
                "hydro_id": [1],
                "plane_id": [0],
                "gamma_0": [0.0],
                "gamma_v": [0.0],
                "gamma_q": [1.0],
                "gamma_s": [0.0],
                "valid_v_max_hm3": [50.0],
            },
        ),
        (PLANES, "valid_v_max_hm3"),
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_fields_of_other_files_without_effect_are_named(tmp_path, name):
    change, expected = ELSEWHERE[name]
    files = copy.deepcopy(valid())
    change(files)
    assert expected in idle(tmp_path, files)


def test_settings_of_planes_that_are_given_are_named(tmp_path):
    files = models()
    config = {"source": "precomputed", "max_planes_per_hydro": 3}
    files[PRODUCTION]["production_models"].append(
        {
            "hydro_id": 11,
            "selection_mode": "stage_ranges",
            "stage_ranges": [{"start_stage_id": 0, "model": "fpha", "fpha_config": config}],
        }
    )
    assert (PRODUCTION, "max_planes_per_hydro") in idle(tmp_path, files)


def test_a_cost_of_lifting_inflows_is_idle_where_they_are_truncated(tmp_path):
    files = copy.deepcopy(valid())
    assert (CONFIG, "penalty_cost") not in idle(tmp_path / "before", files)
    files[CONFIG]["modeling"]["inflow_non_negativity"]["penalty_cost"] = 750.0
    assert (CONFIG, "penalty_cost") in idle(tmp_path / "after", files)


def idle(folder, files):
    found = case.load(folders.write(folder, files)).warnings
    return {(one.file, one.field.rpartition(".")[2]) for one in found if "has no effect" in one.message}


@pytest.mark.parametrize("name", CASES)
def test_settings_without_effect_are_named(tmp_path, name):
    settings, expected = CASES[name]
    files = copy.deepcopy(valid())
    before = idle(tmp_path / "before", files)
    for section, changes in settings.items():
        files[CONFIG][section] = {**files[CONFIG].get(section, {}), **changes}
    assert idle(tmp_path / "after", files) - before == {(CONFIG, field) for field in expected}


def test_settings_of_an_estimation_that_takes_place_are_not_idle(tmp_path):
    files = to_fit()
    files[CONFIG]["estimation"] = {"max_order": 2}
    assert (CONFIG, "max_order") not in idle(tmp_path, files)


def test_other_files(tmp_path):
    files = copy.deepcopy(valid())
    files[PENALTIES]["version"] = "1.0"
    files[CORRELATION]["method"] = "spectral"
    assert idle(tmp_path, files) >= {(PENALTIES, "version"), (CORRELATION, "method")}
