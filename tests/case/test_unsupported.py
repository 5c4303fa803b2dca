"""What the format has and this package cannot use yet is refused by name."""

import pytest

from tests.case.changes import (
    CONFIG,
    GENERIC,
    HYDROS,
    INITIAL,
    PRODUCTION,
    STAGES,
    THERMAL_BOUNDS,
    THERMALS,
    assert_found,
    at,
    content,
    without,
)

RANGE = "production_models.0.stage_ranges.0"


#: A change, and what it must lead to: kind, file, part of the field, part of the message.
CASES = {
    "planes": (
        content("system/fpha_hyperplanes.parquet", b""),
        "unsupported",
        "system/fpha_hyperplanes.parquet",
        "",
        "FPHA",
    ),
    "annual": (
        content("scenarios/inflow_annual_component.parquet", b""),
        "unsupported",
        "scenarios/inflow_annual_component.parquet",
        "",
        "PAR-A",
    ),
    "production by planes": (
        at(PRODUCTION, f"{RANGE}.model", "fpha"),
        "unsupported",
        PRODUCTION,
        "model",
        "FPHA",
    ),
    "fpha": (
        lambda files: (
            at(HYDROS, "hydros.0.generation.model", "fpha")(files),
            without(HYDROS, "hydros.0.generation.productivity_mw_per_m3s")(files),
        ),
        "unsupported",
        HYDROS,
        "generation.model",
        "FPHA",
    ),
    "filling": (
        at(HYDROS, "hydros.0.filling", {"start_stage_id": 0}),
        "unsupported",
        HYDROS,
        "filling",
        "filling",
    ),
    "new plant": (
        at(HYDROS, "hydros.0.entry_stage_id", 1),
        "unsupported",
        HYDROS,
        "entry_stage_id",
        "in stage 0",
    ),
    "gas": (
        at(THERMALS, "thermals.0.gnl_config", {"lag_stages": 1}),
        "unsupported",
        THERMALS,
        "gnl_config",
        "gas",
    ),
    "bounds by block": (
        at(THERMAL_BOUNDS, "block_id", [0]),
        "unsupported",
        THERMAL_BOUNDS,
        "block_id",
        "by block",
    ),
    "cyclic": (
        at(STAGES, "policy_graph.type", "cyclic"),
        "unsupported",
        STAGES,
        "policy_graph.type",
        "without an end",
    ),
    "other graphs": (
        at(STAGES, "policy_graph.transitions.0.target_id", 2),
        "unsupported",
        STAGES,
        "transitions",
        "graph",
    ),
    "observations": (
        at(
            INITIAL,
            "recent_observations",
            [{"hydro_id": 0, "start_date": "2024-01-01", "end_date": "2024-01-05", "value_m3s": 1.0}],
        ),
        "unsupported",
        INITIAL,
        "recent_observations",
        "within a season",
    ),
    "boundary": (
        at(CONFIG, "policy", {"boundary": {"path": "x", "source_stage": 1}}),
        "unsupported",
        CONFIG,
        "policy.boundary",
        "yet",
    ),
    "other openings": (
        lambda files: (
            at(STAGES, "stages.0.sampling_method", "selective")(files),
            without("scenarios/noise_openings.parquet")(files),
        ),
        "unsupported",
        STAGES,
        "sampling_method",
        "represent",
    ),
    "withdrawal constrained": (
        at(GENERIC, "constraints.0.expression", "hydro_withdrawal(0)"),
        "unsupported",
        GENERIC,
        "expression",
        "constrained",
    ),
    "resumption": (at(CONFIG, "policy", {"mode": "resume"}), "unsupported", CONFIG, "policy.mode", "fresh"),
    "no training": (
        at(CONFIG, "training.enabled", False),
        "unsupported",
        CONFIG,
        "training.enabled",
        "True",
    ),
    "activity": (
        at(CONFIG, "training.cut_selection", {"cut_activity_tolerance": 1e-6}),
        "unsupported",
        CONFIG,
        "training.cut_selection.cut_activity_tolerance",
        "yet",
    ),
    "vertices": (
        at(CONFIG, "simulation", {"policy_type": "inner"}),
        "unsupported",
        CONFIG,
        "policy_type",
        "vertices",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_finding_says_what_and_where(tmp_path, name):
    assert_found(tmp_path, CASES[name])
