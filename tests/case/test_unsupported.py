"""What the format has and this package cannot use yet is refused by name."""

import pytest

from tests.case.changes import (
    CONFIG,
    INITIAL,
    STAGES,
    THERMALS,
    assert_found,
    at,
    content,
    without,
)

MONTHS = [{"id": month, "label": str(month), "month_start": month + 1} for month in range(12)]

#: A change, and what it must lead to: kind, file, part of the field, part of the message.
CASES = {
    "annual": (
        content("scenarios/inflow_annual_component.parquet", b""),
        "unsupported",
        "scenarios/inflow_annual_component.parquet",
        "",
        "PAR-A",
    ),
    "gas": (
        at(THERMALS, "thermals.0.gnl_config", {"lag_stages": 1}),
        "unsupported",
        THERMALS,
        "gnl_config",
        "gas",
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
    "weeks of a month": (
        lambda files: (
            at(STAGES, "season_definitions", {"cycle_type": "monthly", "seasons": MONTHS})(files),
            [stage.update(season_id=0) for stage in files[STAGES]["stages"]],
        ),
        "unsupported",
        STAGES,
        "season_id",
        "shares season 0",
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
