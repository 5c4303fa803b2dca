"""What contradicts the dates of stages is named in a warning, and what agrees with them is not."""

import copy

import pytest

from cobre import case
from tests.case import folders
from tests.case.changes import INITIAL, STAGES, at
from tests.case.valid_case import valid


def monthly(files):
    """A change: the seasons are the months."""
    months = [{"id": month, "label": str(month), "month_start": month + 1} for month in range(12)]
    files[STAGES]["season_definitions"] = {"cycle_type": "monthly", "seasons": months}


def without_lags(files):
    """Models that look back are refused where their seasons contradict dates."""
    del files["scenarios/inflow_ar_coefficients.parquet"]


def warnings(folder, *changes):
    files = copy.deepcopy(valid())
    for change in changes:
        change(files)
    found = case.load(folders.write(folder, files)).warnings
    return [one for one in found if one.file in {STAGES, INITIAL}]


#: Changes, and parts of the finding: its entity, field and message.
CASES = {
    "hours": (
        [at(STAGES, "stages.1.blocks.0.hours", 704.0), at(STAGES, "stages.2.blocks.0.hours", 656.0)],
        ("stage 1", "blocks.hours", "of 2 stages have other hours", "1000 hours in 29 days, which have 696"),
    ),
    "season": (
        [monthly, without_lags, at(STAGES, "stages.1.season_id", 7)],
        ("stage 1", "season_id", "1 stage", "season 7 from 2024-02-01 to 2024-03-01"),
    ),
    "season before the study": (
        [monthly, without_lags, at(STAGES, "pre_study_stages.0.season_id", 3)],
        ("pre-study stage -1", "season_id", "1 stage", "season 3"),
    ),
    "days of months": (
        [monthly, at(STAGES, "season_definitions.seasons.4.day_start", 2)],
        ("season 4", "season_definitions.seasons.day_start", "no effect", "monthly"),
    ),
    "two seasons of a month": (
        [monthly, at(STAGES, "season_definitions.seasons.4.month_start", 9)],
        ("season 8", "season_definitions.seasons.month_start", "season 4 has month 9", "too"),
    ),
    "gap before the study": (
        [at(STAGES, "pre_study_stages.0.end_date", "2023-12-20")],
        ("pre-study stage -1", "end_date", "end_date 2023-12-20", "start_date of stage 0, 2024-01-01"),
    ),
    "seasons of past inflows": (
        [at(INITIAL, "past_inflows.0.season_ids", [10])],
        ("hydro 0", "past_inflows.season_ids", "value 1 is of season 11", "not of season 10"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_contradiction_is_named(tmp_path, name):
    changes, (entity, field, *words) = CASES[name]
    found = [one for one in warnings(tmp_path, *changes) if one.field == field]
    assert [one.entity for one in found] == [entity]
    assert all(word in found[0].message for word in words), found[0].message


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [monthly],
        [at(STAGES, "stages.0.blocks.0.hours", 386.0)],  # 730 hours, as in every month of a mean year
        [at(INITIAL, "past_inflows.0.season_ids", [11])],
    ],
)
def test_what_agrees_is_not(tmp_path, changes):
    assert warnings(tmp_path, *changes) == []


def test_a_stage_that_is_wrong_leaves_no_gap(tmp_path):
    """Its dates are not known: neighbours would seem to be apart."""
    files = copy.deepcopy(valid())
    files[STAGES]["stages"][0]["num_scenarios"] = 0
    with pytest.raises(case.CaseError) as raised:
        case.load(folders.write(tmp_path, files))
    assert [one for one in raised.value.warnings if one.file == STAGES] == []
