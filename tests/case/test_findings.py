"""Everything that is wrong with a case is found at once, and nothing but that error is raised."""

import contextlib
import copy

import pytest

from cobre import case
from cobre.case import CaseError
from tests.case import folders
from tests.case.changes import (
    BUSES,
    CONFIG,
    CORRELATION,
    HYDRO_BOUNDS,
    HYDROS,
    INITIAL,
    LINES,
    LOADS,
    PENALTIES,
    STAGES,
    THERMALS,
    at,
    content,
    findings,
    no_last_row,
    without,
)
from tests.case.valid_case import valid


def filled(**filling):
    """A change after which a reservoir is filled up to 10 hm³ in the first stage."""

    def change(files):
        files[HYDROS]["hydros"][1] |= {"entry_stage_id": 1, "filling": {"start_stage_id": 0} | filling}
        files[INITIAL]["filling_storage"] = [files[INITIAL]["storage"].pop()]
        files[INITIAL]["filling_storage"][0]["value_hm3"] = 5.0

    return change


#: A change, and the warning that it must lead to.
DOUBTS = {
    "too little to fill": (filled(filling_inflow_m3s=0.1), "meaning", HYDROS, "5 are missing"),
    "filled before": (
        lambda files: (filled()(files), at(INITIAL, "filling_storage.0.value_hm3", 20.0)(files)),
        "meaning",
        INITIAL,
        "above 10",
    ),
    "kept for nothing": (
        at(HYDRO_BOUNDS, "filling_inflow_m3s", [None, 3.0]),
        "meaning",
        HYDRO_BOUNDS,
        "no effect in stage 2",
    ),
    "a file beside": (content("notes.json", "{}"), "unknown_file", "notes.json", ""),
    "no storage": (without(INITIAL, "storage.1"), "dimension", INITIAL, "taken to be 0"),
    "empty": (
        at(INITIAL, "storage.1.value_hm3", 5.0),
        "meaning",
        INITIAL,
        "below 10, the least of the reservoir",
    ),
    "gap": (
        at(STAGES, "stages.1.start_date", "2024-02-03"),
        "meaning",
        STAGES,
        "stages leave a gap from",
    ),
    "no lags": (without(STAGES, "stages.1.state_variables"), "meaning", STAGES, "inflow_lags"),
    "inside": (at(CONFIG, "simulation", {"io_channel_capacity": 8}), "unsupported", CONFIG, "no effect"),
    "head": (at(HYDROS, "hydros.0.generation.model", "linearized_head"), "unsupported", HYDROS, "head"),
    "efficiency": (
        at(HYDROS, "hydros.0.efficiency", {"type": "constant", "value": 0.9}),
        "unsupported",
        HYDROS,
        "no effect",
    ),
}


@pytest.mark.parametrize(("change", "kind", "file", "message"), DOUBTS.values(), ids=DOUBTS.keys())
def test_a_doubt_is_a_warning(tmp_path, change, kind, file, message):
    files = copy.deepcopy(valid())
    change(files)
    found = case.load(folders.write(tmp_path, files)).warnings
    assert any(one.kind == kind and one.file == file and message in one.message for one in found), found


def test_all_layers_are_found_at_once(tmp_path):
    """A wrong entry does not hide what is wrong with its neighbours, nor with other files."""
    found = findings(
        tmp_path,
        without(PENALTIES),
        at(HYDROS, "hydros.0.name", 5),
        at(HYDROS, "hydros.1.bus_id", 9),
        at(THERMALS, "thermals.1.generation.min_mw", 90.0),
        no_last_row(LOADS),
        at(LINES, "lines.0.source_bus_id", 7),
        content(CORRELATION, "{"),
        at(STAGES, "policy_graph.type", "cyclic"),
    )
    assert {(one.kind, one.file) for one in found} == {
        ("missing_file", PENALTIES),
        ("schema", HYDROS),
        ("reference", HYDROS),
        ("meaning", THERMALS),
        ("dimension", LOADS),
        ("reference", LINES),
        ("syntax", CORRELATION),
        ("meaning", STAGES),
    }


def test_a_finding_names_the_entity_and_what_may_have_been_meant(tmp_path):
    (found,) = findings(tmp_path, at(BUSES, "buses.1.nme", "x"))
    assert (found.entity, found.suggestion) == ("bus 1", "remove it")
    (found,) = findings(tmp_path / "2", at(HYDROS, "hydros.1.exit_stage", 0))
    assert found.suggestion == "did you mean 'exit_stage_id'?"


def test_the_beginning_of_a_name_is_recognised(tmp_path):
    renamed = at(THERMALS, "thermals.0.cost", 45.0), without(THERMALS, "thermals.0.cost_per_mwh")
    found = {one.field: one.suggestion for one in findings(tmp_path, *renamed)}
    assert found["thermals[0].cost"] == "did you mean 'cost_per_mwh'?"


def test_no_folder(tmp_path):
    for path in (tmp_path / "nowhere", folders.write(tmp_path, {"file": "x"}) / "file", "a\0b"):
        with pytest.raises(CaseError) as raised:
            case.load(path)
        (found,) = raised.value.findings
        assert (found.kind, found.file) == ("missing_file", "")


def test_a_folder_where_a_file_should_be(tmp_path):
    files = valid()
    del files[BUSES]
    folders.write(tmp_path, {**files, f"{BUSES}/x": "x"})
    with pytest.raises(CaseError) as raised:
        case.load(tmp_path)
    assert [(one.kind, one.file) for one in raised.value.findings] == [("unreadable", BUSES)]


def _leaves(value, path=()):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _leaves(inner, (*path, str(key)))
    yield path


LEAVES = [
    (file, ".".join(path))
    for file, document in valid().items()
    if file.endswith(".json")
    for path in _leaves(document)
    if path
]


@pytest.mark.parametrize("value", [None, "x", -1, 10**30, [], {}, [[]], True], ids=str)
def test_whatever_stands_in_a_file_there_is_no_other_error(tmp_path, value):
    """Every eleventh place, another start for each value, so that together they come by most of them."""
    start = len(str(value)) % 11
    files = valid()
    folder = folders.write(tmp_path, files)
    for file, path in LEAVES[start::11]:
        changed = {file: copy.deepcopy(files[file])}
        at(file, path, value)(changed)
        folders.write(folder, changed)
        with contextlib.suppress(CaseError):
            case.load(folder)
        folders.write(folder, {file: files[file]})
