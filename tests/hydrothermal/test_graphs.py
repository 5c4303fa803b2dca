"""Cyclic studies and other policy graphs from case folders.

The value of a study without an end lies between that of its first T stages and the same plus a bound on all
that follows, which falls geometrically: d^T times the most that a stage can cost, over 1 - d. The former is
the whole scenario tree as one linear programme.
"""

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import cobre
from cobre import results, sddp
from cobre.elements.battery.data import Battery
from cobre.errors import CaseError
from cobre.study import Study
from cobre.system import PolicyGraph
from tests.case.folders import write
from tests.hydrothermal.extensive import optimal_value
from tests.hydrothermal.random_cases import cases
from tests.hydrothermal.small_cases import HOURS, battery, hydro, small_case, thermal

#: Of the cycles: a stage of a month is worth a fifth or a tenth of the one before, so that trees are small.
FIFTH, TENTH = (share ** (-365.25 / 31) - 1 for share in (0.2, 0.1))
#: The most that an hour of a stage costs: 100 MW that are not served.
WORST_PER_H = 5000.0 * 100.0


#: Random cases that never end: set to some hundreds for a long search.
COUNT = int(os.environ.get("COBRE_TEST_RANDOM_CASES", "30")) // 10


def edge(source, target, probability=1.0, **more):
    return {"source_id": source, "target_id": target, "probability": probability, **more}


def graph(*transitions, kind="cyclic", rate=FIFTH, **more):
    """A change of the policy graph."""

    def change(files):
        files["stages.json"]["policy_graph"] = {
            "type": kind,
            "annual_discount_rate": rate,
            "transitions": list(transitions),
            **more,
        }

    return change


def days(*lengths):
    """A change of the dates: stages of so many days, one after the other."""

    def change(files):
        start = np.datetime64("2024-01-01")
        for stage, length in zip(files["stages.json"]["stages"], lengths, strict=True):
            stage |= {"start_date": str(start), "end_date": str(start + length)}
            start += length

    return change


def inflow_openings(*noise, std=20.0):
    """A change: per stage the noise of its openings of inflows."""

    def change(files):
        table = files["scenarios/inflow_seasonal_stats.parquet"]
        table["std_m3s"] = [std for _ in table["std_m3s"]]
        rows = [(t, i, eta) for t, numbers in enumerate(noise) for i, eta in enumerate(numbers)]
        for stage, numbers in zip(files["stages.json"]["stages"], noise, strict=True):
            stage["num_scenarios"] = len(numbers)
        files["scenarios/noise_openings.parquet"] = {
            "stage_id": [t for t, _, _ in rows],
            "opening_index": [i for _, i, _ in rows],
            "entity_index": [0 for _ in rows],
            "value": [eta for _, _, eta in rows],
        }

    return change


def lagged(psi, past, stages):
    """A change: inflows that remember the one before, scaled so that the coefficient is that of the flow."""

    def change(files):
        files["stages.json"]["stages"] = [
            stage | {"state_variables": {"storage": True, "inflow_lags": True}, "season_id": 0}
            for stage in files["stages.json"]["stages"]
        ]
        files["scenarios/inflow_ar_coefficients.parquet"] = {
            "hydro_id": [0] * stages,
            "stage_id": list(range(stages)),
            "lag": [1] * stages,
            "coefficient": [psi] * stages,
            "residual_std_ratio": [0.8] * stages,
        }
        files["initial_conditions.json"]["past_inflows"] = [{"hydro_id": 0, "values_m3s": [past]}]

    return change


PLANTS = {
    "thermals": lambda: [thermal(0, 30.0, 10.0), thermal(1, 50.0, 80.0)],
    "hydros": lambda: [hydro(0, 40.0, most_hm3=150.0)],
}


