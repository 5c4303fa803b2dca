"""Where trajectories come from: fresh noise, given scenarios and years, one by one and mixed."""

import json
from statistics import NormalDist

import numpy as np
import pytest

from cobre import sddp
from cobre.case import CaseError
from cobre.inputs.config import ScenarioSource
from cobre.sddp import Draw
from cobre.study import Study
from cobre.study._scenarios import noise_of, sampling_of
from tests.case import folders
from tests.case.histories import HISTORY, table
from tests.case.valid_case import valid
from tests.hydrothermal import small_cases

TRAINING, SIMULATION = 0, 1
INFLOWS, COEFFICIENTS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
MEANS, STDS, LOAD = (60.0, 25.0), (9.0, 6.0), (100.0, 8.0)
TOGETHER = -0.7
#: Of the first river, from the second stage on.
PSI, RATIO, PAST = 0.6, 0.8, 45.0


SEEDED = {"selection_mode": "random", "load": {"scheme": "external"}, "ncs": {"scheme": "external"}}


def source(*, mode="sequential", **schemes):
    years = schemes.pop("years", None)
    content = {kind: {"scheme": scheme} for kind, scheme in schemes.items()} | {"selection_mode": mode}
    return ScenarioSource.model_validate_json(
        json.dumps(content | ({"historical_years": years} if years else {}))
    )


def random_case(folder, *changes, stages=3, openings=4):
    """Two correlated rivers, of which one remembers, a random load and a wind farm."""
    rivers = range(2)
    cells = [(river, stage) for river in rivers for stage in range(-1, stages)]

    def change(files):
        for stage in files["stages.json"]["stages"]:
            stage |= {"num_scenarios": openings, "state_variables": {"storage": True, "inflow_lags": True}}
        files[INFLOWS] = {
            "hydro_id": [river for river, _ in cells],
            "stage_id": [stage for _, stage in cells],
            "mean_m3s": [MEANS[river] for river, _ in cells],
            "std_m3s": [STDS[river] for river, _ in cells],
        }
        later = list(range(1, stages))
        files[COEFFICIENTS] = {
            "hydro_id": [0] * len(later),
            "stage_id": later,
            "lag": [1] * len(later),
            "coefficient": [PSI] * len(later),
            "residual_std_ratio": [RATIO] * len(later),
        }
        files["initial_conditions.json"]["past_inflows"] = [{"hydro_id": 0, "values_m3s": [PAST]}]
        files["scenarios/load_seasonal_stats.parquet"]["std_mw"] = [LOAD[1]] * stages
        entities = [{"type": "inflow", "id": river} for river in rivers]
        group = {"name": "rivers", "entities": entities, "matrix": [[1.0, TOGETHER], [TOGETHER, 1.0]]}
        files["scenarios/correlation.json"] = {
            "method": "cholesky",
            "profiles": {"default": {"correlation_groups": [group]}},
        }
        files["system/non_controllable_sources.json"] = {
            "non_controllable_sources": [{"id": 3, "name": "wind", "bus_id": 0, "max_generation_mw": 40.0}]
        }
        files["scenarios/non_controllable_stats.parquet"] = {
            "ncs_id": [3] * stages,
            "stage_id": list(range(stages)),
            "mean": [0.5] * stages,
            "std": [0.1] * stages,
        }
        for extra in changes:
            extra(files)

    plants = [small_cases.hydro(river, 0.0) for river in rivers]
    thermals = [small_cases.thermal(0, 500.0, 50.0)]
    small_cases.small_case(
        folder,
        stages=stages,
        hydros=plants,
        thermals=thermals,
        load={0: LOAD[0]},
        initial={0: 500.0, 1: 300.0},
        change=change,
    )
    return Study.load(folder)


def external(kind, values):
    """A change that adds scenarios: by scenario, stage and entity."""
    file, key, name, ids = {
        "inflow": ("inflow", "hydro_id", "value_m3s", [0, 1]),
        "load": ("load", "bus_id", "value_mw", [0]),
        "ncs": ("ncs", "ncs_id", "value", [3]),
    }[kind]
    places = list(np.ndindex(values.shape))
    return lambda files: files.update(
        {
            f"scenarios/external_{file}_scenarios.parquet": {
                key: [ids[entity] for _, _, entity in places],
                "stage_id": [stage for _, stage, _ in places],
                "scenario_id": [scenario for scenario, _, _ in places],
                name: [float(values[place]) for place in places],
            }
        }
    )


