"""Cuts of another study as the value of what is left at the end."""

import numpy as np
import pytest

from cobre import sddp
from cobre.errors import CaseError
from cobre.hydrothermal import SimulationTables
from cobre.study import Study
from tests.hydrothermal.small_cases import hydro, small_case, thermal

STAGES, SPLIT = 24, 11  # the second study begins with the last stage of the first


def part(first, last):
    """A change that leaves stages from one to another, both included."""

    def change(files):
        here = files["stages.json"]
        here["stages"] = [stage for stage in here["stages"] if first <= stage["id"] <= last]
        graph = here["policy_graph"]
        graph["annual_discount_rate"] = 0.1
        graph["transitions"] = [
            edge for edge in graph["transitions"] if first <= edge["source_id"] and edge["target_id"] <= last
        ]
        for name in [name for name in files if name.endswith(".parquet")]:
            kept = [row for row, stage in enumerate(files[name]["stage_id"]) if first <= stage <= last]
            files[name] = {column: [values[row] for row in kept] for column, values in files[name].items()}

    return change


def seasons(files):
    """Wet and dry months."""
    numbers = files["scenarios/inflow_seasonal_stats.parquet"]
    numbers["mean_m3s"] = [
        m3s * (1 + np.sin(t / 2)) for t, m3s in zip(numbers["stage_id"], numbers["mean_m3s"], strict=True)
    ]


def study(folder, first, last, volumes, **more):
    plants = [hydro(0, inflow=40.0, most_hm3=150.0, downstream=1), hydro(1, inflow=20.0, most_hm3=80.0)]
    fuels = [thermal(0, 40.0, 10.0), thermal(1, 30.0, 40.0), thermal(2, 60.0, 90.0)]
    case = {"stages": STAGES, "hydros": plants, "thermals": fuels, "load": {0: 140.0}}
    case |= {"initial": dict(enumerate(volumes)), "seasons": seasons, "part": part(first, last)}
    return Study.load(small_case(folder, **case, **more))