def study_of(folder, *changes, stages=2, iterations=40, scenarios=4, initial=None, **more):
    """A reservoir and two thermal plants, with 100 MW to serve."""

    def change(files):
        rule = {"type": "iteration_limit", "limit": iterations}
        files["config.json"]["training"] |= {"stopping_rules": [rule], "forward_passes": 2}
        files["config.json"]["simulation"] = {"enabled": True, "num_scenarios": scenarios}
        for one in changes:
            one(files)

    plants = {name: make() for name, make in PLANTS.items()} | more
    initial = {0: 60.0} if initial is None else initial
    return Study.load(small_case(folder, stages=stages, initial=initial, change=change, **plants))


def loaded(files):
    with tempfile.TemporaryDirectory() as folder:
        return Study.load(write(Path(folder), files))


def tree_value(study, steps=99):
    system, scenarios = study.case.system, study.case.scenarios
    none = {stage.id: np.zeros((stage.openings, len(scenarios.entities))) for stage in system.stages}
    return optimal_value(system, scenarios.entities, scenarios.openings or none, steps=steps)


def remainder(study, steps):
    """A bound on the cost of all that follows so many stages: that of serving nothing."""
    system, weight, each = study.case.system, 1.0, []
    stage = 0
    for _ in range(steps + 2000):
        each.append(weight * WORST_PER_H * HOURS)
        weight *= system.stages[stage].discount
        ((stage, _),) = system.graph.following[stage].items()
    assert weight < 1e-12
    return sum(each[steps:])


def assert_value_is_that_of_the_tree(study, steps, relative=1e-6):
    """Between that of the first stages, and that and the remainder, which is small."""
    trained, least = study.train(), tree_value(study, steps)
    rest = remainder(study, steps)
    assert rest < relative * least
    assert least * (1 - 1e-8) <= trained.bound <= least + rest + 1e-8 * least
    return trained


# Cycles.

TWO = ((-1.0, 0.5), (0.2, 1.0))


def test_a_cycle_of_two_stages(tmp_path):
    """Nine stages of two openings each are 2 ^ 9 ends of a tree."""
    study = study_of(tmp_path, graph(edge(1, 0), rate=TENTH), inflow_openings(*TWO))
    assert study.case.warnings  # stage 1 ends in March, and is followed by January
    assert_value_is_that_of_the_tree(study, 9)


def test_a_stage_that_follows_itself(tmp_path):
    study = study_of(tmp_path, graph(edge(0, 0), rate=TENTH), inflow_openings((-1.5, 0.0, 1.5)), stages=1)
    assert_value_is_that_of_the_tree(study, 7, relative=1e-4)


def test_a_way_in_before_the_cycle(tmp_path):
    """Stages 0 and 1 come once; 2 and 3 follow one another for ever."""
    noise = ((0.0,), (-1.0, 1.0), *TWO)
    study = study_of(tmp_path, graph(edge(3, 2), rate=TENTH), inflow_openings(*noise), stages=4)
    trained = assert_value_is_that_of_the_tree(study, 9)
    assert [len(trained.policy.cuts(node).intercepts) > 0 for node in "0123"] == [True] * 4


def test_discounts_of_transitions_replace_that_of_the_graph(tmp_path):
    """Of stages of 10 and 20 days: nothing between them, a tenth on the way back."""
    rate = 0.1 ** (-365.25 / 20) - 1
    ways = edge(0, 1), edge(1, 0, annual_discount_rate_override=rate)
    noise = inflow_openings((0.0,), (-1.0, 1.0))
    study = study_of(tmp_path, graph(*ways, rate=0.0), days(10, 20), noise)
    assert [node.discount for node in study.problem.nodes] == pytest.approx([1.0, 0.1])
    assert_value_is_that_of_the_tree(study, 16, relative=1e-5)


