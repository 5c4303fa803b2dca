"""Inflow models that look back by seasons, against the scenario tree with inflows found day by day."""

import itertools
from datetime import date

import numpy as np
import pytest

from cobre.case import noise_of
from cobre.elements.hydro.data import Hydro
from cobre.hydrothermal import SimulationTables
from cobre.sddp import train
from cobre.stochastic import estimate
from cobre.study import Study
from tests.case.folders import write
from tests.hydrothermal.extensive import optimal_value
from tests.hydrothermal.rivers import rivers
from tests.hydrothermal.seasonal_cases import BOTH, MONTHS, SCENARIOS, seasonal_case

#: Weeks from the first of a month: the fifth has days of the next.
WEEKS = [("2024-01-01", 0), ("2024-01-08", 0), ("2024-01-15", 0), ("2024-01-22", 0), ("2024-01-29", 0)]
DECEMBER = ("2023-12-01", "2024-01-01", 11)
NOVEMBER = ("2023-11-01", "2023-12-01", 10)
YEAR = [(f"2023-{month:02}-01", f"2023-{month + 1:02}-01", month - 1) for month in range(11, 0, -1)]
CASES = {
    "months": {"time": [("2024-01-01", 0), ("2024-02-01", 1), ("2024-03-01", 2), ("2024-04-01", None)]},
    "weeks, then months": {
        "time": [*WEEKS, ("2024-02-05", 1), ("2024-03-01", 2), ("2024-04-01", None)],
    },
    "weeks that begin before their month": {
        "time": [
            ("2023-12-28", 0),
            ("2024-01-11", 0),
            ("2024-01-25", 0),
            ("2024-02-05", 1),
            ("2024-03-01", None),
        ],
    },
    "a month that has begun, observed": {
        "time": [("2024-01-12", 0), ("2024-01-22", 0), ("2024-02-01", 1), ("2024-03-01", None)],
        "observed": [("2024-01-01", "2024-01-05"), ("2024-01-05", "2024-01-12")],
    },
    "a month that has begun, partly observed": {
        "time": [("2024-01-12", 0), ("2024-02-01", 1), ("2024-03-01", 2), ("2024-04-01", None)],
        "observed": [("2023-12-27", "2024-01-06")],
    },
    "months, then quarters": {
        "definitions": BOTH,
        "time": [(f"2024-{m:02}-01", m - 1) for m in (2, 3, 4, 5, 6)]
        + [("2024-07-01", 14), ("2024-10-01", 15)],
        "end": "2025-01-01",
        "before": [
            ("2024-01-01", "2024-02-01", 0),
            DECEMBER,
            ("2024-01-01", "2024-04-01", 12),
            ("2023-04-01", "2023-07-01", 13),
        ],
        "past": 5,
    },
    "quarters, then months": {
        "definitions": BOTH,
        "time": [("2024-01-01", 12), ("2024-04-01", 13), ("2024-07-01", 6), ("2024-08-01", 7)],
        "end": "2024-09-01",
        "before": [
            ("2023-10-01", "2024-01-01", 15),
            ("2023-07-01", "2023-10-01", 14),
            ("2023-05-01", "2023-06-01", 4),
            ("2023-06-01", "2023-07-01", 5),
        ],
    },
    "the mean of the past year": {
        "time": [("2024-01-01", 0), ("2024-02-01", 1), ("2024-03-01", 2), ("2024-04-01", None)],
        "annual": True,
        "past": 12,
        "before": [DECEMBER, *YEAR],
    },
    "the mean of the past year, in weeks": {
        "time": [("2024-01-11", 0), ("2024-01-20", 0), ("2024-02-03", 1), ("2024-03-01", None)],
        "annual": True,
        "past": 12,
        "before": [DECEMBER, *YEAR],
        "observed": [("2024-01-01", "2024-01-11")],
    },
}


