"""What the format has and this package cannot use yet is refused by name."""

import pytest

from tests.case.changes import (
    CONFIG,
    STAGES,
    assert_found,
    at,
    without,
)

#: A change, and what it must lead to: kind, file, part of the field, part of the message.
CASES = {
    "rates of transitions": (
        lambda files: files[STAGES]["policy_graph"].update(
            type="cyclic",
            transitions=[
                {"source_id": 2, "target_id": 0, "probability": 0.5},
                {
                    "source_id": 2,
                    "target_id": 1,
                    "probability": 0.5,
                    "annual_discount_rate_override": 0.3,
                },
            ],
        ),
        "unsupported",
        STAGES,
        "transitions",
        "different discount rates",
    ),
    "a stage that may be left out": (
        lambda files: files[STAGES]["policy_graph"].update(
            transitions=[
                {"source_id": 0, "target_id": 1, "probability": 0.5},
                {"source_id": 0, "target_id": 2, "probability": 0.5},
                {"source_id": 1, "target_id": 2, "probability": 1.0},
            ]
        ),
        "unsupported",
        STAGES,
        "transitions",
        "inflow models look back",
    ),
    "different risk measures after one stage": (
        lambda files: (
            at(STAGES, "policy_graph.transitions.0.probability", 0.5)(files),
            at(
                STAGES,
                "policy_graph.transitions.2",
                {"source_id": 0, "target_id": 2, "probability": 0.5},
            )(files),
            at(STAGES, "stages.2.risk_measure", {"cvar": {"alpha": 0.2, "lambda": 0.5}})(files),
        ),
        "unsupported",
        STAGES,
        "transitions",
        "stages 1 and 2 may follow it, with different risk measures",
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
    "forward pass": (
        at(CONFIG, "training.forward_pass", {"type": "other"}),
        "unsupported",
        CONFIG,
        "training.forward_pass.type",
        "one kind of forward pass",
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
