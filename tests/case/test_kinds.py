"""Whatever a kind of element declares reaches the files, schemas, checks and system of a case."""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cobre import case
from cobre.case import _layout
from cobre.elements import KINDS, elements_of, findings, inputs, labels, part
from cobre.inputs.kind import KindFindings, KindInputs
from cobre.inputs.models import InService
from cobre.inputs.tables import ANY_STAGE, STAGE, TableFile
from tests.case import folders
from tests.case.changes import findings as found_after
from tests.case.tank import MODULES
from tests.case.valid_case import valid

#: The kinds whose elements come and go.
IN_SERVICE = [kind for kind in KINDS if issubclass(inputs(kind).element, InService)]
BOUNDED = [kind for kind in KINDS if inputs(kind).bounds and inputs(kind).bounds.pairs]


def entries(files, kind):
    return files[labels(kind).FILE][inputs(kind).entries]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_declares_its_inputs(kind):
    assert isinstance(inputs(kind), KindInputs)
    assert inputs(kind).file == labels(kind).FILE
    assert findings(kind) is None or isinstance(findings(kind), KindFindings)
    assert part(kind, "findings") is None or findings(kind) is not None


def test_kinds_have_nothing_in_common_that_tells_them_apart():
    for attribute in ("rank", "noun", "element", "entries"):
        values = [getattr(inputs(kind), attribute) for kind in KINDS]
        assert len(set(values)) == len(values), attribute
    names = [file.name for file in _layout.FILES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", KINDS)
def test_all_its_files_are_known_described_and_have_a_schema(kind):
    own = {file.name: file for file in inputs(kind).all_files}
    assert own.keys() <= case.FILE_DESCRIPTIONS.keys()
    for name, file in own.items():
        if isinstance(file, TableFile):
            assert _layout.TABLES[name] is file
            assert {column.of for column in file.columns} <= {*KINDS, "", STAGE, ANY_STAGE}
        elif name.endswith(".json"):
            assert case.schemas()[name]["title"] == name


def test_files_that_belong_to_no_kind_are_few():
    """So a kind that is left out is missed."""
    of_kinds = {file.name for kind in KINDS for file in inputs(kind).all_files}
    assert {file.name for file in _layout.FILES} - of_kinds == {
        "config.json",
        "penalties.json",
        "stages.json",
        "initial_conditions.json",
        "scenarios/correlation.json",
        "scenarios/noise_openings.parquet",
    }


def test_every_element_of_the_files_is_in_the_system(tmp_path):
    files = valid()
    system = case.load(folders.write(tmp_path, files)).system
    for kind in KINDS:
        expected = sorted(element["id"] for element in entries(files, kind))
        assert [element.id for element in elements_of(system, kind)] == expected != []


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_must_not_appear_twice(kind, tmp_path):
    found = found_after(tmp_path, lambda files: entries(files, kind).append(entries(files, kind)[0]))
    assert (labels(kind).FILE, "duplicate") in {(one.file, one.kind) for one in found}


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind in KINDS for field in inputs(kind).references]
)
def test_what_an_element_names_must_exist(kind, field, tmp_path):
    def change(files):
        here = entries(files, kind)[0]
        *objects, last = field.split(".")
        for name in objects:
            here = here.setdefault(name, {"max_flow_m3s": 1.0})
        here[last] = 4711

    (found,) = [one for one in found_after(tmp_path, change) if one.kind == "reference"]
    assert (found.file, found.field, found.value) == (labels(kind).FILE, field, 4711)


@pytest.mark.parametrize("kind", IN_SERVICE)
def test_an_element_must_not_leave_before_it_enters(kind, tmp_path):
    window = {"entry_stage_id": 2, "exit_stage_id": 1}
    found = found_after(tmp_path, lambda files: entries(files, kind)[0].update(window))
    assert (labels(kind).FILE, "exit_stage_id") in {(one.file, one.field) for one in found}


@pytest.mark.parametrize("kind", BOUNDED)
def test_bounds_must_not_cross(kind, tmp_path):
    table, (low, high) = inputs(kind).bounds.table, inputs(kind).bounds.pairs[0]

    def change(files):
        element = entries(files, kind)[0]["id"]
        rows = {table.columns[0].name: [element], "stage_id": [1], low: [9.0], high: [8.0]}
        files[table.name] = rows

    found = [one for one in found_after(tmp_path, change) if one.file == table.name]
    assert [(one.kind, one.field) for one in found] == [("meaning", low)]
    assert "above" in found[0].message
    assert "stage 1" in found[0].message