def prepared(folder, name, **more):
    case = {"definitions": MONTHS, "before": [DECEMBER, NOVEMBER], **CASES[name], **more}
    time = [*case.pop("time"), *([(end, None)] if (end := case.pop("end", None)) else [])]
    folder, files = seasonal_case(folder, time, case.pop("definitions"), **case)
    return Study.load(folder), files


def value(study, files):
    case = study.case
    return optimal_value(case.system, case.scenarios.entities, case.scenarios.openings, rivers=rivers(files))


def simulated(study, policy):
    """Inflows, what was added to them, and lags: by scenario, stage and plant, and by lag."""
    visits = []
    study.simulate_streaming(policy, visits.extend)
    tables = SimulationTables(study.case.system, study.problem).tables(visits)
    lags = {
        (row["scenario_id"], row["hydro_id"], row["stage_id"], row["lag_index"]): row["inflow_m3s"]
        for row in (tables["inflow_lags"].to_pylist() if "inflow_lags" in tables else ())
    }
    columns = ("incremental_inflow_m3s", "inflow_nonnegativity_slack_m3s")
    shape = (SCENARIOS, len(study.case.system.stages), -1)
    return *(np.array(tables["hydros"][name]).reshape(shape) for name in columns), lags


@pytest.mark.parametrize("name", CASES)
def test_a_case_has_the_value_of_its_tree_and_the_lags_of_its_days(name, tmp_path):
    """Truncation never acts there, and the bounds of what lags add show it: nothing is reported."""
    study, files = prepared(tmp_path, name)
    assert not [one for one in study.case.warnings if "inflows with lags" in one.message]
    trained = train(study.problem, 60, trajectories=4)
    assert trained.bound == pytest.approx(value(study, files), rel=1e-7)
    inflows, _, lags = simulated(study, trained.policy)
    for scenario, plant in itertools.product(range(SCENARIOS), (0, 1)):
        river, own = rivers(files)[plant], inflows[scenario, :, plant].tolist()
        for t, stage in enumerate(study.case.system.stages):
            noise = study.case.scenarios.openings[stage.id][:, plant]
            assert min(abs(own[t] - river.inflow(t, own[:t], eta)) for eta in noise) < 1e-7
            for lag, wanted in enumerate(river.lags(t, own[:t])[: (1, 2)[plant]], 1):
                assert lags[scenario, plant, t, lag] == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("method", ["penalty", "truncation", "truncation_with_penalty"])
@pytest.mark.parametrize("name", ["weeks, then months", "months, then quarters"])
def test_trajectories_of_other_noise_remember_their_seasons(name, method, tmp_path):
    """What lacks to 0 is added and no more, and means of seasons have it where the method says so."""
    study, files = prepared(
        tmp_path, name, method=method, spread=1.5, source={"inflow": {"scheme": "out_of_sample"}}
    )
    inflows, added, lags = simulated(study, train(study.problem, 3).policy)
    assert (inflows < -0.1).any() or method == "truncation"
    assert (added <= np.maximum(-inflows, 0.0) + 1e-7).all()
    kept = inflows if method == "penalty" else np.maximum(inflows, 0.0)
    for scenario, plant in itertools.product(range(SCENARIOS), (0, 1)):
        own = kept[scenario, :, plant].tolist()
        for t in range(len(own)):
            for lag, wanted in enumerate(rivers(files)[plant].lags(t, own[:t])[: (1, 2)[plant]], 1):
                assert lags[scenario, plant, t, lag] == pytest.approx(wanted, abs=1e-7)


