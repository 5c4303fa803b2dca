"""Treatments of negative inflows: on paper, against the scenario tree, and in simulated tables."""

from dataclasses import replace

import numpy as np
import pytest

from cobre import study as public
from cobre.case import noise_of
from cobre.elements.hydro.data import Hydro
from cobre.hydrothermal import SimulationTables, problem_of
from cobre.sddp import simulate, train
from cobre.study import Study
from tests.hydrothermal.extensive import inflow_ranges, known_past, optimal_value
from tests.hydrothermal.small_cases import HOURS, VOLUME, hydro, small_case, thermal

METHODS = ["none", "penalty", "truncation", "truncation_with_penalty"]
LIFTING = METHODS[1:]


def river(folder, method, noise, *, std=20.0, psi=0.0, most_hm3=0.0, stored=0.0, **more):
    """A plant of 1 MW per m³/s: a mean of 20 m³/s, deviations with a memory, and 55 MW of load.

    ``noise`` has the openings of each stage; deficit costs 1 000 for 20 MW, and 5 000 after that.
    """

    def change(files):
        settings = {"method": method, "penalty_cost": more.pop("penalty_cost", 1000.0)}
        files["config.json"]["modeling"] = {"inflow_non_negativity": settings}
        files["config.json"]["training"] |= more.pop("training", {})
        files["config.json"]["simulation"] = {"enabled": True, "num_scenarios": 60}
        stages = range(len(noise))
        for stage, eta in zip(files["stages.json"]["stages"], noise, strict=True):
            stage["num_scenarios"] = len(eta)
        files["scenarios/inflow_seasonal_stats.parquet"] = {
            "hydro_id": [0] * (len(noise) + 1),
            "stage_id": [-1, *stages],
            "mean_m3s": [20.0] * (len(noise) + 1),
            "std_m3s": [std] * (len(noise) + 1),
        }
        places = [(t, k, e) for t, eta in enumerate(noise) for k, e in enumerate(eta)]
        files["scenarios/noise_openings.parquet"] = {
            "stage_id": [t for t, _, _ in places],
            "opening_index": [k for _, k, _ in places],
            "entity_index": [0 for _ in places],
            "value": [float(e) for _, _, e in places],
        }
        if psi:
            files["initial_conditions.json"]["past_inflows"] = [{"hydro_id": 0, "values_m3s": [20.0]}]
            files["scenarios/inflow_ar_coefficients.parquet"] = {
                "hydro_id": [0 for _ in stages],
                "stage_id": list(stages),
                "lag": [1 for _ in stages],
                "coefficient": [psi for _ in stages],
                "residual_std_ratio": [1.0 for _ in stages],
            }
        more.pop("files", lambda _files: None)(files)

    plant = hydro(0, inflow=20.0, most_hm3=most_hm3)
    fuel = [thermal(0, more.pop("fuel"), 10.0)] if "fuel" in more else []
    folder = small_case(
        folder,
        stages=len(noise),
        hydros=[plant],
        thermals=fuel,
        load={0: 55.0},
        initial={0: stored},
        change=change,
    )
    return Study.load(folder)


#: A memory, dry openings and wet ones: how far an inflow is below 0 depends on the one before.
DRY = [[0.0, 0.5], [-1.5, 1.0], [-1.2, 0.8]]


def dry(folder, method, **more):
    return river(folder, method, DRY, psi=0.6, most_hm3=60.0, stored=10.0, fuel=30.0, **more)


def tables(study):
    """Rows of plants and of costs, as the case is to be simulated."""
    visits = []
    study.simulate_streaming(study.train().policy, visits.extend)
    found = SimulationTables(study.case.system, study.problem).tables(visits)
    return found["hydros"].to_pylist(), found["costs"].to_pylist()


@pytest.mark.parametrize("method", METHODS)
def test_a_positive_inflow_gets_no_water(method, tmp_path):
    """A slack would cost 1 000 where deficit costs 5 000."""
    study = river(tmp_path, method, [[0.005]])
    assert study.train().bound == pytest.approx(HOURS * (20 * 1000 + (55 - 20.1 - 20) * 5000))


@pytest.mark.parametrize(("method", "cost"), [("truncation", 0.0), *((one, 1000.0) for one in LIFTING[::2])])
def test_a_negative_inflow_becomes_0(method, cost, tmp_path):
    """One of -10 m³/s, and nothing in the reservoir: 10 m³/s are added, and no more."""
    study = river(tmp_path, method, [[-1.5]])
    assert study.train().bound == pytest.approx(HOURS * (10 * cost + 20 * 1000 + 35 * 5000))
    ((plant,), (costs,)) = (rows[:1] for rows in tables(study))
    added = 0.0 if method == "truncation" else 10.0
    assert plant["inflow_nonnegativity_slack_m3s"] == pytest.approx(added)
    assert plant["incremental_inflow_m3s"] == pytest.approx(-added)
    assert costs["inflow_penalty_cost"] == pytest.approx(HOURS * added * cost)