def test_the_measure_of_risk_of_each_stage_acts_in_each_cycle(tmp_path):
    def risk(files):
        stages = files["stages.json"]["stages"]
        stages[0]["risk_measure"] = {"cvar": {"alpha": 0.3, "lambda": 0.6}}
        stages[1]["risk_measure"] = {"cvar": {"alpha": 0.5, "lambda": 0.2}}

    study = study_of(tmp_path, graph(edge(1, 0), rate=TENTH), inflow_openings(*TWO), risk)
    neutral = study_of(tmp_path / "neutral", graph(edge(1, 0), rate=TENTH), inflow_openings(*TWO))
    assert assert_value_is_that_of_the_tree(study, 9).bound > neutral.train().bound * 1.01


def test_inflows_with_lags_remember_the_cycle_before(tmp_path):
    study = study_of(
        tmp_path,
        graph(edge(1, 0), rate=TENTH),
        inflow_openings(*TWO, std=10.0),
        lagged(0.6, 55.0, 2),
        iterations=60,
    )
    assert study.problem.states == ("storage:0", "inflow:0:1")
    bounds = study.case.system.of(type(study.case.hydros[0]))[0].inflow.bounds
    # By hand: a = 40 + 0.6 (a' - 40) + 8 eta, so of the cycle's openings the least and the most for ever.
    low, high = np.array([-1.0, 0.2]) * 8.0, np.array([0.5, 1.0]) * 8.0
    for ends, found in ((low, bounds.low_m3s), (high, bounds.high_m3s)):
        last = 40 + (ends[1] + 0.6 * ends[0]) / (1 - 0.36)
        first = 40 + (ends[0] + 0.6 * ends[1]) / (1 - 0.36)
        past = [min(last, 55.0) if ends is low else max(last, 55.0), first]
        if ends is high:
            past[1] = 40 + ends[0] + 0.6 * (past[0] - 40)
        assert found == pytest.approx(0.6 * np.array(past), rel=1e-7)
    assert_value_is_that_of_the_tree(study, 10)


def test_a_year_of_known_months_as_one_programme_of_eight_years(tmp_path):
    """Twelve stages without noise; a year is worth a twenty-first of the one before."""
    months = 12

    def seasons(files):
        table = files["scenarios/inflow_seasonal_stats.parquet"]
        table["mean_m3s"] = [40.0 + 25.0 * np.sin(t) for t in range(months)]

    study = study_of(tmp_path, graph(edge(11, 0), rate=20.0), seasons, stages=months, iterations=60)
    assert not study.case.warnings
    assert_value_is_that_of_the_tree(study, 8 * months)


def test_without_water_the_value_is_a_geometric_series(tmp_path):
    """30 MW at 10, 50 at 80, and 20 that are not served, at 1000."""
    ways = graph(edge(0, 1), edge(1, 0), rate=5.0)
    study = study_of(tmp_path, ways, initial={}, hydros=[], iterations=40)
    first, second = (stage.discount for stage in study.case.system.stages)
    each = HOURS * (30 * 10 + 50 * 80 + 20 * 1000)
    assert study.train().bound == pytest.approx(each * (1 + first) / (1 - first * second), rel=1e-6)


def test_a_battery_with_less_capacity_at_the_beginning_of_the_cycle(tmp_path):
    """Energy that does not fit is lost, also on the way back."""

    def change(files):
        files["system/batteries.json"] = {"batteries": [battery(0, 4000.0, initial_energy_mwh=500.0)]}
        files["constraints/battery_bounds.parquet"] = {
            "battery_id": [0],
            "stage_id": [0],
            "energy_mwh": [1000.0],
            "charge_mw": [None],
            "discharge_mw": [None],
        }
        files["scenarios/load_seasonal_stats.parquet"]["mean_mw"] = [100.0, 60.0]

    study = study_of(tmp_path, graph(edge(1, 0), rate=TENTH), change)
    (found,), here = study.case.system.of(Battery), study.case.system.graph
    assert [found.capacity_drop(stage, here) for stage in (0, 1)] == [3000.0, 0.0]
    away = replace(found, in_service=(True, False))  # with what it leaves with it comes back
    assert away.capacity_drop(0, here) == 3000.0
    assert found.capacity_drop(0, PolicyGraph.chain(2)) == 0.0
    assert_value_is_that_of_the_tree(study, 12)


