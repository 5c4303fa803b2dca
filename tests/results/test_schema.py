"""Tables have the columns of the format: same names, order and types."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cobre import results
from tests.results.made_up import STATES, made_up_log, made_up_run
from tests.results.output_format import FORMAT

OURS = {**results.SIMULATION, **results.TRAINING}


@pytest.mark.parametrize("name", FORMAT)
def test_a_table_is_that_of_the_format(name):
    """What we do not measure may be null here; nothing else differs."""
    wanted = FORMAT[name].split()
    assert [f"{column.name}:{column.type}" for column in OURS[name]] == [item.rstrip("?") for item in wanted]
    for column, item in zip(OURS[name], wanted, strict=True):
        explained = "always null" in column.meaning or column.meaning.startswith("null:")
        assert column.nullable == item.endswith("?") or (column.nullable and explained), column.name


def test_there_are_no_other_tables():
    assert OURS.keys() - FORMAT.keys() == {"dictionaries/bounds", "inflow_means"}


def test_columns_that_are_never_given_say_so():
    for name, table in made_up_log().tables.items():
        for column in OURS[name]:
            if "always null" in column.meaning or column.meaning.startswith("null:"):
                assert table[column.name].null_count == table.num_rows, column
            else:
                assert table[column.name].null_count == 0, column


@pytest.mark.parametrize("name", OURS)
def test_the_page_has_a_section_with_every_table(name):
    """Its columns are put there when the page is built, from what is compared with the format above."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "outputs.md").read_text()
    place = "bounds.parquet" if name == "dictionaries/bounds" else name
    sections = page.split("\n## ")
    own = [section for section in sections if f"```{{output-table}} {name}\n```" in section]
    assert len(own) == 1
    assert place in own[0]


@pytest.fixture
def dictionaries(tmp_path):
    writer = results.Writer(tmp_path / "out")
    writer.begin(made_up_run(tmp_path / "case"))
    return tmp_path / "out" / "training" / "dictionaries"


def test_entities_are_listed_by_kind_and_id(dictionaries):
    with (dictionaries / "entities.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["entity_type_code", "entity_id", "name", "bus_id", "system_id"],
        ["0", "0", "H0", "0", "0"],
        ["0", "1", "H1", "0", "0"],
        ["1", "0", "T0", "0", "0"],
        ["1", "1", "T1", "1", "0"],
        ["2", "0", "North", "0", "0"],
        ["2", "1", "South", "1", "0"],
        ["3", "0", "N-S", "-1", "0"],
        ["4", "0", "P0", "0", "0"],
        ["5", "0", "C0", "1", "0"],
        ["6", "2", "B2", "1", "0"],
        ["7", "0", "Wind", "1", "0"],
        ["7", "4", "Sun", "0", "0"],
    ]


def test_stages_have_their_days(dictionaries):
    with (dictionaries / "stages.csv").open() as file:
        header, first, *_ = csv.reader(file)
    assert header == ["stage_id", "start_date", "end_date", "season_id"]
    assert first == ["0", "2024-01-01", "2024-02-01", "0"]


def test_every_column_is_explained(dictionaries):
    with (dictionaries / "variables.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["schema"], row["column_name"]) for row in rows] == [
        (name, column.name) for name, columns in OURS.items() for column in columns
    ]
    assert all(row["description"] for row in rows)
    types = {"bool", "double", "int8", "int32", "int64", "string", "uint32", "uint64"}
    assert {row["arrow_type"] for row in rows} <= types


def test_bounds_are_those_of_the_case(dictionaries):
    codes = json.loads((dictionaries / "codes.json").read_text())
    found = {}
    for row in pq.read_table(dictionaries / "bounds.parquet").to_pylist():
        kind = codes["entity_type"][str(row["entity_type_code"])]
        bound = codes["bound_type"][str(row["bound_type_code"])]
        found[kind, row["entity_id"], row["stage_id"], bound] = row["bound_value"]
    assert found["hydro", 1, 0, "storage_max"] == 100.0  # an override of 110
    assert found["hydro", 1, 1, "storage_max"] == 110.0
    assert found["thermal", 0, 1, "generation_min"] == 5.0
    assert found["pumping_station", 0, 2, "flow_max"] == 1.0
    assert found["line", 0, 0, "flow_max"] == 0.0  # not yet in service
    assert (found["line", 0, 1, "flow_min"], found["line", 0, 1, "flow_max"]) == (-30.0, 40.0)
    assert ("hydro", 0, 0, "outflow_max") not in found  # without a limit


def test_states_are_where_cuts_have_them(dictionaries):
    content = json.loads((dictionaries / "state_dictionary.json").read_text())
    assert content["state_dimension"] == len(STATES)
    assert content["storage_states"] == [
        {"hydro_id": 0, "dimension_index": 0, "unit": "hm3"},
        {"hydro_id": 1, "dimension_index": 1, "unit": "hm3"},
    ]
    assert content["inflow_lag_states"] == [
        {"hydro_id": 0, "lag_index": 1, "dimension_index": 2, "unit": "m3s"}
    ]
