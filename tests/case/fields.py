"""The fields of all input files, taken from their schemas, and other values for each of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Any

from cobre import case
from cobre.case._layout import TABLES
from cobre.inputs.tables import ColumnSpec

Schema = dict[str, Any]
Path = tuple[int | str, ...]
#: A field that a file may have and has not.
ABSENT = object()
#: An id that nothing has.
NOBODY = 977


@dataclass(frozen=True)
class Change:
    """A file with another value of one field: a JSON document, or the columns of a table."""

    file: str
    name: str
    value: Any = field(hash=False)
    content: Any = field(hash=False, repr=False)


def documented() -> set[tuple[str, str]]:
    """All fields of all files: of JSON files by dotted names without indices, of tables by columns."""
    found = {(name, column.name) for name, table in TABLES.items() for column in table.columns}
    for file, schema in schemas().items():
        found |= {(file, name) for name in _names(schema, schema, ())}
    return found


@cache
def schemas() -> dict[str, Schema]:
    return case.schemas()


def _names(root: Schema, here: Schema, path: tuple[str, ...]) -> Iterator[str]:
    for one in _alternatives(root, here):
        if one.get("type") == "array" and "items" in one:
            yield from _names(root, one["items"], path)
        elif "properties" in one or isinstance(one.get("additionalProperties"), dict):
            for name, inner in one.get("properties", {}).items():
                if "const" in inner:
                    continue  # it tells which fields there are: another value is refused
                yield from _names(root, inner, (*path, name))
            if isinstance(one.get("additionalProperties"), dict):
                yield from _names(root, one["additionalProperties"], (*path, "*"))
        elif one.get("type") != "null":
            yield ".".join(path)


def _alternatives(root: Schema, here: Schema) -> list[Schema]:
    """What a value may be: alternatives and references are resolved."""
    if "$ref" in here:
        return _alternatives(root, root["$defs"][here["$ref"].rsplit("/", 1)[1]])
    several = here.get("anyOf") or here.get("oneOf")
    return [one for each in several for one in _alternatives(root, each)] if several else [here]


def changes(files: dict[str, Any]) -> Iterator[list[Change]]:
    """For each field that the files have, or may have where they are, its changes in all places."""
    for file, content in files.items():
        if file in TABLES:
            for column in TABLES[file].columns:
                yield [Change(file, column.name, *one) for one in _columns(content, column)]
            continue
        if file not in schemas():
            continue
        places: dict[str, list[tuple[Path, list[Any]]]] = {}
        for name, path, others in _places(schemas()[file], schemas()[file], content, (), ()):
            places.setdefault(name, []).append((path, others))
        for name, found in places.items():
            yield [
                Change(file, name, other, _with(content, path, other))
                for path, others in found
                for other in others
            ]


def _places(
    root: Schema, here: Schema, content: Any, names: tuple[str, ...], path: Path
) -> Iterator[tuple[str, Path, list[Any]]]:
    """Name and path of each field, and other values for it."""
    meant = [one for one in _alternatives(root, here) if _fits(root, one, content)]
    for one in meant[:1]:
        if isinstance(content, list):
            for index, item in enumerate(content):
                yield from _places(root, one["items"], item, names, (*path, index))
        if isinstance(content, dict):
            known = one.get("properties", {})
            more = one.get("additionalProperties")
            for name, inner in known.items():
                value = content.get(name, ABSENT)
                yield from _places(root, inner, value, (*names, name), (*path, name))
            for name in content.keys() - known.keys() if isinstance(more, dict) else ():
                yield from _places(root, more, content[name], (*names, "*"), (*path, name))
    usual = here.get("default", ABSENT) if content is ABSENT else content
    others = [other for one in _alternatives(root, here) for other in _others(one, usual)]
    others += [NOBODY] if names[-1:] and names[-1].endswith("id") and isinstance(content, int) else []
    if others:
        yield ".".join(names), path, others


def _fits(root: Schema, one: Schema, content: Any) -> bool:
    """True if a value is meant to be of a schema, of which constants tell objects apart."""
    types: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    if not isinstance(content, types[one.get("type", "string")]):
        return False
    constants = {
        name: inner["const"] for name, inner in one.get("properties", {}).items() if "const" in inner
    }
    return not isinstance(content, dict) or all(content.get(name) == must for name, must in constants.items())


def _others(one: Schema, content: Any) -> list[Any]:
    """Values that a schema allows, other than the one that is there."""
    if "enum" in one or "const" in one:
        return [value for value in one.get("enum", [one.get("const")]) if value != content]
    match one.get("type"):
        case "boolean":
            return [value for value in (True, False) if value is not content]
        case "integer":
            number = content if isinstance(content, int) else 2  # of a field without a default
            return [value for value in (number + 1, number - 1) if _within(one, value)]
        case "number":
            number = content if isinstance(content, int | float) else 0.5
            return [value for value in (number * 1.25 + 0.01, number * 0.6, 0.3) if _within(one, value)]
        case "string" if one.get("format") == "date":
            day = date.fromisoformat(content) if isinstance(content, str) else date(2024, 1, 1)
            return [str(day + timedelta(days)) for days in (1, -1)]
        case "string":
            return ["another"]
    return []


def _within(one: Schema, value: float) -> bool:
    return one.get("minimum", value) <= value <= one.get("maximum", value) and one.get(
        "exclusiveMinimum", value - 1
    ) < value < one.get("exclusiveMaximum", value + 1)


def _with(content: Any, path: Path, value: Any) -> Any:
    result = copy.deepcopy(content)
    here = result
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return result


def _columns(content: dict[str, list[Any]], column: ColumnSpec) -> Iterator[tuple[Any, Any]]:
    """Other values for a column: in all rows that have one, or in all if none has."""
    rows = len(next(iter(content.values())))
    given = content.get(column.name, [None] * rows)
    kept = [one is None and any(other is not None for other in given) for one in given]
    for values in _other_values(given, column):
        changed = [None if keep else value for keep, value in zip(kept, values, strict=True)]
        yield changed[:1], {**content, column.name: changed}


def _other_values(given: list[Any], column: ColumnSpec) -> list[list[Any]]:
    if column.type == "date":
        return [[day + timedelta(31) for day in given]]
    if column.type == "id":
        least = int(max(column.low, 0))
        return [[(least if one is None else one + 1) for one in given], [NOBODY for _ in given]]
    found = []
    for factor, more in ((1.25, 0.01), (0.6, 0.0), (0.0, 0.3)):
        values = [(0.5 if one is None else one) * factor + more for one in given]
        if all(column.low <= one <= column.high and one > column.above for one in values):
            found.append(values)
    return found