def test_generation_is_committed_for_the_next_cycle(tmp_path):
    """A stage ahead, also from the last stage to the first; less may be committed for that."""

    def change(files):
        for plant in files["system/thermals.json"]["thermals"]:
            if plant["id"] == 0:
                plant["gnl_config"] = {"lag_stages": 1}
        entry = {"thermal_id": 0, "stage_offset": 1, "committed_mw": 10.0}
        files["initial_conditions.json"]["gnl_pipeline"] = [entry]
        limit = {"min_generation_mw": [None], "max_generation_mw": [12.0]}
        files["constraints/thermal_bounds.parquet"] = {"thermal_id": [0], "stage_id": [0], **limit}

    study = study_of(tmp_path, graph(edge(1, 0), rate=TENTH), change, inflow_openings(*TWO), iterations=60)
    assert "committed:0:1" in study.problem.states
    assert_value_is_that_of_the_tree(study, 9)


# Other graphs.


def test_stages_that_may_be_left_out(tmp_path):
    """After stage 0 comes stage 1 or, a third as often, stage 2."""
    ways = edge(0, 1, 0.75), edge(0, 2, 0.25), edge(1, 2), edge(2, 3)
    noise = ((0.0, 0.5), *TWO, (-1.0, 1.0))
    study = study_of(
        tmp_path, graph(*ways, kind="finite_horizon", rate=0.1), inflow_openings(*noise), stages=4
    )
    assert study.train().bound == pytest.approx(tree_value(study), rel=1e-9)


def test_markov_states_are_stages_with_the_same_dates(tmp_path):
    """Stages 1 and 2 are February, wet and dry; 3 and 4 are March."""
    wet, dry = (0.0, 2.0), (-2.0, -1.0)

    def layers(files):
        months = ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]
        for stage, month in zip(files["stages.json"]["stages"], (0, 1, 1, 2, 2), strict=True):
            stage |= {"start_date": months[month], "end_date": months[month + 1]}

    ways = [
        edge(0, 1, 0.6),
        edge(0, 2, 0.4),
        edge(1, 3, 0.8),
        edge(1, 4, 0.2),
        edge(2, 3, 0.3),
        edge(2, 4, 0.7),
    ]
    change = graph(*ways, kind="finite_horizon", rate=0.1)
    study = study_of(
        tmp_path, change, layers, inflow_openings((0.0,), wet, dry, wet, dry), stages=5, scenarios=20
    )
    assert study.case.warnings == ()
    assert study.train().bound == pytest.approx(tree_value(study), rel=1e-9)
    done = cobre.run(study.case, output=tmp_path / "results")
    costs = results.read(tmp_path / "results").simulation("costs")
    met = set(zip(costs["stage_id"].to_pylist(), costs["policy_stage_id"].to_pylist(), strict=True))
    assert {stage for _, stage in met} == set(range(5))
    assert {step for step, _ in met} == {0, 1, 2}
    lines = (tmp_path / "results" / "training" / "dictionaries" / "stages.csv").read_text().splitlines()
    assert [line.split(",")[-1] for line in lines[1:]] == ["0", "", ""]
    assert list(cobre.report.rows(tmp_path / "results", "value", stage=0)["volume"])
    assert cobre.report.compare(tmp_path / "results", tmp_path / "results").same
    assert done.simulation.scenarios == 20


