"""Findings on what inflow models look back to: in the calendar, before the study, and in the files."""

from contextlib import nullcontext

import pytest

from cobre.case import CaseError, load
from tests.case.folders import write
from tests.hydrothermal.test_lags import prepared

INITIAL, STAGES = "initial_conditions.json", "stages.json"
INFLOWS, ANNUAL = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_annual_component.parquet"
COEFFICIENTS = "scenarios/inflow_ar_coefficients.parquet"
WEEKS, QUARTERS, YEAR = "weeks, then months", "months, then quarters", "the mean of the past year"
BEGUN = "a month that has begun, observed"


def found(tmp_path, name, change):
    """All findings on a case after a change, errors and warnings."""
    _, files = prepared(tmp_path / "right", name)
    change(files)
    try:
        return load(write(tmp_path / "wrong", files)).warnings
    except CaseError as error:
        return (*error.findings, *error.warnings)


def stage(number, **changes):
    return lambda files: files[STAGES]["stages"][number].update(changes)


def past(count):
    def change(files):
        for one in files[INITIAL]["past_inflows"]:
            del one["values_m3s"][count:]

    return change


def observed(start, end, plant=0):
    one = {"hydro_id": plant, "start_date": start, "end_date": end, "value_m3s": 1.0}
    return lambda files: files[INITIAL].update(recent_observations=[one])


def without_rows(file, stage_id):
    def change(files):
        keep = [i for i, one in enumerate(files[file]["stage_id"]) if one != stage_id]
        files[file] = {name: [values[i] for i in keep] for name, values in files[file].items()}

    return change


def without_definitions(files):
    del files[STAGES]["season_definitions"]
    del files[STAGES]["pre_study_stages"]


CASES = {
    "season without its days": (WEEKS, stage(1, season_id=6), "no day in its season, from 2024-07-01"),
    "quarter in a month": (
        WEEKS,
        stage(6, end_date="2024-06-01"),
        "31 of its 92 days are neither in its season nor in the next",
    ),
    "two lengths": (
        WEEKS,
        without_definitions,
        "it has 25 days, and stage 4 has 7: lags need seasons of both",
    ),
    "too little past": (WEEKS, past(1), "looks back 2 stages, but 1 past inflows are given"),
    "part of a year": (YEAR, past(2), "takes inflows to be 0 where 10 of 12 are not given"),
    "quarter without moments": (
        QUARTERS,
        without_rows(INFLOWS, -3),
        "lag 2 of stage 5 is of season 12, which has no statistics",
    ),
    "observed after the beginning": (
        BEGUN,
        observed("2024-01-05", "2024-01-13"),
        "not after the study begins",
    ),
    "observed backwards": (BEGUN, observed("2024-01-05", "2024-01-05"), "must end after it begins"),
    "observed twice": (
        BEGUN,
        lambda files: files[INITIAL]["recent_observations"].append(
            {"hydro_id": 0, "start_date": "2024-01-04", "end_date": "2024-01-06", "value_m3s": 1.0}
        ),
        "days that another observation of the plant has",
    ),
    "observed before the season": (BEGUN, observed("2023-12-27", "2024-01-12"), "5 of its days are not in"),
    "observed without seasons": (
        "months",
        lambda files: (without_definitions(files), observed("2023-12-20", "2024-01-01")(files)),
        "has no effect: no season is defined",
    ),
    "observed without lags": (
        BEGUN,
        lambda files: files.pop(COEFFICIENTS),
        "has no effect: the inflow model has no lags",
    ),
    "annual components alone": (YEAR, lambda files: files.pop(COEFFICIENTS), "both are fitted together"),
    "another mean": (
        YEAR,
        lambda files: files[ANNUAL].update(annual_mean_m3s=[90.0] * len(files[ANNUAL]["hydro_id"])),
        "the mean is not used, and is far from",
    ),
    "overlap": (
        WEEKS,
        stage(1, start_date="2024-01-05"),
        "begins on 2024-01-05, before stage 0 ends on 2024-01-08",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_told(name, tmp_path):
    case, change, words = CASES[name]
    told = [one for one in found(tmp_path, case, change) if words in one.message]
    assert told
    assert all(one.suggestion for one in told)


@pytest.mark.parametrize(("first", "words"), [(5, "31 of 91 days are known"), (6, "nothing is known")])
def test_quarters_before_months_that_are_not_known(first, words, tmp_path):
    """Of the first quarter, with two months before a study that begins in May or June."""
    time = [*[(f"2024-{month:02}-01", month - 1) for month in range(first, 7)], ("2024-07-01", 14)]
    months = [(f"2024-{month:02}-01", f"2024-{month + 1:02}-01", month - 1) for month in (5, 4, 3)]
    before = [*months, ("2024-01-01", "2024-04-01", 12), ("2023-04-01", "2023-07-01", 13)]
    with pytest.raises(CaseError) if first == 6 else nullcontext() as raised:
        study, _ = prepared(tmp_path, QUARTERS, time=time, end="2024-10-01", past=2, before=before)
    told = [one.message for one in (raised.value.findings if raised else study.case.warnings)]
    assert any("season 12 from 2024-01-01 to 2024-04-01" in one and words in one for one in told)


@pytest.mark.parametrize("name", [WEEKS, QUARTERS, YEAR, BEGUN])
def test_nothing_is_told_of_what_is_right(name, tmp_path):
    files = {STAGES, INITIAL, INFLOWS, ANNUAL, COEFFICIENTS}
    assert not [one for one in found(tmp_path, name, lambda _files: None) if one.file in files]