@pytest.mark.parametrize(
    ("method", "cost"), [("penalty", 45 * 10), ("truncation", 35 * 10), ("truncation_with_penalty", 10350)]
)
def test_whether_all_of_it_is_added(method, cost, tmp_path):
    """20 m³/s are stored: "penalty" takes 10 of them, as fuel is cheaper; what is truncated is charged."""
    study = river(tmp_path, method, [[-1.5]], most_hm3=60.0, stored=20 * VOLUME, fuel=60.0)
    assert study.train().bound == pytest.approx(HOURS * cost)


@pytest.mark.parametrize("method", LIFTING)
def test_inflows_with_a_memory_that_are_never_negative_are_exact(method, tmp_path):
    """Truncation changes nothing then, whatever the sign of the coefficient; and nothing is reported."""
    noise = [[-0.2, 0.3], [-0.4, 0.2], [0.1, 0.5]]
    bounds = [
        river(tmp_path / one, one, noise, psi=-0.5, most_hm3=60.0, fuel=30.0).train().bound
        for one in ("none", method)
    ]
    study = Study.load(tmp_path / method)
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-9)
    assert not [one for one in study.case.warnings if "inflows with lags" in one.message]
    assert bounds[1] == pytest.approx(tree(study), rel=1e-7)


def tree(study, **more):
    case = study.case
    return optimal_value(case.system, case.scenarios.entities, case.scenarios.openings, **more)


@pytest.mark.parametrize("method", LIFTING)
def test_no_cut_is_above_the_value(method, tmp_path):
    """Of the true rule: at random volumes, after inflows between the least and the most that there can be."""
    study = dry(tmp_path, method)
    case, trained, value = study.case, study.train(), tree(study)
    assert 0.5 * value <= trained.bound <= value * (1 + 1e-9)
    random, system = np.random.default_rng(1), case.system
    (plant,) = system.of(Hydro)
    ranges = inflow_ranges(system, case.scenarios.entities, case.scenarios.openings)
    least = -np.inf if method == "penalty" else 0.0
    for stage in (0, 1):
        lags = [max(ranges[stage, k, 0][k], least) for k in (0, 1)]
        for volume, lag in random.uniform([0.0, lags[0]], [60.0, lags[1]], (12, 2)).tolist():
            there = replace(plant, initial_hm3=volume)
            true = optimal_value(
                replace(system, elements={**system.elements, Hydro: (there,)}),
                case.scenarios.entities,
                case.scenarios.openings,
                first=stage + 1,
                past={0: [lag]},
            )
            state = {"storage:0": volume, "inflow:0:1": lag}
            assert trained.policy.value(str(stage), state).value <= true + 1e-6 * abs(true)


def test_a_relaxed_penalty_has_the_value_of_limits_that_are_the_same_in_all_states(tmp_path):
    study = dry(tmp_path, "penalty", training={"forward_passes": 10})
    case = study.case
    ranges = inflow_ranges(case.system, case.scenarios.entities, case.scenarios.openings)
    assert study.train().bound == pytest.approx(
        tree(study, limits={place: max(0.0, -low) for place, (low, _) in ranges.items()}), rel=1e-7
    )


@pytest.mark.parametrize("method", LIFTING)
def test_a_simulation_adds_what_lacks_and_not_more(method, tmp_path):
    """Though cuts allow more, and it would be worth its cost; later inflows remember what the method says."""
    study = dry(tmp_path, method, penalty_cost=1.0)
    plants, costs = tables(study)
    assert any(row["inflow_nonnegativity_slack_m3s"] > 1.0 for row in plants) == (method != "truncation")
    before = {}
    for row in plants:
        scenario, inflow = row["scenario_id"], row["incremental_inflow_m3s"]
        added = row["inflow_nonnegativity_slack_m3s"]
        assert 0 <= added <= max(0.0, -inflow) + 1e-7
        if method != "penalty":
            assert inflow + added >= -1e-7
        model = 20.0 + 0.6 * (before.get(scenario, 20.0) - 20.0)
        own = (inflow - model) / 20.0
        allowed = DRY[row["stage_id"]]
        if method == "truncation":
            allowed = [max(eta, -model / 20.0) for eta in allowed]
        assert min(abs(own - eta) for eta in allowed) < 1e-6
        before[scenario] = inflow if method == "penalty" else inflow + added
    charged = sum(row["inflow_penalty_cost"] for row in costs)
    assert charged == pytest.approx(HOURS * sum(row["inflow_nonnegativity_slack_m3s"] for row in plants))