def test_a_cycle_that_may_be_left(tmp_path):
    """From stage 1 back to stage 0, or as often to stage 2 and its end; a tree of eleven steps."""
    ways = edge(0, 1), edge(1, 0, 0.5), edge(1, 2, 0.5)
    study = study_of(tmp_path, graph(*ways, rate=TENTH), inflow_openings(*TWO, (0.0,)), stages=3)
    value = tree_value(study, 9)
    assert value <= study.train().bound <= value + 1e-6 * value


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(("plain",)), st.data())
def test_random_cases_that_never_end(files, data):
    """The last stage is followed by any other; a stage is worth a hundredth of the one before."""
    ids = sorted(stage["id"] for stage in files["stages.json"]["stages"])
    back = data.draw(st.sampled_from(ids))
    files["stages.json"]["policy_graph"] = {
        "type": "cyclic",
        "annual_discount_rate": 0.01 ** (-365.25 / 30) - 1,
        "transitions": [edge(ids[-1], back)],
    }
    study = loaded(files)
    nearly, value = (tree_value(study, steps) for steps in (4, 5))
    rest = abs(value - nearly) * 0.05 + 1e-7 * abs(value) + 1e-7
    if any("inflows with lags" in finding.message for finding in study.case.warnings):
        assert study.train().bound <= value + rest  # of a relaxation
        return
    trained = sddp.train(study.problem, 60, risk=study.risk, **study.settings)
    assert abs(trained.bound - value) <= rest


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(("plain",)), st.data())
def test_random_cases_that_leave_stages_out(files, data):
    """After each stage comes the next, or a later one; neutral to risk, and without lags."""
    stages = sorted(files["stages.json"]["stages"], key=lambda stage: stage["id"])
    assume(len(stages) > 2 and "scenarios/inflow_ar_coefficients.parquet" not in files)
    for plant in files["system/thermals.json"]["thermals"]:
        plant.pop("gnl_config", None)
    files["initial_conditions.json"].pop("gnl_pipeline", None)
    for stage in stages:
        stage["risk_measure"] = "expectation"
    ids, ways = [stage["id"] for stage in stages], []
    for place, source in enumerate(ids[:-1]):
        later = ids[place + 2 :]
        jump = data.draw(st.sampled_from([0.0, 0.25, 0.6])) if later else 0.0
        ways.append(edge(source, ids[place + 1], 1 - jump))
        ways += [edge(source, data.draw(st.sampled_from(later)), jump)] if jump else []
    files["stages.json"]["policy_graph"]["transitions"] = ways
    study = loaded(files)
    trained = sddp.train(study.problem, 100, risk=study.risk, **study.settings)
    assert trained.bound == pytest.approx(tree_value(study), rel=1e-7, abs=1e-7)


# Trajectories, their costs and tables.


def totals_of(table, scenarios):
    """Present values: the costs of all stages, and the policy's value of what follows the last one."""
    found = np.zeros(scenarios)
    columns = ("scenario_id", "stage_id", "discount_factor", "immediate_cost", "future_cost")
    for which, step, factor, cost, future in zip(*(table[name].to_pylist() for name in columns), strict=True):
        found[which] += factor * (cost + (future if step == max(table["stage_id"].to_pylist()) else 0.0))
    return found


def test_a_trajectory_ends_at_its_horizon_and_what_follows_counts_as_the_policy_sees_it(tmp_path):
    """Without noise the simulated cost is the bound, wherever trajectories are cut off."""
    for horizon in (3, 8):
        folder = tmp_path / str(horizon)
        study = study_of(folder, graph(edge(1, 0), rate=20.0, max_horizon_length=horizon), iterations=60)
        assert study.case.system.graph.horizon == horizon
        done = cobre.run(study.case, output=folder / "results")
        read = results.read(folder / "results")
        costs = read.simulation("costs")
        assert costs["stage_id"].to_pylist() == list(range(horizon)) * 4
        assert costs["policy_stage_id"].to_pylist() == ([0, 1] * 4)[:horizon] * 4
        discounts = [stage.discount for stage in study.case.system.stages]
        expected = np.cumprod([1.0, *(discounts * 4)[: horizon - 1]])
        assert costs["discount_factor"].to_numpy()[:horizon] == pytest.approx(expected, rel=1e-14)
        assert totals_of(costs, 4) == pytest.approx(done.simulation.totals, rel=1e-12)
        assert done.simulation.mean_cost == pytest.approx(done.training.final_lower_bound, rel=1e-6)


