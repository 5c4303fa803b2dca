"""Whatever is done to a folder that is right, `validate` and `run` agree on it, and findings help.

Both use it or both refuse it, by an error of ours; each finding is said once, and has a remedy.
``COBRE_TEST_MUTANTS`` is the number of folders with several changes at once; some thousands take minutes.
"""

import copy
import json
import os
import random
import re

import numpy as np
import pyarrow as pa
import pytest

from cobre import case, study
from cobre.case import CaseError
from cobre.errors import CobreError
from tests.case import folders
from tests.case.field_cases import CASES
from tests.case.heard import plan_of
from tests.case.histories import to_fit
from tests.case.valid_case import valid
from tests.hydrothermal.test_lags import prepared

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
    "1e300",
    "-1e-9",
    "977",
    "[null]",
    '""',
    '"2024-02-10"',
)
PLACEHOLDER = "@@ here @@"
#: How many of each kind are tried, drawn with a fixed seed. All of them, some thousands, take minutes.
COUNT = 40
SEVERAL = int(os.environ.get("COBRE_TEST_MUTANTS", "60"))
#: Words of libraries, not of the format.
FOREIGN = re.compile(
    r"Input should|Field required|Value error|Extra inputs|found using|validation error|discriminator"
    r"|pydantic|NoneType|object has no|object is not|numpy|ndarray|Traceback|not subscriptable"
    r"|unhashable|unpack|broadcast|array"
)


def complaints(folder):
    """What is wrong with what is said of a folder."""
    try:
        told = study.validate(folder)
    except CobreError as error:
        return [f"validate raised {type(error).__name__}: {error}"]
    try:
        plan_of(folder)
        refused = ""
    except CobreError as error:
        refused = str(error)
    found = list(told.errors) + list(told.warnings)
    texts = [(one.file, str(one)) for one in found]
    wrong = [f"without a remedy: {one}" for one in found if not one.suggestion]
    wrong += [f"in foreign words: {text}" for _, text in texts if FOREIGN.search(text)]
    wrong += [f"twice: {text}" for text in {one for one in texts if texts.count(one) > 1}]
    if told.valid is bool(refused):
        wrong.append(f"validate says {'valid' if told.valid else texts}, and run {refused or 'accepts it'}")
    return wrong


def tried(folder, files):
    """Change some files of a folder, and see what is said of it."""
    folders.write(folder, files)
    assert complaints(folder) == []


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


def without(content, path):
    result = copy.deepcopy(content)
    del _at(result, path[:-1])[path[-1]]
    return result


def replaced(content, path, value):
    result = copy.deepcopy(content)
    _at(result, path[:-1])[path[-1]] = value
    return result


def _at(content, path):
    for step in path:
        content = content[step]
    return content


def mutants_of_json(files):
    """For each value of each document: without it, or with another in its place."""
    for name, content in files.items():
        if not name.endswith(".json"):
            continue
        for path in places(content):
            yield name, json.dumps(without(content, path)), f"without {path}"
            for value in VALUES:
                text = json.dumps(replaced(content, path, PLACEHOLDER)).replace(f'"{PLACEHOLDER}"', value)
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


@pytest.fixture(params=["given models", "fitted models", "weeks"])
def files(request, tmp_path):
    if request.param == "given models":
        return valid()
    if request.param == "weeks":
        return prepared(tmp_path / "weeks", "the mean of the past year, in weeks")[1]
    result = to_fit(3)
    result["config.json"]["training"]["scenario_source"] = {"inflow": {"scheme": "historical"}}
    return result


def several(files, draw):
    """Some files with up to three changes of any kind, in words; None for a file that is removed."""
    result, words = copy.deepcopy(files), []
    for _ in range(draw.randint(1, 3)):
        name = draw.choice(sorted(name for name, content in result.items() if content is not None))
        content = result[name]
        if draw.random() < 0.03 or isinstance(content, bytes | str):
            result[name] = None
            words.append(f"{name} removed")
        elif name.endswith(".json"):
            path = draw.choice(list(places(content)) or [()])
            result[name], what = _other(content, path, draw)
            words.append(f"{name}: {what}")
        else:
            result[name], what = _other_table(content, draw)
            words.append(f"{name}: {what}")
    return {name: content for name, content in result.items() if content != files.get(name)}, words


def _other(content, path, draw):
    """A document with another value: none, that of another place, twice an entry, or a strange one."""
    if not path:
        return [], "an empty list"
    here = _at(content, path)
    match draw.randrange(5):
        case 0:
            return without(content, path), f"without {path}"
        case 1 if isinstance(here, list) and here:
            value = [*here, copy.deepcopy(here[-1])]
        case 2 if isinstance(here, int | float) and not isinstance(here, bool):
            value = draw.choice([here + 1, here - 1, -here, here * 1000, here / 1000, here * 1e12])
        case 3:
            same = [other for other in places(content) if other[-1] == path[-1]]
            value = copy.deepcopy(_at(content, draw.choice(same)))
        case _:
            value = draw.choice(VALUES[:3] + VALUES[5:])
            value = None if value == "1e400" else json.loads(value)
    return replaced(content, path, value), f"{path} = {value}"


def _other_table(columns, draw):
    """A table with another value in a row, a row twice, or one row or column less."""
    result = copy.deepcopy(columns)
    name = draw.choice(list(result))
    rows = len(result[name])
    row = draw.randrange(rows) if rows else 0
    match draw.randrange(4) if rows else 3:
        case 0:
            return {key: [*values, values[row]] for key, values in result.items()}, f"row {row} twice"
        case 1:
            less = {key: values[:row] + values[row + 1 :] for key, values in result.items()}
            return less, f"without row {row}"
        case 2 if name != "date":
            old = result[name][row] or 0
            whole = name.endswith(("_id", "_index")) or name == "lag"
            others = [old + 1, abs(old - 1), 977] if whole else [-old, 0.0, np.nan, 1e300, 1e6, old * 1e12]
            result[name][row] = value = draw.choice(others)
            return result, f"{name}[{row}] = {value}"
        case _:
            del result[name]
            return result or {"nothing": [1.0]}, f"without {name}"


@pytest.mark.parametrize("name", CASES)
def test_several_changes_at_once(tmp_path, name):
    files = CASES[name]()
    folders.write(tmp_path, files)
    wrong, draw = [], random.Random(name)
    for number in range(SEVERAL // len(CASES)):
        changes, words = several(files, draw)
        try:
            for file, content in changes.items():
                if content is None:
                    (tmp_path / file).unlink()
                else:
                    folders.write(tmp_path, {file: content})
            found = complaints(tmp_path)
        except Exception as error:  # noqa: BLE001 - that there is none is what is tested
            found = [f"{type(error).__name__}: {error}"]
        wrong += [f"{number}: {', '.join(words)}: {one}" for one in found]
        folders.write(tmp_path, {file: files[file] for file in changes})
    assert wrong == []


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