def path_of(study, sampling, count, *, iteration=0, purpose=SIMULATION, seed=5, first=0):
    """Inflows by step, trajectory and river, as the programmes' rows lead to them; loads and winds in MW."""
    stages = len(study.problem.nodes)
    draw = Draw(seed, iteration, first, count, first + count, stages, purpose)
    sample = sampling.sample(study.problem, draw)
    inflows, loads, winds = np.empty((stages, count, 2)), np.empty((stages, count)), np.empty((stages, count))
    before = np.full(count, PAST)
    for stage, node in enumerate(study.problem.nodes):
        rows = sample.tables[stage][sample.rows[stage]]
        names, limits = node.program.row_names, {}
        for column, (target, place) in enumerate(node.noise.places):
            name = names[place] if target == "rhs" else node.program.column_names[place]
            if name == "inflow:0":
                inflows[stage, :, 0] = rows[:, column] + (PSI if stage else 0.0) * before
            elif name == "balance:storage:1":
                inflows[stage, :, 1] = rows[:, column] / small_cases.VOLUME
            elif name == "load:0:0":
                loads[stage] = rows[:, column]
            elif target == "column_upper" and name.startswith("inflow_slack"):
                limits[int(name[-1])] = rows[:, column]
            else:
                assert name == "source:3:0"
                winds[stage] = rows[:, column]
        for river, limit in limits.items():
            np.testing.assert_allclose(limit, np.maximum(0.0, -inflows[stage, :, river]), atol=1e-9)
        before = inflows[stage, :, 0]
    return inflows, loads, winds


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return random_case(tmp_path_factory.mktemp("random"))


def test_fresh_noise_has_the_moments_of_the_model(study):
    """Means, deviations and correlations in closed form, within five standard errors of 40 000 draws."""
    count = 40_000
    everything = source(inflow="out_of_sample", load="out_of_sample", ncs="out_of_sample")
    inflows, loads, winds = path_of(study, sampling_of(study.case, everything), count)
    error = 5 / np.sqrt(count)
    for stage in range(3):
        assert inflows[stage, :, 1].mean() == pytest.approx(MEANS[1], abs=error * STDS[1])
        assert inflows[stage, :, 1].std() == pytest.approx(STDS[1], rel=error)
        assert loads[stage].mean() == pytest.approx(LOAD[0], abs=error * LOAD[1])
        assert loads[stage].std() == pytest.approx(LOAD[1], rel=error)
        assert winds[stage].mean() == pytest.approx(20.0, abs=error * 4)
        assert winds[stage].std() == pytest.approx(4.0, rel=2 * error)
        assert np.corrcoef(winds[stage], loads[stage])[0, 1] == pytest.approx(0, abs=error)
    first, second, third = inflows[:, :, 0]
    assert first.mean() == pytest.approx(MEANS[0], abs=error * STDS[0])
    assert first.std() == pytest.approx(STDS[0], rel=error)
    noise = [first - MEANS[0], second - MEANS[0] - PSI * (first - MEANS[0])]
    assert noise[1].std() == pytest.approx(RATIO * STDS[0], rel=error)
    assert np.corrcoef(*noise)[0, 1] == pytest.approx(0, abs=error)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(PSI, abs=error)
    assert np.corrcoef(second, third)[0, 1] == pytest.approx(PSI, abs=error)
    for stage, own in enumerate(noise):
        other = inflows[stage, :, 1]
        assert np.corrcoef(own, other)[0, 1] == pytest.approx(TOGETHER, abs=error)


def test_a_draw_is_a_function_of_its_number(study):
    """Whoever asks for which part, a trajectory is the same, and is called the same."""
    sampling = sampling_of(study.case, source(inflow="out_of_sample", load="in_sample", ncs="out_of_sample"))
    whole = sampling.sample(study.problem, Draw(5, 2, 0, 10, 10, 3, TRAINING))
    part = sampling.sample(study.problem, Draw(5, 2, 6, 3, 10, 3, TRAINING))
    for stage in range(3):
        rows = whole.tables[stage][whole.rows[stage, 6:9]]
        assert rows.tobytes() == part.tables[stage][part.rows[stage]].tobytes()
    assert (whole.realizations[:, 6:9] == part.realizations).all()
    assert (whole.realizations >= 4).all()  # those below are the openings


@pytest.mark.parametrize("change", ["iteration", "seed", "purpose"])
def test_other_coordinates_are_other_noise(study, change):
    sampling = sampling_of(study.case, source(inflow="out_of_sample"))
    usual = {"iteration": 1, "seed": 5, "purpose": TRAINING}
    other = usual | {change: SIMULATION if change == "purpose" else 6}
    one, two = (path_of(study, sampling, 3, **where)[0] for where in (usual, other))
    assert not np.isclose(one, two).any()