def test_the_mean_of_trajectories_is_no_less_than_the_bound(tmp_path):
    """Of few iterations: cut off after four stages, whose costs alone are a third of the bound."""
    study = study_of(
        tmp_path, graph(edge(1, 0), rate=0.06, max_horizon_length=4), inflow_openings(*TWO), iterations=30
    )
    trained = study.train()
    found = study.simulate_streaming(trained.policy, lambda visits: None)
    assert found.mean() >= trained.bound * (1 - 1e-9)


@pytest.mark.parametrize(
    ("settings", "rate", "horizon"),
    [
        ({}, 0.06, 240),
        ({}, 1e6, 13),  # 1e6 ^ (1 / 12) = 3.16 a month, so 1e-6 is reached after 12 or 13 months
        ({"discount_threshold": 0.5}, 0.06, 143),  # 1.06 ^ (-143 / 12) = 0.4994
        ({"discount_threshold": 0.5, "max_horizon_length": 30}, 0.06, 30),
        ({"discount_threshold": 0.99}, 0.06, 12),  # all stages are visited once
    ],
)
def test_the_horizon(tmp_path, settings, rate, horizon):
    change = graph(edge(11, 0), rate=rate, **settings)
    found = study_of(tmp_path, change, stages=12).case.system.graph.horizon
    assert found == pytest.approx(horizon, abs=1)


def test_dates_go_on_from_cycle_to_cycle(tmp_path):
    """Also over a leap day; limits and seasons are those of the stage of the case."""
    study = study_of(tmp_path, graph(edge(11, 0), rate=0.5, max_horizon_length=30), stages=12, iterations=1)
    cobre.run(study.case, output=tmp_path / "results")
    place = tmp_path / "results" / "training" / "dictionaries"
    lines = [line.split(",") for line in (place / "stages.csv").read_text().splitlines()]
    assert lines[0] == ["stage_id", "start_date", "end_date", "season_id", "policy_stage_id"]
    assert [line[1] for line in lines[1:]] == [
        f"{2024 + step // 12}-{step % 12 + 1:02}-01" for step in range(30)
    ]
    assert [line[2] for line in lines[1:-1]] == [line[1] for line in lines[2:]]
    assert [int(line[3]) for line in lines[1:]] == [step % 12 for step in range(30)]
    limits = results.read(tmp_path / "results").table("dictionaries/bounds")
    assert set(limits["stage_id"].to_pylist()) == set(range(30))


def test_a_policy_can_be_simulated_for_longer_than_it_was_trained(tmp_path):
    """In the folder of its training, whose dates then go as far as the simulation."""
    for horizon, trains in ((4, True), (9, False)):

        def change(files, trains=trains):
            files["config.json"]["training"]["enabled"] = trains

        ways = graph(edge(1, 0), rate=0.5, max_horizon_length=horizon)
        cobre.run(
            study_of(tmp_path / str(horizon), ways, change, iterations=2).case, output=tmp_path / "results"
        )
        read = results.read(tmp_path / "results")
        assert max(read.simulation("costs")["stage_id"].to_pylist()) == horizon - 1
        dates = (tmp_path / "results" / "training" / "dictionaries" / "stages.csv").read_text()
        assert len(dates.splitlines()) == 1 + horizon