@pytest.mark.parametrize("method", LIFTING)
@pytest.mark.parametrize("psi", [0.6, -0.6])
def test_trajectories_of_other_noise_always_have_a_solution(method, psi, tmp_path):
    """Far from the openings, with an empty reservoir: bounds are of all that trajectories may have."""
    source = {"scenario_source": {"inflow": {"scheme": "out_of_sample"}}, "forward_passes": 8}
    study = river(tmp_path, method, DRY, psi=psi, std=60.0, training=source)
    plants, _ = tables(study)
    assert min(row["incremental_inflow_m3s"] for row in plants) < -1.0 or method == "truncation"
    for row in plants:
        assert row["inflow_nonnegativity_slack_m3s"] <= max(0.0, -row["incremental_inflow_m3s"]) + 1e-7


@pytest.mark.parametrize("method", LIFTING)
def test_given_inflows_are_lifted_too(method, tmp_path):
    """External ones of -30 and 5 m³/s, in training too: further from 0 than any opening takes them."""
    values = [(t, k, value) for t in range(3) for k, value in enumerate((-30.0, 5.0))]

    def external(files):
        files["config.json"]["training"]["scenario_source"] = {"inflow": {"scheme": "external"}}
        files["scenarios/external_inflow_scenarios.parquet"] = {
            "hydro_id": [0] * 6,
            "stage_id": [t for t, _, _ in values],
            "scenario_id": [k for _, k, _ in values],
            "value_m3s": [value for _, _, value in values],
        }

    plants, _ = tables(river(tmp_path, method, DRY, psi=0.6, files=external))
    sums = {round(row["incremental_inflow_m3s"] + row["inflow_nonnegativity_slack_m3s"], 6) for row in plants}
    assert sums == {0.0, 5.0}


def test_the_inflow_of_an_absent_plant_is_lifted_where_it_arrives(tmp_path):
    """-10 and -4 m³/s arrive at an empty reservoir: 14 are added, and both are charged."""
    plants = [
        hydro(0, inflow=-10.0, downstream=1) | {"entry_stage_id": 1},
        hydro(1, inflow=-4.0, most_hm3=0.0),
    ]
    folder = small_case(
        tmp_path, stages=1, hydros=plants, thermals=[thermal(0, 200.0, 10.0)], initial={1: 0.0}
    )
    study = Study.load(folder)
    assert study.train().bound == pytest.approx(HOURS * (100 * 10 + 14 * 1000))
    (_, row, *_), _ = tables(study)
    assert row["inflow_nonnegativity_slack_m3s"] == pytest.approx(14.0)
    assert row["incremental_inflow_m3s"] == pytest.approx(-14.0)


@pytest.mark.parametrize(("method", "words"), [("penalty", "costs 1000 "), ("truncation", "costs nothing")])
def test_validation_reports_where_cuts_allow_more_water_than_lacks(method, words, tmp_path):
    """At most after 20 + 0.6 · 20 · 0.5 less 30 m³/s, and so on: -1.2 and 0.6 · -16 below the mean."""
    folder = dry(tmp_path, method).case.folder
    (found,) = (one for one in public.validate(folder).warnings if "inflows with lags" in one.message)
    assert found.field == "modeling.inflow_non_negativity.method"
    assert words in found.message
    assert "of 1 hydro plant in 2 stages" in found.message
    assert "hydro 0 in stage 2: down to -22 m³/s" in found.message or method == "truncation"
    assert found.suggestion


@pytest.mark.parametrize("method", LIFTING)
def test_without_bounds_the_problem_is_relaxed_further(method, tmp_path):
    study = dry(tmp_path, method)
    system, (plant,) = study.case.system, study.case.hydros
    plant = replace(plant, inflow=replace(plant.inflow, bounds=None))
    system = replace(system, elements={**system.elements, Hydro: (plant,)})
    bound = train(problem_of(system, noise_of(study.case)), 30).bound
    assert 0 <= bound <= study.train().bound * (1 + 1e-9)


def test_a_penalty_above_what_water_saves_is_not_reported(tmp_path):
    study = dry(tmp_path, "penalty", penalty_cost=5000.0)
    assert not [one for one in study.case.warnings if "inflows with lags" in one.message]


def test_a_policy_simulated_without_the_case_is_feasible(tmp_path):
    """The problem's own realisations have the relaxed limits."""
    study = dry(tmp_path, "truncation_with_penalty")
    result = simulate(study.problem, study.train().policy, 20)
    assert np.isfinite(result.totals).all()
    assert known_past(study.case.system) == {0: [20.0]}