def test_stages_of_a_season_and_year_share_what_is_drawn(tmp_path):
    """Openings, and fresh noise of trajectories; stages without a season have their own."""

    def drawn(name, change=lambda _stages: None, **settings):
        _, files = prepared(tmp_path / name, "weeks, then months")
        for file in ("noise_openings", "inflow_ar_coefficients"):
            del files[f"scenarios/{file}.parquet"]
        change(files["stages.json"]["stages"])
        files["config.json"]["simulation"] |= settings
        return Study.load(write(tmp_path / f"{name}, drawn", files))

    study = drawn("own", scenario_source={"inflow": {"scheme": "out_of_sample"}})
    noise = noise_of(study.case)
    assert all(np.array_equal(noise[0], one) for one in noise[:5])
    assert not any(np.array_equal(one, other) for one, other in itertools.combinations(noise[4:], 2))
    inflows, _, _ = simulated(study, train(study.problem, 1).policy)
    fresh = np.array(
        [
            [(z - m.base_m3s) / m.scale_m3s for z, m in zip(one.T, models(study), strict=True)]
            for one in inflows
        ]
    )
    np.testing.assert_allclose(fresh[:, :, :5], fresh[:, :, [0] * 5])
    assert not np.isclose(fresh[:, :, 4], fresh[:, :, 5]).any()
    alone = noise_of(drawn("none", lambda stages: [stage.pop("season_id") for stage in stages]).case)
    assert not any(np.array_equal(one, other) for one, other in itertools.combinations(alone, 2))


def models(study):
    return [plant.inflow for plant in study.case.system.of(Hydro)]


def test_a_model_that_is_fitted_with_the_past_year_is_one_that_is_given(tmp_path):
    """The same bits as with its numbers in files."""
    _, files = prepared(tmp_path / "any", "the mean of the past year", definitions=MONTHS)
    for name in ("seasonal_stats", "ar_coefficients", "annual_component"):
        del files[f"scenarios/inflow_{name}.parquet"]
    values = np.random.default_rng(2).gamma(9.0, 2.0, (2, 25 * 12))
    values[:, 1:] += 0.7 * values[:, :-1]
    days = [date(1999 + t // 12, t % 12 + 1, 1) for t in range(values.shape[1])]
    files["scenarios/inflow_history.parquet"] = {
        "hydro_id": [plant for plant in (0, 1) for _ in days],
        "date": [*days, *days],
        "value_m3s": values.ravel().tolist(),
    }
    files["config.json"]["estimation"] = {"order_selection": "pacf_annual", "max_order": 3}
    fitted = Study.load(write(tmp_path / "fitted", files))
    rows = [
        (plant, stage["id"], stage["season_id"])
        for plant in (0, 1)
        for stage in [*files["stages.json"]["stages"], *files["stages.json"]["pre_study_stages"]]
    ]
    found = [
        estimate(
            [(day.year, day.month - 1, value) for day, value in zip(days, own.tolist(), strict=True)],
            12,
            max_order=3,
            annual=True,
        )
        for own in values
    ]
    given = [(plant, stage, found[plant][season]) for plant, stage, season in rows]
    lags = [
        (p, s, lag, psi, one.ratio)
        for p, s, one in given
        for lag, psi in enumerate(one.coefficients.tolist(), 1)
    ]
    assert lags
    del files["scenarios/inflow_history.parquet"], files["config.json"]["estimation"]
    files |= {
        f"scenarios/inflow_{name}.parquet": dict(
            zip(["hydro_id", "stage_id", *columns], map(list, zip(*own, strict=True)), strict=True)
        )
        for name, columns, own in (
            (
                "seasonal_stats",
                ["mean_m3s", "std_m3s"],
                [(p, s, one.mean_m3s, one.std_m3s) for p, s, one in given],
            ),
            ("ar_coefficients", ["lag", "coefficient", "residual_std_ratio"], lags),
            (
                "annual_component",
                ["annual_coefficient", "annual_std_m3s", "annual_mean_m3s"],
                [(p, s, *one.annual) for p, s, one in given],
            ),
        )
    }
    same = Study.load(write(tmp_path / "given", files))
    for one, other in zip(models(fitted), models(same), strict=True):
        assert one.base_m3s.tolist() == other.base_m3s.tolist()
        assert one.scale_m3s.tolist() == other.scale_m3s.tolist()
        assert [psi.tolist() for psi in one.coefficients] == [psi.tolist() for psi in other.coefficients]
    assert train(fitted.problem, 60).bound == pytest.approx(value(same, files), rel=1e-7)