def test_given_scenarios_follow_one_another_from_cycle_to_cycle(tmp_path):
    """In the second cycle a trajectory has the next scenario."""
    loads = np.arange(6.0).reshape(3, 2) + 90.0  # scenarios by stages

    def change(files):
        files["scenarios/load_seasonal_stats.parquet"]["std_mw"] = [1.0, 1.0]
        files["scenarios/external_load_scenarios.parquet"] = {
            "stage_id": [t for _ in range(3) for t in range(2)],
            "scenario_id": [s for s in range(3) for _ in range(2)],
            "bus_id": [0] * 6,
            "value_mw": loads.ravel().tolist(),
        }
        source = {"load": {"scheme": "external"}, "selection_mode": "sequential"}
        files["config.json"]["training"]["scenario_source"] = source

    ways = graph(edge(1, 0), rate=0.5, max_horizon_length=5)
    study = study_of(tmp_path, ways, change, iterations=1)
    cobre.run(study.case, output=tmp_path / "results")
    table = results.read(tmp_path / "results").simulation("buses")
    met = np.array(table["load_mw"].to_pylist()).reshape(4, 5)
    expected = [[*loads[s % 3], *loads[(s + 1) % 3], loads[(s + 2) % 3][0]] for s in range(4)]
    assert met.tolist() == expected


