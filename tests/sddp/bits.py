"""All of a run that must have the same bits everywhere, and the first place where two runs differ."""

import tempfile
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pyarrow as pa


def file_bytes(policy):
    """The bytes of a policy's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy")
        policy.save(path)
        return path.read_bytes()


@dataclass(frozen=True, repr=False)
class Bits:
    """The bits of a run, as plain data. In the order in which a run makes them."""

    bounds: list
    estimates: list
    reason: str
    states: tuple
    records: dict
    file: bytes
    table: pa.Table | None = None
    totals: list = ()

    @classmethod
    def of(cls, trained, simulated=None):
        return cls(
            trained.bounds.tolist(),
            [(each.mean, each.standard_deviation, each.count) for each in trained.estimates],
            trained.reason,
            trained.policy.states,
            {name: vars(record) for name, record in trained.policy.records.items()},
            file_bytes(trained.policy),
            simulated and simulated.table,
            simulated.totals.tolist() if simulated else [],
        )


def first_difference(one, other):
    """Where two runs part first, in words; None if all their bits are equal."""
    return next(_differences(one, other), None)


def _differences(one, other):
    for number, pair in enumerate(zip_longest(one.bounds, other.bounds), 1):
        yield from _unequal(f"the bound of iteration {number}", *pair)
        estimates = (each.estimates[number - 1 : number] for each in (one, other))
        yield from _unequal(f"the estimate of iteration {number}", *estimates)
    yield from _unequal("the reason to stop", one.reason, other.reason)
    yield from _unequal("the nodes", list(one.records), list(other.records))
    for name, record in one.records.items():
        yield from _record_differences(f"node {name!r}", one.states, record, other.records[name])
    yield from _unequal("the bytes of the policy's file", one.file, other.file)
    if one.table is not None or other.table is not None:
        yield from _table_differences(one.table, other.table)
    for number, pair in enumerate(zip_longest(one.totals, other.totals)):
        yield from _unequal(f"the total of trajectory {number}", *pair)


def _record_differences(where, states, one, other):
    for number, pair in enumerate(zip_longest(one["cuts"].tolist(), other["cuts"].tolist())):
        cut = f"{where}, cut {number}"
        if None in pair:
            yield from _unequal(cut, *pair)
            continue
        made = (f"iteration {each['born'][number]}" for each in (one, other))
        yield from _unequal(f"{cut}, made in", *made)
        for what, *numbers in zip(("the intercept", *states), *pair, strict=True):
            yield from _unequal(f"{cut}, {what}", *numbers)
    for what, array in one.items():
        yield from _unequal(f"{where}, {what}", _plain(array), _plain(other[what]))


def _table_differences(one, other):
    yield from _unequal("the table's columns", str(one.schema), str(other.schema))
    yield from _unequal("the table's number of rows", one.num_rows, other.num_rows)
    places = zip(one["trajectory"].to_pylist(), one["step"].to_pylist(), strict=True)
    for row, (trajectory, step) in enumerate(places):
        for column in one.column_names:
            pair = (table[column][row].as_py() for table in (one, other))
            yield from _unequal(f"column {column!r} of trajectory {trajectory}, step {step}", *pair)


def _plain(array):
    return None if array is None else np.asarray(array).tolist()


def _unequal(what, one, other):
    # Their words tell 0.0 from -0.0 and are equal for two NaNs, and each bit of a number is in them.
    if repr(one) != repr(other):
        yield f"{what}: {_short(one)} and {_short(other)}"


def _short(value):
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    exact = f" ({value.hex()})" if isinstance(value, float) else ""
    words = repr(value)
    return (words if len(words) <= 200 else words[:200] + " ...") + exact
