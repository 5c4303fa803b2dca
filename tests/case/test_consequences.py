"""A finding stands alone: what follows from it is not reported, and every finding has a remedy."""

import pytest

from tests.case.changes import BUSES, STAGES, at, findings
from tests.case.valid_case import valid


def entries():
    """All entries of lists at the top of documents, as file, list and index."""
    for file, content in valid().items():
        if file.endswith(".json") and isinstance(content, dict):
            for name, value in content.items():
                if isinstance(value, list) and value and isinstance(value[0], dict):
                    yield from ((file, name, index) for index in range(len(value)))


def spoiled(file, name, indices):
    def change(files):
        for index in indices:
            files[file][name][index]["spoilt"] = True

    return change


@pytest.mark.parametrize(("file", "name", "index"), list(entries()), ids=str)
def test_an_entry_that_is_wrong_has_no_consequences(tmp_path, file, name, index):
    found = findings(tmp_path, spoiled(file, name, [index]))
    assert [(one.file, one.field) for one in found] == [(file, f"{name}[{index}].spoilt")]


@pytest.mark.parametrize(("file", "name"), sorted({entry[:2] for entry in entries()}), ids=str)
def test_lists_without_a_right_entry_have_no_consequences(tmp_path, file, name):
    count = len(valid()[file][name])
    found = findings(tmp_path, spoiled(file, name, range(count)))
    assert [(one.file, one.field) for one in found] == [
        (file, f"{name}[{index}].spoilt") for index in range(count)
    ]


def documents():
    return [file for file in valid() if file.endswith(".json")]


@pytest.mark.parametrize("file", documents())
def test_a_document_that_cannot_be_read_has_no_consequences(tmp_path, file):
    def change(files):
        files[file] = "{"

    assert [(one.file, one.kind) for one in findings(tmp_path, change)] == [(file, "syntax")]


@pytest.mark.parametrize("file", [file for file in valid() if file.endswith(".parquet")])
def test_a_table_that_cannot_be_read_has_no_consequences(tmp_path, file):
    def change(files):
        first, *others = files[file]
        files[file] = {f"{first}_": files[file][first], **{name: files[file][name] for name in others}}

    assert {one.file for one in findings(tmp_path, change)} == {file}


def test_an_id_that_is_wrong_leaves_references_to_it_alone(tmp_path):
    found = findings(tmp_path, at(BUSES, "buses.0.id", 0.5))
    assert [(one.file, one.field) for one in found] == [(BUSES, "buses[0].id")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("cvar", "must be 'expectation' or an object"),
        ({"cvar": {"alpha": 2, "lambda": 1}}, "must be at most 1"),
        ({"cvar": {"alpha": 0.5}}, "is required"),
    ],
)
def test_of_alternatives_the_one_that_was_meant_is_reported(tmp_path, value, message):
    found = findings(tmp_path, at(STAGES, "stages.0.risk_measure", value))
    assert [one.message for one in found] == [message]
