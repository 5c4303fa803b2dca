"""How a column of an output table is described, once for files, dictionaries and pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

#: The types that columns have, by the words used here.
TYPES = {
    "int8": pa.int8(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
}


class Column(NamedTuple):
    """A column of an output table.

    Attributes:
        name: as in the file.
        type: as Arrow calls it: ``float64``, ``int32``, ...
        unit: ``$`` is the currency of the case; ``id``, ``code`` and ``count`` have no unit.
        meaning: in words.
        nullable: whether it may be null.
    """

    name: str
    type: str
    unit: str
    meaning: str
    nullable: bool = False


def given(unit: str, *columns: tuple[str, str]) -> Iterable[Column]:
    """Columns of numbers in one unit, which are always there."""
    return (Column(name, "float64", unit, meaning) for name, meaning in columns)


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """Return the Arrow schema of some columns."""
    return pa.schema([pa.field(column.name, TYPES[column.type], column.nullable) for column in columns])