def test_a_seed_of_the_source_counts(study):
    seeded = ScenarioSource.model_validate_json('{"seed": -9, "inflow": {"scheme": "out_of_sample"}}')
    plain = source(inflow="out_of_sample")
    one = path_of(study, sampling_of(study.case, seeded), 3, seed=5)[0]
    assert (one == path_of(study, sampling_of(study.case, plain), 3, seed=9)[0]).all()


def test_what_is_in_sample_is_an_opening(study):
    """Loads of one opening per stage, while inflows are fresh."""
    sampling = sampling_of(study.case, source(inflow="out_of_sample"))
    _, loads, winds = path_of(study, sampling, 50)
    for stage, eta in enumerate(noise_of(study.case)):
        openings = list(zip(LOAD[0] + LOAD[1] * eta[:, 2], 40.0 * (0.5 + 0.1 * eta[:, 3]), strict=True))
        met = set(zip(loads[stage].tolist(), winds[stage].tolist(), strict=True))
        assert len(met) == 4
        assert np.array(sorted(met)) == pytest.approx(np.array(sorted(openings)))


def test_given_scenarios_happen_as_they_are(tmp_path):
    """In the table of a simulation: inflows of a plant that remembers, and all else to the last digit."""
    random = np.random.default_rng(1)
    inflows = random.uniform(20, 90, (5, 3, 2))
    loads = random.uniform(80, 120, (7, 3, 1))
    winds = random.uniform(0, 1, (5, 3, 1))
    study = random_case(
        tmp_path, external("inflow", inflows), external("load", loads), external("ncs", winds)
    )
    sampling = sampling_of(study.case, source(inflow="external", load="external", ncs="external"))
    assert sampling.natural_count == 7
    met = path_of(study, sampling, 12)
    turns = np.arange(12)
    assert met[0] == pytest.approx(inflows[turns % 5].transpose(1, 0, 2), rel=1e-12)
    assert met[1].tolist() == loads[turns % 7, :, 0].T.tolist()
    assert met[2] == pytest.approx(40.0 * winds[turns % 5, :, 0].T, rel=1e-15)
    policy = study.train().policy
    done = sddp.simulate(study.problem, policy, 10, sampling=sampling, columns=["inflow:0"])
    simulated = done.table["inflow:0"].to_numpy().reshape(10, 3)
    assert simulated == pytest.approx(inflows[np.arange(10) % 5, :, 0], rel=1e-9)


def test_given_scenarios_are_drawn_with_replacement(tmp_path):
    """One draw for all classes, uniform, with its own seed; it depends on nothing but the trajectory."""
    loads, winds = np.arange(80.0, 104.0).reshape(8, 3, 1), np.arange(24.0).reshape(8, 3, 1) / 24
    study = random_case(tmp_path, external("load", loads), external("ncs", winds))
    sampling = sampling_of(study.case, source(mode="random", load="external", ncs="external"))
    assert sampling.natural_count is None
    _, met, blown = path_of(study, sampling, 4000)
    number = np.round((met[0] - 80) / 3).astype(int)
    assert met.tolist() == loads[number, :, 0].T.tolist()
    assert blown == pytest.approx(40.0 * winds[number, :, 0].T)
    assert np.bincount(number) == pytest.approx(np.full(8, 500), abs=100)  # five standard deviations
    assert path_of(study, sampling, 3, first=5)[1].tolist() == met[:, 5:8].tolist()
    again = path_of(study, sampling, 4000, iteration=1, purpose=TRAINING)[1]
    assert 300 < np.sum(again[0] == met[0]) < 700  # an eighth
    other = ScenarioSource.model_validate({**SEEDED, "seed": 99})
    assert path_of(study, sampling_of(study.case, other), 8)[1].tolist() != met[:, :8].tolist()


def test_trajectories_of_training_go_on_where_the_last_iteration_stopped(tmp_path):
    loads = 80.0 + np.arange(15.0).reshape(5, 3, 1)
    study = random_case(tmp_path, external("load", loads))
    sampling = sampling_of(study.case, source(load="external"))
    met = path_of(study, sampling, 3, iteration=2, purpose=TRAINING)[1]
    assert met.tolist() == loads[[3, 4, 0], :, 0].T.tolist()


def test_given_values_beyond_what_can_be(tmp_path):
    """No load is negative, and no wind is more than there is."""
    loads, winds = np.full((1, 3, 1), -5.0), np.full((1, 3, 1), 1.5)
    study = random_case(tmp_path, external("load", loads), external("ncs", winds))
    _, loads, winds = path_of(study, sampling_of(study.case, source(load="external", ncs="external")), 2)
    assert set(loads.ravel()) == {0.0}
    assert set(winds.ravel()) == {40.0}


