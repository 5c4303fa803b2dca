"""How fast the rank-ordered reduction is, beside NumPy giving the same bits.

`cobre._native.reduce` adds (or takes the minimum or maximum of) the slots of all ranks element by
element, in rank order. It is compared with

- *NumPy loop*: ``np.copyto(acc, slots[0])``, then ``np.add(acc, slot, out=acc)`` for each further slot;
- *NumPy stacked*: ``np.add.reduce(stacked, axis=0, out=acc)`` where the slots are rows of one array, which
  they seldom are. Along this axis it adds in the same order.

Every case is checked to give the same bits before it is timed. GB/s counts the bytes of the slots, which
are read once; the result, written once, is not counted. Ratios are times, so below 1 means faster
than NumPy.

What the number does not mean: it is not the speed of an `allreduce`. There, each rank reduces only its
share, the slots were written by other cores, and up to some kilobytes the meeting of the ranks takes
longer than the sum. Up to about 1 KB a row measures the call from Python, not the loop. Slots that fit
in a cache stay in it between calls here, which flatters everybody alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from cobre._native import ReduceOp, reduce

NAME = "reduce"
SIZES = (32, 1024, 32 * 1024, 1 << 20, 16 << 20)
SLOTS = (2, 4, 8)
DTYPES = ("float64", "float32", "int64", "float16")
OPERATIONS = {
    "sum": (ReduceOp.SUM, np.add),
    "min": (ReduceOp.MIN, np.minimum),
    "max": (ReduceOp.MAX, np.maximum),
}


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; one row per operation, dtype, number of slots and size."""
    rows = []
    with harness.Neighbours() as neighbours:
        for dtype in DTYPES:
            for size in SIZES[1:-1] if quick else SIZES:
                for slots in SLOTS[:1] if quick else SLOTS:
                    rows += [_measure(name, dtype, slots, size, quick) for name in OPERATIONS]
    return {"others_cpu_percent": neighbours.percent, "rows": rows}


def _measure(name: str, dtype: str, slot_count: int, size: int, quick: bool) -> dict[str, Any]:
    native_op, ufunc = OPERATIONS[name]
    random = np.random.default_rng(slot_count)
    # Small whole numbers and halves: no NaN, no zero of either sign, nothing where NumPy's bits may differ.
    numbers = random.integers(1, 100, (slot_count, size // np.dtype(dtype).itemsize))
    stacked = (numbers if dtype == "int64" else numbers + 0.5).astype(dtype)
    slots = [row.copy() for row in stacked]
    out = np.zeros_like(slots[0])
    candidates: dict[str, Callable[[], object]] = {
        "native": partial(reduce, slots, out, native_op),
        "numpy_loop": partial(_numpy_loop, ufunc, slots, out),
        "numpy_stacked": partial(ufunc.reduce, stacked, axis=0, out=out),
    }
    _require_same_bits(candidates, out)
    timed = harness.best_of_rounds(
        candidates,
        rounds=3 if quick else 5,
        batches=3 if size >= 1 << 20 else 5,
        batch_s=0.0005 if quick else 0.002,
    )
    best = {candidate: times["best"] for candidate, times in timed.items()}
    return {
        "operation": name,
        "dtype": dtype,
        "slots": slot_count,
        "bytes": size,
        "best_s": best,
        "gb_per_s": {candidate: slot_count * size / seconds / 1e9 for candidate, seconds in best.items()},
        "ratio_to_loop": best["native"] / best["numpy_loop"],
        "ratio_to_stacked": best["native"] / best["numpy_stacked"],
        "rounds_s": {candidate: times["rounds"] for candidate, times in timed.items()},
    }


def _numpy_loop(ufunc: np.ufunc, slots: list[NDArray[Any]], out: NDArray[Any]) -> None:
    np.copyto(out, slots[0])
    for slot in slots[1:]:
        ufunc(out, slot, out=out)


def _require_same_bits(candidates: dict[str, Callable[[], object]], out: NDArray[Any]) -> None:
    results = {}
    for name, call in candidates.items():
        out.fill(0)
        call()
        results[name] = out.tobytes()
    different = [name for name, raw in results.items() if raw != results["native"]]
    if different:
        raise SystemExit(f"reduce: {different} give other bits than the native kernel ({out.dtype})")


def tables(result: dict[str, Any]) -> list[Table]:
    """Return one table per dtype: GB/s of the native kernel and its time over NumPy's."""
    return [_table(dtype, result["rows"]) for dtype in dict.fromkeys(row["dtype"] for row in result["rows"])]


def _table(dtype: str, rows: list[dict[str, Any]]) -> Table:
    table = Table("slots", "bytes each", title=f"reduce {dtype}: GB/s (time / NumPy loop, / NumPy stacked)")
    for name in OPERATIONS:
        table.add_column(name, justify="right")
    of_dtype = [row for row in rows if row["dtype"] == dtype]
    for slots, size in dict.fromkeys((row["slots"], row["bytes"]) for row in of_dtype):
        cells = [
            f"{row['gb_per_s']['native']:.2f}  ({row['ratio_to_loop']:.2f}, {row['ratio_to_stacked']:.2f})"
            for row in of_dtype
            if (row["slots"], row["bytes"]) == (slots, size)
        ]
        table.add_row(str(slots), harness.show_bytes(size), *cells)
    return table
