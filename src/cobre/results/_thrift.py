"""Values in the compact protocol of Apache Thrift, in which Parquet files describe themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_TRUE, _FALSE, _BYTE, _INT32, _INT64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 5, 6, 8, 9, 12
#: Ends a structure.
STOP = b"\0"


class Byte(int):
    """An integer of 8 bits."""


class Long(int):
    """An integer of 64 bits; others have 32."""


class Struct(bytes):
    """An encoded structure."""


Item = int | str | Struct
Value = Item | Sequence[Item]
#: A field of a structure: its number and value.
Field = tuple[int, Value]


def struct(fields: Iterable[Field]) -> Struct:
    """Encode a structure: its fields by number, in ascending order."""
    return Struct(begun(fields) + STOP)


def begun(fields: Iterable[Field], after: int = 0) -> bytes:
    """Encode the fields of a structure that has more of them, after one before."""
    parts = []
    for number, value in fields:
        parts += [opened(number, value, after), _content(value)]
        after = number
    return b"".join(parts)


def opened(number: int, like: Value, after: int) -> bytes:
    """Encode what comes before the value of a field of the type of another value."""
    return bytes([(number - after) << 4 | _type(like)])  # all numbers here are near the one before


def integer(value: int) -> bytes:
    """Encode a value that is not negative, of 32 or 64 bits."""
    return varint(2 * value)


def varint(value: int) -> bytes:
    """Encode a value that is not negative in as few bytes as it takes, of 7 bits each."""
    if value < 1 << 7:
        return bytes((value,))
    if value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    return bytes((value & 127 | 128,)) + varint(value >> 7)


def _type(value: Value) -> int:
    if isinstance(value, bool):  # which is its own value
        return _TRUE if value else _FALSE
    if isinstance(value, int):
        return _BYTE if isinstance(value, Byte) else _INT64 if isinstance(value, Long) else _INT32
    if isinstance(value, str):
        return _BINARY
    return _STRUCT if isinstance(value, Struct) else _LIST


def _content(value: Value) -> bytes:
    if isinstance(value, Struct):
        return value
    if isinstance(value, bool):
        return b""
    if isinstance(value, int):
        return bytes((value,)) if isinstance(value, Byte) else integer(value)
    if isinstance(value, str):
        return varint(len(value.encode())) + value.encode()
    return _list(value)


def _list(items: Sequence[Item]) -> bytes:
    kind, count = _type(items[0]) if items else _STRUCT, len(items)
    begin = bytes((count << 4 | kind,)) if count < 15 else bytes((15 << 4 | kind,)) + varint(count)
    return begin + b"".join(map(_content, items))
