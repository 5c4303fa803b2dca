"""Every field of every input file changes the results, is refused, or is named in a warning.

The fields are those of the schemas, so a new one takes part by itself: `field_cases` must have a case in
which it is given, and something must come of it there.
"""

import os
import re

import pytest

from cobre.case import _reading
from cobre.errors import CaseError
from cobre.study import Study
from tests.case import fields, folders
from tests.case.changes import CONFIG, INITIAL, at
from tests.case.field_cases import CASES, models
from tests.case.heard import Trial
from tests.mpi_launch import ROOT

#: Each field in each case, instead of those in which nothing has come of it yet.
THOROUGH = os.environ.get("COBRE_HYPOTHESIS_PROFILE") == "thorough"
#: Fields for readers of a file; they have no effect, and nobody expects one.
WORDS = {
    ("stages.json", "stages.blocks.name"),
    ("stages.json", "season_definitions.seasons.label"),
    ("scenarios/correlation.json", "profiles.*.correlation_groups.name"),
    ("constraints/generic_constraints.json", "constraints.description"),
}
#: What is refused as a whole, by the file and what is put there.
REFUSED = {
    "recent_observations": (
        INITIAL,
        "recent_observations",
        [{"hydro_id": 0, "start_date": "2024-01-01", "end_date": "2024-01-05", "value_m3s": 1.0}],
    ),
    "forward_pass": (CONFIG, "training.forward_pass", {"type": "another"}),
}


def is_for_readers(file, name):
    return name == "$schema" or (file, name) in WORDS


@pytest.fixture(scope="module")
def same_tables_read_once():
    """A third of the time would go into reading tables that no change touches."""
    read, known = _reading.read_table, {}

    def cached(path, spec, report):
        key = spec.name, path.read_bytes()
        if key not in known:
            before = len(report.errors)
            table = read(path, spec, report)
            if len(report.errors) > before:
                return table  # its findings belong to each report
            known[key] = table
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_reading, "read_table", cached)
        yield


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, same_tables_read_once):
    """By field, what has come of it in each case."""
    found = {}
    for name, make in CASES.items():
        files = make()
        trial = Trial(tmp_path_factory.mktemp(name), files)
        for changes in fields.changes(files):
            if not changes or is_for_readers(changes[0].file, changes[0].name):
                continue
            known = found.setdefault((changes[0].file, changes[0].name), {})
            if THOROUGH or not {"changed", "refused"} & set(known.values()):
                known[name] = trial.outcome(changes)
    return found


@pytest.mark.parametrize("section", REFUSED)
def test_what_cannot_be_used_is_refused_by_name(tmp_path, section):
    file, path, value = REFUSED[section]
    files = models()
    at(file, path, value)(files)
    with pytest.raises(CaseError) as raised:
        Study.load(folders.write(tmp_path, files))
    assert [(one.file, section in one.field) for one in raised.value.findings] == [(file, True)]


def test_every_field_is_tried(outcomes):
    refused = {(file, re.sub(r"\.\d+", "", path)) for file, path, _ in REFUSED.values()}
    missing = {
        (file, name)
        for file, name in fields.documented() - outcomes.keys()
        if not is_for_readers(file, name)
        and not any(file == where and name.startswith(f"{section}.") for where, section in refused)
    }
    assert missing == set()


def test_no_field_is_silent(outcomes):
    assert [field for field, known in outcomes.items() if set(known.values()) == {"silent"}] == []


def test_no_setting_is_silent_in_any_case(outcomes):
    silent = [(field, name) for field, known in outcomes.items() for name in known if known[name] == "silent"]
    assert [one for one in silent if one[0][0] == CONFIG] == []


def test_fields_that_only_warn_are_in_the_docs(outcomes):
    page = (ROOT / "docs" / "reference" / "case.md").read_text(encoding="utf-8")
    table = page.partition("## Fields without effect")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \| `([^`]+)`", table, re.MULTILINE))
    assert listed == WORDS | {field for field, known in outcomes.items() if set(known.values()) == {"warned"}}