@pytest.mark.parametrize("kind", [kind for kind in KINDS if inputs(kind).penalties])
def test_penalties_have_a_section(kind, tmp_path):
    found = found_after(tmp_path, lambda files: files["penalties.json"].pop(kind))
    assert [(one.file, one.field, one.message) for one in found] == [("penalties.json", kind, "is required")]


#: Adds the kind of the page to those that there are, then loads a folder.
PROGRAM = """
import json, sys
import cobre.elements
from cobre.elements import registry

cobre.elements.__path__.append(sys.argv[1])
cobre.elements.KINDS = registry.KINDS = (*registry.KINDS, "tank")

from cobre import case
from cobre.elements import elements_of

try:
    system = case.load(sys.argv[2]).system
    print(json.dumps([[t.id, t.bus, t.initial_mwh, t.max_mw.tolist()] for t in elements_of(system, "tank")]))
except case.CaseError as error:
    print(json.dumps([[one.kind, one.file, one.field, one.message] for one in error.findings]))
schema = case.schemas()["system/tanks.json"]
print(json.dumps([case.FILE_DESCRIPTIONS["system/tanks.json"], sorted(schema["$defs"])]))
"""


@pytest.fixture(scope="module")
def load_with_tanks(tmp_path_factory):
    """Load a case with a kind of the test's own, in a process of its own."""
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "tank").mkdir()
    for name, text in ({"__init__": ""} | MODULES).items():
        (folder / "tank" / f"{name}.py").write_text(text)

    def load(files):
        path = folders.write(tmp_path_factory.mktemp("case"), files)
        command = [sys.executable, "-c", PROGRAM, str(folder), str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in answer.stdout.splitlines()]

    return load


def with_tanks(**energy):
    files = copy.deepcopy(valid())
    tank = {"bus_id": 0, "capacity_mwh": 50.0, "max_mw": 10.0}
    files["system/tanks.json"] = {
        "tanks": [
            {"id": 2, "name": "B", **tank, "entry_stage_id": 1},
            {"id": 1, "name": "A", **tank},
        ]
    }
    files["constraints/tank_bounds.parquet"] = {"tank_id": [1], "stage_id": [2], "max_mw": [7.0]}
    files["initial_conditions.json"]["tank_energy"] = [{"tank_id": 2, "value_mwh": 20.0} | energy]
    return files


def test_a_new_kind_needs_no_other_file(load_with_tanks):
    loaded, described = load_with_tanks(with_tanks())
    assert loaded == [[1, 0, 0.0, [10.0, 10.0, 7.0]], [2, 0, 20.0, [0.0, 10.0, 10.0]]]
    assert described == ["tanks of energy", ["Tank"]]


def test_a_new_kind_has_all_its_findings(load_with_tanks):
    files = with_tanks(value_mwh=60.0)
    files["system/tanks.json"]["tanks"][0]["bus_id"] = 9
    files["system/tanks.json"]["tanks"][1] |= {"entry_stage_id": 2, "exit_stage_id": 1}
    files["constraints/tank_bounds.parquet"]["tank_id"] = [3]
    loaded, _ = load_with_tanks(files)
    assert {(kind, file, field) for kind, file, field, _ in loaded} == {
        ("reference", "system/tanks.json", "bus_id"),
        ("meaning", "system/tanks.json", "exit_stage_id"),
        ("reference", "constraints/tank_bounds.parquet", "tank_id"),
        ("meaning", "initial_conditions.json", "tank_energy"),
    }


def test_cases_without_the_new_kind_are_as_they_were(load_with_tanks):
    assert load_with_tanks(valid())[0] == []


def test_no_list_of_kinds_is_kept_by_hand():
    """Files of ``case`` name few kinds: what several need comes from the registry."""
    source = Path(case.__file__).parent
    words = {inputs(kind).entries for kind in KINDS} | set(KINDS)
    for path in source.glob("*.py"):
        literals = set(re.findall(r'"(\w+)"', path.read_text()))
        assert len(words & literals) <= 1, path.name
