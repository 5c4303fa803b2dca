"""Whatever is done to a folder that is right, loading it works or raises CaseError."""

import contextlib
import copy
import json
import random

import numpy as np
import pyarrow as pa
import pytest

from cobre import case
from cobre.case import CaseError
from tests.case import folders
from tests.case.histories import to_fit
from tests.case.valid_case import valid

#: What a value in a JSON file is replaced by, as text, because some are no JSON.
VALUES = (
    "null",
    '"x"',
    "-1",
    "NaN",
    "1e400",
    "[]",
    "{}",
    "true",
    "0",
    "2147483648",
    "1e-320",
    '"2024-02-30"',
)
PLACEHOLDER = "@@ here @@"
#: How many of each kind are tried, drawn with a fixed seed. All of them, some thousands, take minutes.
COUNT = 40


def tried(folder, files):
    """Load a folder after some of its files were changed; findings may be found, but nothing else."""
    folders.write(folder, files)
    with contextlib.suppress(CaseError):
        case.load(folder)


def places(content, path=()):
    """The paths of all values in a document."""
    items = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(content, path, value):
    result = copy.deepcopy(content)
    here = result
    for step in path[:-1]:
        here = here[step]
    if value is None:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return result


def mutants_of_json(files):
    """For each value of each document: without it, or with another in its place."""
    for name, content in files.items():
        if not name.endswith(".json"):
            continue
        for path in places(content):
            yield name, json.dumps(changed(content, path, None)), f"without {path}"
            for value in VALUES:
                text = json.dumps(changed(content, path, PLACEHOLDER)).replace(f'"{PLACEHOLDER}"', value)
                yield name, text, f"{path} = {value}"


def mutants_of_tables(files):
    """For each column: without it, of another type, with null, NaN and infinity; rows twice, and none."""
    for name, content in files.items():
        if name.endswith(".json"):
            continue
        whole = folders.table(content)
        yield name, whole.slice(0, 0), "no rows"
        yield name, pa.concat_tables([whole, whole]), "rows twice"
        yield name, whole.append_column("extra", pa.array([1.0] * len(whole))), "another column"
        for index, column in enumerate(whole.column_names):
            values = whole.column(column)
            yield name, whole.remove_column(index), f"without {column}"
            others = {
                "text": pa.array([str(value) for value in values.to_pylist()]),
                "null": pa.nulls(len(whole), values.type),
                "boolean": pa.array([True] * len(whole)),
                "list": pa.array([[1.0]] * len(whole)),
            }
            if pa.types.is_floating(values.type):
                for number in (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308):
                    others[str(number)] = pa.array([number] * len(whole))
            elif pa.types.is_integer(values.type):
                for number in (-1, -(2**31), 2**31 - 1, 0):
                    others[str(number)] = pa.array([number] * len(whole), pa.int64())
                others["beyond 63 bits"] = pa.array([2**63] * len(whole), pa.uint64())
            else:
                for day in (-(2**31), 2**31 - 1, -719163, 0):
                    others[f"day {day}"] = pa.array([day] * len(whole), pa.int32()).cast(pa.date32())
            for what, array in others.items():
                yield name, whole.set_column(index, column, array), f"{column} is {what}"


def mutants_of_bytes(files, folder):
    """Files that are empty, cut off, or no text, and folders in their place."""
    folders.write(folder, files)
    for name in files:
        data = (folder / name).read_bytes()
        for what, content in {
            "empty": b"",
            "cut off": data[: len(data) // 2],
            "without its end": data[:-5],
            "not UTF-8": b"\xff\xfe" + data,
            "zeros": bytes(len(data)),
            "a flipped byte": data[: len(data) // 3]
            + bytes([data[len(data) // 3] ^ 0xFF])
            + data[len(data) // 3 + 1 :],
            "nested": b"[" * 100_000,
        }.items():
            yield name, content, what


@pytest.fixture(params=["given models", "fitted models"])
def files(request):
    if request.param == "given models":
        return valid()
    result = to_fit(3)
    result["config.json"]["training"]["scenario_source"] = {"inflow": {"scheme": "historical"}}
    return result


def assert_each_is_handled(folder, files, mutants):
    """Write the folder once, then change one file at a time."""
    folders.write(folder, files)
    wrong = []
    everything = list(mutants)
    for name, content, what in random.Random(1).sample(everything, COUNT):
        before = (folder / name).read_bytes()
        try:
            tried(folder, {name: content} if isinstance(content, str | bytes) else {name: _columns(content)})
        except Exception as error:  # noqa: BLE001 - that there is none is what is tested
            wrong.append(f"{name}, {what}: {type(error).__name__}: {error}")
        (folder / name).write_bytes(before)
    assert wrong == []


def _columns(table):
    return {name: table.column(name) for name in table.column_names}


def test_values_of_documents(tmp_path, files):
    assert_each_is_handled(tmp_path, files, mutants_of_json(files))


def test_columns_of_tables(tmp_path, files):
    assert_each_is_handled(tmp_path, files, mutants_of_tables(files))


def test_bytes_of_files(tmp_path, files):
    assert_each_is_handled(tmp_path, files, mutants_of_bytes(files, tmp_path))


def test_files_that_are_missing_or_folders(tmp_path, files):
    folders.write(tmp_path, files)
    for name in files:
        path = tmp_path / name
        before = path.read_bytes()
        path.unlink()
        tried(tmp_path, {})
        path.mkdir()
        tried(tmp_path, {})
        path.rmdir()
        path.symlink_to(path)
        tried(tmp_path, {})
        path.unlink()
        path.write_bytes(before)


@pytest.mark.parametrize(
    ("file", "column", "value"),
    [
        ("scenarios/inflow_ar_coefficients.parquet", "lag", 2**31 - 1),  # lags without a gap are many
        ("constraints/generic_constraint_bounds.parquet", "block_id", -(2**31)),
    ],
)
def test_numbers_that_are_far_too_large(tmp_path, file, column, value):
    files = valid()
    files[file][column] = [value] * len(files[file][column])
    with pytest.raises(CaseError):
        case.load(folders.write(tmp_path, files))


def test_a_column_whose_name_is_no_text(tmp_path):
    file = "system/hydro_geometry.parquet"
    path = folders.write(tmp_path, valid()) / file
    path.write_bytes(path.read_bytes().replace(b"area_km2", b"area\xffkm2"))
    with pytest.raises(CaseError) as raised:
        case.load(tmp_path)
    assert {(one.kind, one.file) for one in raised.value.findings} == {("unreadable", file)}