def observed(years=4):
    return np.random.default_rng(2).uniform(20, 90, (12 * years, 2))


@pytest.mark.parametrize(
    ("years", "used"),
    [
        (None, [2020, 2021, 2022, 2023]),
        ([2023, 2021], [2021, 2023]),
        ({"from": 2022, "to": 2030}, [2022, 2023]),
    ],
)
def test_years_of_the_history_happen_again(tmp_path, years, used):
    history = observed()
    study = random_case(tmp_path, lambda files: files.update({HISTORY: table(history)}))
    sampling = sampling_of(study.case, source(inflow="historical", years=years))
    assert sampling.natural_count == len(used)
    inflows, _, _ = path_of(study, sampling, 5)
    for trajectory in range(5):
        first = 12 * (used[trajectory % len(used)] - 2020)
        assert inflows[:, trajectory] == pytest.approx(history[first : first + 3], rel=1e-12)


def test_a_year_with_a_gap_is_left_out(tmp_path):
    rows = table(observed())
    keep = [i for i, day in enumerate(rows["date"]) if (day.year, day.month) != (2021, 2)]
    rows = {name: [values[i] for i in keep] for name, values in rows.items()}
    study = random_case(tmp_path, lambda files: files.update({HISTORY: rows}))
    assert list(study.case.scenarios.windows) == [2020, 2022, 2023]


def test_a_case_is_trained_and_simulated_as_it_says(tmp_path):
    """The settings of the folder reach the engine; the simulation has its own, or those of the training."""
    loads = 80.0 + np.arange(15.0).reshape(5, 3, 1)

    def settings(files):
        given = {"load": {"scheme": "external"}, "selection_mode": "sequential"}
        files["config.json"]["training"]["scenario_source"] = given
        files["config.json"]["simulation"] = {"enabled": True, "num_scenarios": 5}

    study = random_case(tmp_path, external("load", loads), settings)
    policy = study.train().policy
    seen = []
    study.simulate_streaming(policy, seen.extend)
    place = study.problem.nodes[0].noise.places.index(
        ("rhs", study.problem.nodes[0].program.row_names.index("load:0:0"))
    )
    assert sorted(seen[0].noise[:, place].tolist()) == sorted(loads[:, 0, 0].tolist())
    assert policy.method["sampling"]["schemes"]["load"] == "external"


def test_the_same_bits_on_any_number_of_workers(tmp_path):
    def settings(files):
        files["config.json"]["training"] |= {
            "forward_passes": 4,
            "scenario_source": {"inflow": {"scheme": "out_of_sample"}},
            "stopping_rules": [{"type": "iteration_limit", "limit": 4}],
        }

    study = random_case(tmp_path, settings)
    sampling = study.settings["sampling"]
    results = []
    for workers in (1, 2):
        done = study.train(sddp.ExecutionOptions(num_workers=workers))
        simulated = sddp.simulate(study.problem, done.policy, 7, sampling=sampling, num_workers=workers)
        results.append((done.bound, simulated.totals.tolist(), simulated.table.to_pylist()))
    assert results[0] == results[1]


def test_truncation_follows_the_trajectory(tmp_path):
    """With a spread that makes half of the inflows negative, none is, and none that need not is changed."""

    def settings(files):
        files["config.json"]["modeling"] = {"inflow_non_negativity": {"method": "truncation"}}
        files[INFLOWS]["std_m3s"] = [5.0 * std for std in files[INFLOWS]["std_m3s"]]
        files.pop(COEFFICIENTS)

    study = random_case(tmp_path, settings)
    plain = source(inflow="out_of_sample")
    inflows = np.empty((3, 200))
    draw = Draw(5, 0, 0, 200, 200, 3, SIMULATION)
    sample = sampling_of(study.case, plain).sample(study.problem, draw)
    for stage, node in enumerate(study.problem.nodes):
        column = node.noise.places.index(("rhs", node.program.row_names.index("balance:storage:1")))
        inflows[stage] = sample.tables[stage][sample.rows[stage], column] / small_cases.VOLUME
    assert inflows.min() == 0
    assert 0.1 < np.mean(inflows == 0) < 0.4
    assert np.mean(inflows > MEANS[1]) == pytest.approx(0.5, abs=0.1)


def test_a_sampling_of_another_problem_is_refused(study):
    sampling = sampling_of(study.case, source(inflow="out_of_sample"))
    other = sddp.MultistageProblem.linear(study.problem.nodes[:2], study.problem.initial_state)
    assert "not made of that case" in sampling.findings(other)[0]
    assert sampling.findings(study.problem) == []


