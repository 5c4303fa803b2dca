"""Arrow schemas of output tables."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.elements.tables import Column

#: The types that columns have, by the words used in `Column`.
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


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """Return the Arrow schema of some columns."""
    return pa.schema([pa.field(column.name, TYPES[column.type], column.nullable) for column in columns])
