"""Reading a Parquet file into a table, with findings that name the column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cobre.inputs.findings import Report
from cobre.inputs.tables import ABSENT, ColumnSpec, Table, TableFile

_FIRST_DAY, _LAST_DAY = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")


def read_table(path: Path, spec: TableFile, report: Report) -> Table | None:
    """Return the table in a file; None, and findings, if it is not as it should be."""
    file = spec.name
    try:
        # A file handle, because a path would also name folders and other file systems.
        with path.open("rb") as stream:
            # Files are small, and threads are not; one that is being started ends a process that is exiting.
            read = pq.read_table(stream, use_threads=False, pre_buffer=False)
        names = read.column_names  # which may be no text
    except (OSError, ValueError, pa.ArrowException) as error:
        report.error(
            "unreadable",
            file,
            f"cannot be read as Parquet: {_first_line(error)}",
            suggestion="write it again",
        )
        return None
    known = {column.name for column in spec.columns}
    for name in names:
        if name not in known:
            report.unknown_name(file, name, known, "column")
    columns = {column.name: _read_column(read, column, file, report) for column in spec.columns}
    if any(values is None for values in columns.values()):
        return None
    return Table({name: values for name, values in columns.items() if values is not None}, read.num_rows)


def _read_column(read: pa.Table, column: ColumnSpec, file: str, report: Report) -> NDArray[Any] | None:
    if column.name not in read.column_names:
        if not column.required:
            return _nothing(column, read.num_rows)
        remedy = "add the column"
        report.error("schema", file, "the column is missing", remedy, field=column.name)
        return None
    if read.column_names.count(column.name) > 1:
        remedy = "keep one of them"
        report.error("duplicate", file, "there are several columns of that name", remedy, field=column.name)
        return None
    values = read.column(column.name)
    if not _type_fits(values.type, column):
        wanted = {"id": "an integer type (INT32)", "number": "DOUBLE", "date": "DATE"}[column.type]
        remedy = f"write the column as {wanted}"
        report.error(
            "schema", file, f"the column has type {values.type}, not {wanted}", remedy, field=column.name
        )
        return None
    if column.required and values.null_count:
        remedy = "give every row a value"
        report.error("schema", file, f"{values.null_count} of the values are null", remedy, field=column.name)
        return None
    given = np.asarray(values.is_valid().to_numpy())
    return _check_range(_to_numpy(values, column), given, column, file, report)


def _type_fits(kind: pa.DataType, column: ColumnSpec) -> bool:
    if column.type == "id":
        return bool(pa.types.is_integer(kind))
    if column.type == "date":
        return bool(pa.types.is_date(kind))
    return bool(pa.types.is_floating(kind))


def _to_numpy(values: pa.ChunkedArray, column: ColumnSpec) -> NDArray[Any]:
    if column.type == "id":
        return np.asarray(values.cast(pa.int64(), safe=False).fill_null(ABSENT).to_numpy())
    if column.type == "date":
        return np.asarray(values.cast(pa.date32()).to_numpy()).astype("datetime64[D]")
    return np.asarray(values.cast(pa.float64()).to_numpy())


def _nothing(column: ColumnSpec, rows: int) -> NDArray[Any]:
    return np.full(rows, ABSENT) if column.type == "id" else np.full(rows, np.nan)


def _check_range(
    values: NDArray[Any], given: NDArray[np.bool_], column: ColumnSpec, file: str, report: Report
) -> NDArray[Any] | None:
    if column.type == "date":
        fits = (values >= _FIRST_DAY) & (values <= _LAST_DAY)
        if not fits.all():
            remedy = "correct the dates"
            report.error(
                "schema", file, "has days before the year 1 or after 9999", remedy, field=column.name
            )
        return values if fits.all() else None
    fits = np.isfinite(values) & (values >= column.low) & (values <= column.high) & (values > column.above)
    wrong = np.flatnonzero(given & ~fits)
    for row in wrong[:5]:
        remedy = "correct the value"
        report.error(
            "schema",
            file,
            f"must be {_range_words(column)}",
            remedy,
            field=f"{column.name}[{row}]",
            value=float(values[row]),
        )
    if len(wrong) > 5:
        remedy = "correct all values of the column"
        report.error("schema", file, f"so are {len(wrong) - 5} other values", remedy, field=column.name)
    return None if len(wrong) else values


def _range_words(column: ColumnSpec) -> str:
    words = ["finite"]
    if column.above > -np.inf:
        words.append(f"above {column.above:g}")
    if column.low > -np.inf:
        words.append(f"at least {column.low:g}")
    if column.high < np.inf:
        words.append(f"at most {column.high:g}")
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