def boundary(path, stage):
    """A change of the settings: other cuts at the end."""
    place = {"path": str(path), "source_stage": stage}
    return lambda files: files["config.json"].update(policy={"boundary": place})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The study of all stages: its bound, and its volumes before the stage at which it is split."""
    prepared = study(tmp_path_factory.mktemp("whole"), 0, STAGES - 1, (50.0, 20.0))
    result = sddp.train(prepared.problem, 60, seed=1)
    rows = sddp.simulate(prepared.problem, result.policy, 1).table.to_pylist()
    return result.bound, [rows[SPLIT][f"storage:{i}_in"] for i in (0, 1)]


@pytest.mark.parametrize("cuts", ["single", "multi"])
@pytest.mark.parametrize("name", ["policy.cobre", "policy/policy.cobre", "other.cobre"])
def test_a_study_in_two_parts_has_the_value_of_the_whole(tmp_path, whole, cuts, name):
    value, volumes = whole
    later = study(tmp_path / "later", SPLIT, STAGES - 1, volumes)
    results = tmp_path / "results"
    (results / "policy").mkdir(parents=True)
    sddp.train(later.problem, 60, seed=1, cuts=cuts).policy.save(results / name)
    path = results / name if name == "other.cobre" else results
    sooner = study(tmp_path / "sooner", 0, SPLIT, (50.0, 20.0), cuts=boundary(path, SPLIT))
    assert sddp.train(sooner.problem, 60, seed=1).bound == pytest.approx(value, rel=1e-7)
    alone = study(tmp_path / "alone", 0, SPLIT, (50.0, 20.0))
    assert sddp.train(alone.problem, 20, seed=1).bound < 0.8 * value


def random_inflows(files):
    numbers = files["scenarios/inflow_seasonal_stats.parquet"]
    numbers["std_m3s"] = [8.0 for _ in numbers["std_m3s"]]
    for stage in files["stages.json"]["stages"]:
        stage["num_scenarios"] = 3


@pytest.mark.parametrize("cuts", ["single", "multi"])
def test_what_is_left_costs_what_the_other_policy_says(tmp_path, cuts):
    """Also where the policy is averse to risk, and weighs the cuts of each outcome in several ways."""
    later = study(tmp_path / "later", SPLIT, STAGES - 1, (80.0, 40.0), noise=random_inflows)
    risk = sddp.EAVaR(0.5, 0.4)
    policy = sddp.train(later.problem, 15, seed=1, cuts=cuts, risk=risk, trajectories=2).policy
    policy.save(tmp_path / "policy.cobre")
    more = {"noise": random_inflows, "cuts": boundary("../policy.cobre", SPLIT)}
    sooner = study(tmp_path / "sooner", SPLIT - 2, SPLIT, (50.0, 20.0), **more)
    result = sddp.train(sooner.problem, 5, seed=1)
    visits = []
    sddp.simulate_streaming(sooner.problem, result.policy, visits.extend, 20)
    tables = SimulationTables(sooner.case.system, sooner.problem).tables(visits)
    plants = {
        (row["scenario_id"], row["stage_id"], row["hydro_id"]): row for row in tables["hydros"].to_pylist()
    }
    ends = [row for row in tables["costs"].to_pylist() if row["stage_id"] == 2]
    assert len(ends) == 20
    for row in ends:
        volumes = [plants[row["scenario_id"], 2, plant]["storage_final_hm3"] for plant in (0, 1)]
        value = policy.value(str(SPLIT), {f"storage:{i}": volume for i, volume in enumerate(volumes)}).value
        december = 1.1 ** (-31 / 365.25)
        assert row["future_cost"] == pytest.approx(december * value, rel=1e-7)
        assert row["immediate_cost"] + row["future_cost"] == pytest.approx(row["total_cost"])


def risk_by_stage(files):
    """Another measure in every stage."""
    for stage in files["stages.json"]["stages"]:
        cvar = {"alpha": 0.25 + stage["id"] % 3 / 8, "lambda": 0.2 + stage["id"] % 4 / 5}
        stage["risk_measure"] = {"cvar": cvar}


def test_the_first_stages_of_a_risk_averse_study_have_the_value_of_the_whole(tmp_path):
    """Its cuts contain the measures of the stages that they value; the last stage here has its own."""
    more = {"noise": random_inflows, "risk": risk_by_stage}
    first, split = 19, 21
    whole = study(tmp_path / "whole", first, STAGES - 1, (50.0, 20.0), **more)
    trained = sddp.train(whole.problem, 60, seed=1, risk=whole.risk)
    trained.policy.save(tmp_path / "policy.cobre")
    cuts = boundary("../policy.cobre", split)
    sooner = study(tmp_path / "sooner", first, split, (50.0, 20.0), **more, cuts=cuts)
    bound = sddp.train(sooner.problem, 60, seed=1, risk=sooner.risk).bound
    assert bound == pytest.approx(trained.bound, rel=1e-7)
    assert bound > 1.01 * sddp.train(whole.problem, 60, seed=1).bound


def wrong(folder, path, stage, **more):
    with pytest.raises(CaseError) as raised:
        study(folder / "case", 0, SPLIT, (50.0, 20.0), cuts=boundary(path, stage), **more)
    (finding,) = raised.value.findings
    return finding.kind, finding.field.removeprefix("policy.boundary"), finding.message


def one_plant(files):
    files["system/hydros.json"]["hydros"][0]["downstream_id"] = None
    files["system/hydros.json"]["hydros"].pop()
    files["initial_conditions.json"]["storage"].pop()
    numbers = files["scenarios/inflow_seasonal_stats.parquet"]
    kept = [row for row, plant in enumerate(numbers["hydro_id"]) if plant == 0]
    files["scenarios/inflow_seasonal_stats.parquet"] = {
        name: [values[row] for row in kept] for name, values in numbers.items()
    }


def test_cuts_that_cannot_be_used_are_findings(tmp_path):
    later = study(tmp_path / "later", SPLIT, STAGES - 1, (80.0, 40.0))
    sddp.train(later.problem, 3, seed=1).policy.save(tmp_path / "good.cobre")
    (tmp_path / "original" / "cuts").mkdir(parents=True)
    (tmp_path / "damaged.cobre").write_bytes((tmp_path / "good.cobre").read_bytes()[:-1])
    for path, stage, expected in (
        ("../none", SPLIT, ("missing_file", ".path", "there is no policy")),
        ("../original", SPLIT, ("unsupported", ".path", "FlatBuffers")),
        ("../damaged.cobre", SPLIT, ("unreadable", ".path", "damaged.cobre")),
        ("../good.cobre", 3, ("reference", ".source_stage", "no such stage; it has 11, 12")),
        ("../good.cobre", STAGES - 1, ("reference", ".source_stage", "nothing follows")),
    ):
        kind, field, message = wrong(tmp_path, path, stage)
        assert (kind, field) == expected[:2]
        assert expected[2] in message


def test_states_that_only_one_of_the_studies_has_are_findings(tmp_path):
    for name, others, expected in (
        ("fewer here", {"only": one_plant}, "does not have"),
        ("fewer there", {}, "say nothing"),
    ):
        folder = tmp_path / name
        there = {} if others else {"only": one_plant}
        later = study(folder / "later", SPLIT, STAGES - 1, (80.0, 40.0), **there)
        sddp.train(later.problem, 3, seed=1).policy.save(folder / "policy.cobre")
        kind, field, message = wrong(folder, "../policy.cobre", SPLIT, **others)
        assert (kind, field) == ("dimension", "")
        assert expected in message