def test_sources_that_never_vary_take_no_column(tmp_path):
    """Noise given for them is left out, and that of the next one is not taken for it."""
    files = valid()
    stages = [0, 1, 2]
    files["scenarios/non_controllable_stats.parquet"] = {
        "ncs_id": [0] * 3 + [4] * 3,
        "stage_id": stages * 2,
        "mean": [0.5] * 6,
        "std": [0.0] * 3 + [0.1] * 3,
    }
    files["config.json"]["modeling"] = {"inflow_non_negativity": {"method": "penalty"}}
    files.pop("scenarios/noise_openings.parquet", None)
    files.pop("scenarios/correlation.json", None)
    kept = Study.load(folders.write(tmp_path / "kept", files))
    kinds = [(one.type, one.id) for one in kept.case.scenarios.entities]
    assert kinds[-2:] == [("ncs", 0), ("ncs", 4)]
    noise = noise_of(kept.case)
    places = [(s, o, e) for s in stages for o in range(2) for e in range(len(kinds))]
    files["scenarios/noise_openings.parquet"] = {
        "stage_id": [s for s, _, _ in places],
        "opening_index": [o for _, o, _ in places],
        "entity_index": [e for _, _, e in places],
        "value": [100.0 * s + 10.0 * o + e for s, o, e in places],
    }
    given = Study.load(folders.write(tmp_path / "given", files))
    noise = noise_of(given.case)
    last = len(kinds) - 1
    assert noise[1].tolist() == [[100.0 + 10 * o + e for e in (*range(last - 1), last)] for o in range(2)]


@pytest.mark.parametrize("method", ["lhs", "qmc_halton", "qmc_sobol"])
def test_openings_are_drawn_as_the_stage_says(tmp_path, method):
    """Loads, which are in no group, have an opening in each of sixteen equally likely layers."""

    def settings(files):
        files["stages.json"]["stages"][1]["sampling_method"] = method

    usual = noise_of(random_case(tmp_path / "usual", openings=16).case)
    noise = noise_of(random_case(tmp_path / "other", settings, openings=16).case)
    assert (noise[0] == usual[0]).all()
    assert not np.isclose(noise[1], usual[1]).any()
    if method != "qmc_halton":  # whose layers are those of powers of 5
        layers = np.floor(16 * np.vectorize(NormalDist().cdf)(noise[1][:, 2]))
        assert sorted(layers) == list(range(16))


def residual_case(folder, *changes, openings=3, years=6):
    history = observed(years)

    def settings(files):
        files[HISTORY] = table(history)
        for stage in files["stages.json"]["stages"]:
            stage["sampling_method"] = "historical_residuals"

    return history, random_case(folder, settings, *changes, openings=openings)


def test_openings_of_the_history(tmp_path):
    """The noise that turns each year's inflows before a stage into those in it, of different years."""
    history, study = residual_case(tmp_path)
    years = history.reshape(6, 12, 2)
    possible = years[1:]  # of the first year, the month before is not known
    lagged = possible[:, 1, 0] - MEANS[0] - PSI * (possible[:, 0, 0] - MEANS[0])
    wanted = np.column_stack([lagged / (RATIO * STDS[0]), (possible[:, 1, 1] - MEANS[1]) / STDS[1]])
    noise = noise_of(study.case)[1]
    assert len(noise) == 3
    found = [int(np.argmin(np.abs(wanted - row).sum(axis=1))) for row in noise[:, :2]]
    assert noise[:, :2] == pytest.approx(wanted[found], rel=1e-9)
    assert len(set(found)) == 3
    loads = noise_of(random_case(tmp_path / "usual", openings=3).case)[1]
    assert (noise[:, 2:] == loads[:, 2:]).all()
    assert np.isfinite(study.train().bound)


def test_there_are_no_more_openings_than_years(tmp_path):
    def years(files):
        files["config.json"]["training"]["scenario_source"] = {"historical_years": [2019, 2020]}

    _, study = residual_case(tmp_path, years, openings=4)
    assert [len(node.noise) for node in study.problem.nodes] == [2, 2, 2]
    assert any("there are 2 years" in warning.message for warning in study.case.warnings)


@pytest.mark.parametrize("years", [[2018], {"from": 1990, "to": 1999}])
def test_years_that_cannot_be_used_are_told(tmp_path, years):
    def chosen(files):
        files["config.json"]["training"]["scenario_source"] = {"historical_years": years}

    with pytest.raises(CaseError, match="in no year that may be used"):
        residual_case(tmp_path, chosen)
