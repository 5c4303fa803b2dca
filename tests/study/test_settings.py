"""Settings of a case as the engine takes them."""

import typing
from dataclasses import fields

import pytest

from cobre import sddp
from cobre.inputs.config import CutSelection, StoppingRule, Training
from cobre.inputs.stages import RiskAverse
from cobre.sddp.risk import from_spec
from cobre.sddp.stopping import RULES, stopped_by
from cobre.study._settings import selection_of, stop_of

RULES_OF_CASES = typing.get_args(typing.get_args(StoppingRule)[0])
GIVEN = {
    "iteration_limit": ({"limit": 7}, sddp.IterationLimit(7)),
    "time_limit": ({"seconds": 60.5}, sddp.TimeLimit(60.5)),
    "bound_stalling": ({"iterations": 4, "tolerance": 0.25}, sddp.BoundStalling(4, 0.25)),
    "simulation": (
        {"replications": 3, "period": 5, "bound_window": 7, "distance_tol": 0.5, "bound_tol": 0.125},
        sddp.SimulationStopping(3, 5, 7, 0.5, 0.125),
    ),
}


def training(*rules, mode="any"):
    limit = {"type": "iteration_limit", "limit": 9}
    given = {"forward_passes": 1, "stopping_mode": mode, "stopping_rules": [limit, *rules]}
    return Training.model_validate(given)


@pytest.mark.parametrize("name", GIVEN)
def test_a_rule_of_a_case_is_the_rule_of_that_name_with_its_numbers(name):
    numbers, expected = GIVEN[name]
    assert stop_of(training({"type": name, **numbers})) == sddp.AnyOf((sddp.IterationLimit(9), expected))
    assert stop_of(training({"type": name, **numbers}, mode="all")).rules[1] == expected
    assert expected.name == name


@pytest.mark.parametrize("model", RULES_OF_CASES, ids=lambda model: model.__name__)
def test_an_input_model_has_the_name_and_the_fields_of_its_rule(model):
    (name,) = typing.get_args(model.model_fields["type"].annotation)
    assert name in GIVEN
    assert [field.name for field in fields(RULES[name])] == [
        key for key in model.model_fields if key != "type"
    ]


def test_every_rule_says_how_it_ends_a_training():
    said = {name: stopped_by(name) for name in RULES}
    assert len(set(said.values())) == len(RULES)
    assert said["time_limit"] == "the time limit"
    assert all(words != name for name, words in said.items())
    assert [name for name, rule in RULES.items() if rule.converged] == ["bound_stalling", "simulation"]


@pytest.mark.parametrize(
    ("share", "weight", "expected"),
    [
        (0.2, 0.5, sddp.EAVaR(0.5, 0.2)),
        (0.1, 0.75, sddp.EAVaR(0.25, 0.1)),
        (0.2, 0.0, sddp.Expectation()),
        (1.0, 0.5, sddp.Expectation()),
        (0.1, 1.0, sddp.EAVaR(0.0, 0.1)),
    ],
)
def test_a_risk_measure_of_a_case_mixes_expectation_and_cvar(share, weight, expected):
    given = RiskAverse.model_validate({"cvar": {"alpha": share, "lambda": weight}})
    assert from_spec(given.spec()) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, sddp.Level1(5, activity_tolerance=1e-6)),
        (
            {"method": "level1", "threshold": 3, "check_frequency": 2},
            sddp.Level1(2, 3, activity_tolerance=1e-6),
        ),
        ({"cut_activity_tolerance": 0, "max_active_per_stage": 9}, sddp.Level1(5, most=9)),
        # Cuts whose last iteration is 4 back stay with a window of 4: five iterations with the present one.
        ({"method": "lml1", "memory_window": 4}, sddp.LimitedMemoryLevel1(5, 5, activity_tolerance=1e-6)),
        ({"method": "lml1", "threshold": 4}, sddp.LimitedMemoryLevel1(5, 5, activity_tolerance=1e-6)),
        ({"method": "lml1"}, sddp.LimitedMemoryLevel1(5, 20, activity_tolerance=1e-6)),
        ({"method": "domination", "threshold": 1}, sddp.Domination(5, 1, activity_tolerance=1e-6)),
        (
            {"method": "domination", "domination_epsilon": 0.1, "threshold": 1},
            sddp.Domination(5, 0.1, activity_tolerance=1e-6),
        ),
    ],
)
def test_cut_selection_of_a_case_is_that_of_the_engine(given, expected):
    assert selection_of(CutSelection.model_validate({"enabled": True, **given})) == expected
    assert selection_of(CutSelection.model_validate(given)) is None
