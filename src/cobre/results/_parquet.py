"""Parquet files of many equal small tables, such as those of scenarios.

The format is that of Apache Parquet 2.6: one row group, and a page per column in plain encoding. A library
that writes any table spends on a small one most of its time on what is the same in all. Here the schema is
encoded once, and so is a page that has the same bytes in one table as in the one before, as ids have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cobre.results import _thrift as thrift

_MAGIC = b"PAR1"
_CREATOR = "cobre-parallel"
#: Pages of fewer bytes stay as they are: compressing them takes longer than writing them.
_SMALL = 256
_UNCOMPRESSED = 0
_CODECS = {"zstd": (6, "zstd"), "lz4": (7, "lz4_raw"), "none": (_UNCOMPRESSED, None)}
_PLAIN, _RUN_LENGTHS = 0, 3
_REQUIRED, _OPTIONAL = 0, 1
_BOOLEAN, _INT32, _DOUBLE = 0, 1, 5
#: The annotation of bytes, as the older and the newer readers know it: 8 bits, with a sign.
_BYTE: list[thrift.Field] = [
    (6, 15),
    (10, thrift.struct([(10, thrift.struct([(1, thrift.Byte(8)), (2, True)]))])),
]
#: The types of simulation tables: that in the file, its annotations, and what values are written as.
_TYPES: dict[pa.DataType, tuple[int, list[thrift.Field], type[np.generic]]] = {
    pa.float64(): (_DOUBLE, [], np.float64),
    pa.int32(): (_INT32, [], np.int32),
    pa.int8(): (_INT32, _BYTE, np.int32),
    pa.bool_(): (_BOOLEAN, [], np.bool_),
}

#: The begin of a page's header; what comes before a number after another; and before the offset of a page.
_PAGE_BEGIN = thrift.begun([(1, 0)]) + thrift.opened(2, 0, after=1)
_NEXT_INT, _NEXT_LONG = thrift.opened(2, 0, after=1), thrift.opened(2, thrift.Long(), after=1)
_OFFSET = thrift.opened(9, thrift.Long(), after=7)


class ParquetEncoder:
    """Encodes tables of one schema. The bytes of a file depend on the rows in it alone.

    Args:
        schema: with columns of the types that simulation tables have.
        compression: ``"zstd"``, ``"lz4"`` or ``"none"``.
    """

    def __init__(self, schema: pa.Schema, compression: str) -> None:
        self._columns = [_Column(field, compression) for field in schema]
        root = thrift.struct([(3, _REQUIRED), (4, "schema"), (5, len(schema))])
        self._begin: list[thrift.Field] = [(1, 2), (2, [root, *(column.schema for column in self._columns)])]

    def files(self, table: pa.Table, starts: Sequence[int], ends: Sequence[int]) -> Iterator[bytes]:
        """Encode ranges of a table's rows, each as a file."""
        for column, values in zip(self._columns, table.columns, strict=True):
            column.read(values.combine_chunks())
        for start, end in zip(starts, ends, strict=True):
            yield self._file(start, end)

    def _file(self, start: int, end: int) -> bytes:
        rows = thrift.Long(end - start)
        pages = [column.page(start, end) for column in self._columns] if rows else []
        places = accumulate((len(page.content) for page in pages), initial=len(_MAGIC))
        chunks = [page.at(place) for page, place in zip(pages, places, strict=False)]
        size = thrift.Long(sum(page.uncompressed for page in pages))
        groups = [thrift.struct([(1, chunks), (2, size), (3, rows)])] if rows else []
        footer = thrift.struct([*self._begin, (3, rows), (4, groups), (6, _CREATOR)])
        contents = (page.content for page in pages)
        return b"".join((_MAGIC, *contents, footer, len(footer).to_bytes(4, "little"), _MAGIC))


class _Page(NamedTuple):
    """A page with its header, its size before compression, and its description but for its place."""

    content: bytes
    uncompressed: int
    about: bytes

    def at(self, place: int) -> thrift.Struct:
        """Describe the page at its place in the file."""
        return thrift.Struct(self.about + thrift.integer(place) + 2 * thrift.STOP)


