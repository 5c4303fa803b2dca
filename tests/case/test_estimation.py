"""Inflow models that are fitted to a history."""

import copy
import json
from datetime import date

import numpy as np
import pytest

from cobre import case
from cobre.case import CaseError
from cobre.elements.hydro.data import Hydro
from cobre.inputs.stages import Stages
from cobre.stochastic import estimate
from tests.case import folders
from tests.case.histories import (
    COEFFICIENTS,
    HISTORY,
    INFLOWS,
    MEANS,
    PSI,
    SCALE,
    TOGETHER,
    simulated,
    to_fit,
)
from tests.case.valid_case import valid

CORRELATION = "scenarios/correlation.json"


def load(folder, files):
    return case.load(folders.write(folder, files))


def findings(folder, files):
    with pytest.raises(CaseError) as raised:
        load(folder, files)
    return [(one.kind, one.file, one.entity, one.message) for one in raised.value.findings]


def test_a_model_is_recovered_from_what_it_made(tmp_path):
    """Errors are a few times ``1 / √years``."""
    years = 600
    loaded = load(tmp_path, to_fit(years))
    z = simulated(years)[1]
    spread = np.array([z[month::12].std(axis=0) for month in range(12)])
    for river, plant in enumerate(loaded.system.of(Hydro)):
        for stage in range(3):
            psi = PSI[river][stage % 2]
            past = [spread[stage - lag, river] / spread[stage, river] for lag in range(1, len(psi) + 1)]
            means = [MEANS[stage - lag, river] for lag in range(1, len(psi) + 1)]
            stds = 0.25 * np.array([MEANS[stage, river], *means])
            in_m3s = [c * stds[0] / s for c, s in zip(psi, stds[1:], strict=True)]
            found = plant.inflow.coefficients[stage]
            assert found[: len(psi)] == pytest.approx(in_m3s, abs=0.1 * max(past))
            assert np.all(np.abs(found[len(psi) :]) < 0.15)  # one season in twenty seems to have more lags
            assert plant.inflow.scale_m3s[stage] == pytest.approx(SCALE * stds[0], rel=0.05)
            mean = plant.inflow.base_m3s[stage] + np.dot(
                found, [MEANS[stage - lag, river] for lag in range(1, len(found) + 1)]
            )
            assert mean == pytest.approx(MEANS[stage, river], rel=0.05)
    for groups in loaded.scenarios.correlation.by_stage.values():
        assert groups[0].matrix == pytest.approx(np.array([[1, TOGETHER], [TOGETHER, 1]]), abs=0.05)
        assert [(one.type, one.id) for one in groups[0].entities] == [("inflow", 0), ("inflow", 1)]