# Runs.


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A cyclic case with noise and lags, short, and its results in one process."""
    folder = tmp_path_factory.mktemp("endless")
    changes = (
        graph(edge(1, 0), rate=0.5, max_horizon_length=7),
        inflow_openings(*TWO, std=10.0),
        lagged(0.6, 55.0, 2),
    )
    study_of(folder / "case", *changes, iterations=6)
    cobre.run(folder / "case", output=folder / "alone")
    return folder


def same(one, other):
    """The bytes of the policies, and all simulated tables."""
    one, other = results.read(one), results.read(other)
    assert one.policy_path.read_bytes() == other.policy_path.read_bytes()
    assert one.tables == other.tables
    return all(one.simulation(name).equals(other.simulation(name)) for name in one.tables)


def test_the_same_bits_on_workers_that_go_on_from_a_checkpoint(endless, tmp_path):
    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 3}]}}
    cobre.run(endless / "case", limit, output=tmp_path)
    cobre.run(endless / "case", output=tmp_path, resume=True, num_workers=2, threads=2)
    assert same(endless / "alone", tmp_path)


def test_the_report_shows_all_stages_of_a_trajectory(endless):
    pytest.importorskip("altair")
    for name in ("storage", "value", "components"):
        assert cobre.report.draw(endless / "alone", name).to_dict()
    first, *_ = cobre.report.reading(endless / "alone")
    assert "lower bound" in first
    simulated = cobre.report.summary(endless / "alone").simulation
    assert sum(simulated.components.values()) == pytest.approx(simulated.mean, rel=1e-12)
    assert simulated.components["future_cost"] > 0
    assert cobre.report.compare(endless / "alone", endless / "alone").same


def test_metadata_have_the_graph(endless):
    path = endless / "alone" / "training" / "metadata.json"
    graph = json.loads(path.read_text())["configuration_snapshot"]["policy_graph"]
    assert graph == {"type": "cyclic", "stages_per_trajectory": 7}


# Findings.


def findings(folder, *changes, stages=2, **more):
    """Errors and warnings; a case without errors can be run."""
    try:
        study = study_of(folder, *changes, stages=stages, iterations=2, **more)
    except CaseError as error:
        return [str(one) for one in error.findings]
    study.training()
    return [str(one) for one in study.case.warnings]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([graph(rate=0.1)], "no transition leads back to an earlier stage"),
        ([graph(edge(0, 1), rate=0.1)], "no transition leads back to an earlier stage"),
        (
            [graph(edge(1, 0), kind="finite_horizon", rate=0.1)],
            "stage 0 follows stage 1, so a study with a finite horizon would not end",
        ),
        (
            [graph(edge(1, 0), rate=0.0)],
            "costs count for ever on a cycle without discount, that of stages 0, 1",
        ),
        (
            [graph(edge(1, 0, 0.5), edge(1, 1, 0.5, annual_discount_rate_override=0.5), rate=0.1)],
            "its transitions have different discount rates: 0.1, 0.5",
        ),
        ([graph(edge(0, 0), edge(1, 0), rate=0.1)], "stage 1, policy_graph.transitions: no way leads there"),
        (
            [graph(edge(1, 0), rate=0.1, max_horizon_length=1)],
            "trajectories of 1 stages would never come to all stages: that takes 2",
        ),
        (
            [graph(edge(1, 0), rate=0.1)],
            "it ends on 2024-03-01, and stage 0, which follows, begins on another",
        ),
        (
            [graph(kind="finite_horizon", rate=0.1, discount_threshold=0.5)],
            "policy_graph.discount_threshold: has no effect: only cyclic studies have it",
        ),
        ([graph(edge(1, 0, 0.5), rate=0.1)], "the probabilities of what follows sum to 0.5, not to 1"),
        ([graph(edge(1, 4), rate=0.1)], "there is no stage 4"),
        ([graph(edge(1, 0), rate=0.1, discount_threshold=1.0)], "must be below 1"),
    ],
)
def test_a_graph_that_makes_no_sense_is_a_finding(tmp_path, changes, words):
    found = findings(tmp_path, *changes)
    assert any(words in one for one in found), found


STAGE, RATE = st.integers(0, 3), st.sampled_from([None, 0.0, 0.1])
WAY = st.tuples(STAGE, STAGE, st.sampled_from([0.0, 0.5, 1.0]), RATE)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(WAY, max_size=6),
    st.sampled_from(["cyclic", "finite_horizon"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([None, 1, 3, 7]),
)
def test_whatever_the_graph_all_that_a_training_refuses_is_a_finding(ways, kind, rate, horizon):
    transitions = [
        edge(source, target, p, **({} if override is None else {"annual_discount_rate_override": override}))
        for source, target, p, override in ways
    ]
    more = {} if horizon is None else {"max_horizon_length": horizon}
    with tempfile.TemporaryDirectory() as folder:
        try:
            study = study_of(Path(folder), graph(*transitions, kind=kind, rate=rate, **more), stages=4)
        except CaseError:
            return
        study.training()
        steps = study.case.system.graph.steps
        assert {stage for stages in steps for stage in stages} == {0, 1, 2, 3}


def test_lags_and_stages_that_are_left_out_do_not_go_together(tmp_path):
    ways = graph(edge(0, 1, 0.5), edge(0, 2, 0.5), edge(1, 2), kind="finite_horizon", rate=0.1)
    found = findings(tmp_path, ways, inflow_openings(*TWO, (0.0,)), lagged(0.5, 40.0, 3), stages=3)
    assert any(
        "stage 0, policy_graph.transitions: stage 2 may follow it, and inflow models" in one for one in found
    )


def test_a_cycle_needs_no_value_at_its_end(tmp_path):
    def boundary(files):
        files["config.json"]["policy"] = {"boundary": {"path": "elsewhere.cobre", "source_stage": 1}}

    found = findings(tmp_path, graph(edge(1, 0), rate=0.1), boundary)
    assert any("a study without an end has no value of what is left at its end" in one for one in found)


def test_exports_make_the_least_cost_negative_and_the_value_is_still_bounded(tmp_path):
    """A contract that pays for power, and no discount on one of the ways."""

    def change(files):
        contract = {
            "id": 0,
            "name": "sale",
            "bus_id": 0,
            "type": "export",
            "price_per_mwh": -30.0,
            "limits": {"min_mw": 0.0, "max_mw": 10.0},
        }
        files["system/energy_contracts.json"] = {"contracts": [contract]}

    ways = edge(0, 1, annual_discount_rate_override=0.0), edge(1, 0)
    study = study_of(tmp_path, graph(*ways, rate=FIFTH**2), change, iterations=30)
    assert study.problem.nodes[0].discount == 1.0
    trained = study.train()
    assert isinstance(trained, sddp.TrainedPolicy)
    assert np.all(np.isfinite(trained.bounds))
