"""JSON Schemas: are they schemas, do they describe the examples, are they found by editors."""

import json
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from jsonschema import Draft202012Validator

from cobre import case
from cobre.case import _templates
from cobre.case._layout import DOCUMENTS
from cobre.case._schemas import EDITOR_SETTINGS, schema_name

#: The names in Cobre's book, and that of batteries.
NAMES = """
    batteries buses config correlation energy_contracts exchange_factors generic_constraints hydros
    initial_conditions lines load_factors non_controllable_factors non_controllable_sources penalties
    production_models pumping_stations stages thermals
"""


@pytest.mark.parametrize("name", _templates.DESCRIPTIONS)
def test_the_examples_keep_to_them(name):
    for file, schema in case.schemas().items():
        Draft202012Validator.check_schema(schema)
        path = _templates.FOLDER / name / file
        if path.exists():
            Draft202012Validator(schema).validate(json.loads(path.read_text()))


def test_a_misspelt_field_does_not():
    schema = case.schemas()["config.json"]
    assert not Draft202012Validator(schema).is_valid({"training": {"forward_pases": 3}})


def test_they_are_written_by_the_names_of_the_book(tmp_path):
    written = case.write_schemas(tmp_path / "deep" / "schemas")
    assert {path.name for path in written.values()} == {f"{name}.schema.json" for name in NAMES.split()}
    assert written.keys() == DOCUMENTS.keys()
    for file, path in written.items():
        assert path.name == schema_name(file)
        assert json.loads(path.read_text()) == case.schemas()[file]


def test_vs_code_finds_each(tmp_path):
    written = case.write_schemas(tmp_path / "a b")
    settings = json.loads((tmp_path / "a b" / EDITOR_SETTINGS).read_text())["json.schemas"]
    found = {entry["fileMatch"][0].removeprefix("/**/"): entry["url"] for entry in settings}
    assert {file: url2pathname(urlparse(url).path) for file, url in found.items()} == {
        file: str(path) for file, path in written.items()
    }