def test_the_fit_is_that_of_the_original(tmp_path):
    """Numbers that cobre-python 0.5.1 wrote for these 60 years of history."""
    loaded = load(tmp_path, to_fit(60))
    first, second = (plant.inflow for plant in loaded.system.of(Hydro))
    std = np.array([31.528393961962646, 33.392949128123995, 26.299197167106296])
    ratio = [0.773800593101779, 0.7351763591944656, 0.7395343432859461]
    assert first.scale_m3s == pytest.approx(std * ratio, rel=1e-9)
    assert first.coefficients[1][0] == pytest.approx(0.37066154133343693 * std[1] / std[0], rel=1e-9)
    psi = 0.4450013981209455 * 15.683702744711724 / 16.650298093089464
    assert second.coefficients[2] == pytest.approx([psi], rel=1e-9)
    assert second.base_m3s[2] == pytest.approx(79.9744968003734 - psi * 71.94377180906208, rel=1e-9)
    together = loaded.scenarios.correlation.by_stage[2][0].matrix
    assert together[0, 1] == together[1, 0] == pytest.approx(0.6412518121967158, rel=1e-9)
    river = [(row // 12, row % 12, value) for row, value in enumerate(simulated(60)[0][:, 0].tolist())]
    january = [0.42634880310818846, 0.049192422639221085, -0.09414648211910928, 0.4406024589213198]
    assert estimate(river, 12)[0].coefficients == pytest.approx([*january, -0.27233944316525355], rel=1e-9)


def test_given_statistics_count_and_only_coefficients_are_fitted(tmp_path):
    fitted = load(tmp_path / "fitted", to_fit())
    stages = range(-5, 3)
    rows = [{"hydro_id": hydro, "stage_id": stage} for hydro in range(2) for stage in stages]
    files = to_fit()
    files[INFLOWS] = {name: [row[name] for row in rows] for name in ("hydro_id", "stage_id")}
    files[INFLOWS] |= {"mean_m3s": [1000.0] * len(rows), "std_m3s": [10.0] * len(rows)}
    given = load(tmp_path / "given", files)
    psi = given.system.of(Hydro)[0].inflow.coefficients[2]
    ratio = given.system.of(Hydro)[0].inflow.scale_m3s[2] / 10.0
    own = fitted.system.of(Hydro)[0].inflow
    history = simulated(60)[0]
    february, march = history[1::12, 0].std(), history[2::12, 0].std()
    assert psi * march / february == pytest.approx(own.coefficients[2], rel=1e-9)
    assert ratio == pytest.approx(own.scale_m3s[2] / march, rel=1e-9)
    assert given.system.of(Hydro)[0].inflow.base_m3s[2] == pytest.approx(1000 * (1 - psi.sum()))


def test_given_coefficients_count_and_only_statistics_are_fitted(tmp_path):
    files = to_fit() | {COEFFICIENTS: valid()[COEFFICIENTS]}
    loaded = load(tmp_path, files)
    table = valid()[COEFFICIENTS]
    row = table["stage_id"].index(1)
    hydro, psi, ratio = (table[name][row] for name in ("hydro_id", "coefficient", "residual_std_ratio"))
    history = simulated(60)[0][:, hydro]
    january, february = history[0::12], history[1::12]
    model = loaded.system.of(Hydro)[hydro].inflow
    assert model.coefficients[1][0] == pytest.approx(psi * february.std() / january.std())
    assert model.scale_m3s[1] == pytest.approx(ratio * february.std())
    residual = (february - february.mean()) / february.std() - psi * (
        january - january.mean()
    ) / january.std()
    assert set(table["hydro_id"]) == {hydro}  # the other river has no lags: its residuals are its inflows
    wanted = np.corrcoef(residual, simulated(60)[0][1::12, 1 - hydro])[0, 1]
    assert loaded.scenarios.correlation.by_stage[1][0].matrix[0, 1] == pytest.approx(wanted)


def test_a_given_correlation_counts(tmp_path):
    files = to_fit() | {CORRELATION: valid()[CORRELATION]}
    loaded = load(tmp_path, files)
    groups = valid()[CORRELATION]["profiles"]["default"]["correlation_groups"]
    assert loaded.scenarios.correlation.by_stage[0][0].matrix.tolist() == groups[0]["matrix"]


def test_lags_begin_with_the_end_of_the_history(tmp_path):
    files = to_fit()
    values = simulated(60)[0]
    loaded = load(tmp_path / "as observed", files)
    for river, plant in enumerate(loaded.system.of(Hydro)):
        order = max(map(len, plant.inflow.coefficients))
        assert order > 0
        assert plant.inflow.past_m3s == tuple(values[::-1][:order, river])
    given = copy.deepcopy(files)
    given["initial_conditions.json"]["past_inflows"] = [{"hydro_id": 0, "values_m3s": [1.0] * 6}]
    inflow = load(tmp_path / "as given", given).system.of(Hydro)[0].inflow
    assert inflow.initial_m3s.tolist() == [1.0] * inflow.order


def test_a_history_that_ends_too_early_leaves_the_lags_unknown(tmp_path):
    files = to_fit()
    files[HISTORY] = {name: list(values) for name, values in files[HISTORY].items()}
    files[HISTORY]["date"] = [day.replace(year=day.year - 1) for day in files[HISTORY]["date"]]
    found = findings(tmp_path, files)
    assert [(kind, entity) for kind, _, entity, _ in found] == [
        ("meaning", "hydro 0"),
        ("meaning", "hydro 1"),
    ]
    assert "0 past inflows are given" in found[0][3]


def test_observations_of_one_season_are_one(tmp_path):
    """Of two in a month, the mean: both have the days of their month as weight."""
    files = to_fit()
    history = files[HISTORY]
    twice = {
        "hydro_id": history["hydro_id"] * 2,
        "date": [*history["date"], *(day.replace(day=15) for day in history["date"])],
        "value_m3s": [
            *(value + 7.0 for value in history["value_m3s"]),
            *(v - 7.0 for v in history["value_m3s"]),
        ],
    }
    merged = load(tmp_path / "merged", files | {HISTORY: twice})
    single = load(tmp_path / "single", files)
    for one, other in zip(merged.system.of(Hydro), single.system.of(Hydro), strict=True):
        assert one.inflow.scale_m3s == pytest.approx(other.inflow.scale_m3s, rel=1e-9)
    assert any("share a season" in warning.message for warning in merged.warnings)


def test_gaps_are_left_out_and_told(tmp_path):
    files = to_fit()
    kept = [row for row, day in enumerate(files[HISTORY]["date"]) if day.year != 1990]
    files[HISTORY] = {name: [values[row] for row in kept] for name, values in files[HISTORY].items()}
    loaded = load(tmp_path, files)
    assert sum("12 seasons" in warning.message for warning in loaded.warnings) == 2
    values = simulated(60)[0]
    rows = np.arange(len(values)) // 12 + 1964 != 1990
    assert loaded.system.of(Hydro)[0].inflow.scale_m3s[0] < values[rows][::12, 0].std() * 1.0000001


def test_all_that_is_wrong_with_a_history_is_told(tmp_path):
    files = to_fit(40)
    keep = [
        row
        for row, (hydro, day) in enumerate(
            zip(*(files[HISTORY][n] for n in ("hydro_id", "date")), strict=True)
        )
        if hydro == 0 and not (day.month == 5 and day.year > 1984)
    ]
    files[HISTORY] = {name: [values[row] for row in keep] for name, values in files[HISTORY].items()}
    files["config.json"]["estimation"] = {"order_selection": "pacf_annual"}
    found = findings(tmp_path, files)
    assert any("each season must be observed once after 12 others" in message for *_, message in found)
    assert ("dimension", HISTORY, "hydro 1", "there are no observations to fit its inflow model to") in found
    assert any("season 4" in message for *_, message in found)


def test_days_outside_all_seasons(tmp_path):
    files = to_fit()
    seasons = [{"id": month, "label": str(month), "month_start": month + 1} for month in range(11)]
    files["stages.json"]["season_definitions"] = {"cycle_type": "monthly", "seasons": seasons}
    found = findings(tmp_path, files)
    assert found[0][0] == "meaning"
    assert "1964-12-01, 1965-12-01, 1966-12-01 and 57 other days" in found[0][3]


@pytest.mark.parametrize(
    ("day", "place"),
    [(date(2020, 12, 1), (2020, 3)), (date(2021, 2, 28), (2020, 3)), (date(2021, 3, 1), (2021, 0))],
)
def test_a_season_may_cross_new_year(day, place):
    stages = valid()["stages.json"]
    ends = [(3, 6), (6, 9), (9, 12), (12, 3)]
    seasons = [
        {"id": i, "label": str(i), "month_start": a, "day_start": 1, "month_end": b, "day_end": 1}
        for i, (a, b) in enumerate(ends)
    ]
    stages["season_definitions"] = {"cycle_type": "custom", "seasons": seasons}
    parsed = Stages.model_validate_json(json.dumps(stages))
    assert parsed.cycle == (0, 1, 2, 3)
    assert parsed.season_of(day) == place


def test_few_observations_and_strong_coefficients(tmp_path):
    files = to_fit(20)
    files["config.json"]["estimation"] = {
        "max_coefficient_magnitude": 1e-3,
        "min_observations_per_season": 21,
    }
    loaded = load(tmp_path, files)
    assert all(len(lags) == 0 for plant in loaded.system.of(Hydro) for lags in plant.inflow.coefficients)
    assert sum("fewer than 21 observations" in warning.message for warning in loaded.warnings) == 2