class _Column:
    """A column of the tables."""

    def __init__(self, field: pa.Field, compression: str) -> None:
        self._type, annotations, self._written_as = _TYPES[field.type]
        repetition = _OPTIONAL if field.nullable else _REQUIRED
        self.schema = thrift.struct([(1, self._type), (3, repetition), (4, field.name), *annotations])
        self._codec, name = _CODECS[compression]
        self._compress = pa.Codec(name).compress if name else None
        self._name, self._nullable = field.name, field.nullable
        self._known, self._rows = pa.py_buffer(b""), 0  # those of the last page
        self._page = _Page(b"", 0, b"")

    def read(self, values: pa.Array) -> None:
        """Take the values that pages are cut from."""
        self._valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
        filled = values if self._valid is None else values.fill_null(0)
        self._values = filled.to_numpy(zero_copy_only=False).astype(self._written_as, copy=False)
        self._buffer = pa.py_buffer(self._values)

    def page(self, start: int, end: int) -> _Page:
        """Return the page of some rows."""
        raw = self._raw(start, end)
        if self._rows != end - start or not self._known.equals(raw):
            if self._rows != end - start:
                self._rows = end - start
                self._page_end, self._about_rows = _page_end(self._rows), self._about(self._rows)
            self._known = pa.py_buffer(raw.to_pybytes())  # not all that it is a part of
            self._page = self._encoded(raw)
        return self._page

    def _raw(self, start: int, end: int) -> pa.Buffer:
        if self._nullable or self._type == _BOOLEAN:
            return pa.py_buffer(self._levels(start, end) + self._plain(start, end))
        width = self._values.itemsize
        return self._buffer.slice(start * width, (end - start) * width)

    def _plain(self, start: int, end: int) -> bytes:
        values = self._values[start:end]
        if self._valid is not None:
            values = values[self._valid[start:end]]
        return (_bits(values) if self._type == _BOOLEAN else values).tobytes()

    def _levels(self, start: int, end: int) -> bytes:
        """Which rows have a value, as one run."""
        if not self._nullable:
            return b""
        valid = np.ones(end - start, np.bool_) if self._valid is None else self._valid[start:end]
        if valid[0] == valid[-1] and valid.all() == valid.any():
            run = thrift.varint((end - start) << 1) + bytes((int(valid[0]),))
        else:
            bits = _bits(valid)
            run = thrift.varint(len(bits) << 1 | 1) + bits.tobytes()
        return len(run).to_bytes(4, "little") + run

    def _encoded(self, raw: pa.Buffer) -> _Page:
        codec, content = _UNCOMPRESSED, raw.to_pybytes()
        if self._compress is not None and raw.size >= _SMALL:
            codec, content = self._codec, self._compress(raw, asbytes=True)
        sizes = thrift.integer(raw.size) + _NEXT_INT + thrift.integer(len(content))
        header = _PAGE_BEGIN + sizes + self._page_end
        size, uncompressed = len(header) + len(content), len(header) + raw.size
        sizes = thrift.integer(uncompressed) + _NEXT_LONG + thrift.integer(size)
        return _Page(header + content, uncompressed, self._about_rows[codec] + sizes + _OFFSET)

    def _about(self, rows: int) -> dict[int, bytes]:
        """What is said of pages of so many rows up to their size, by codec."""
        begin = thrift.begun([(2, thrift.Long(0))]) + thrift.opened(3, thrift.Struct(), after=2)
        encoded: list[thrift.Field] = [(1, self._type), (2, [_PLAIN, _RUN_LENGTHS]), (3, [self._name])]
        return {
            codec: begin + thrift.begun([*encoded, (4, codec), (5, thrift.Long(rows))]) + _NEXT_LONG
            for codec in (_UNCOMPRESSED, self._codec)
        }


def _page_end(rows: int) -> bytes:
    """The header of a page of so many rows after its sizes."""
    values = thrift.struct([(1, rows), (2, _PLAIN), (3, _RUN_LENGTHS), (4, _RUN_LENGTHS)])
    return thrift.begun([(5, values)], after=3) + thrift.STOP


def _bits(flags: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Flags as bits, the first one in the lowest bit."""
    return np.packbits(flags, bitorder="little")
