"""What a call costs when there is nobody to talk to: `local` beside NumPy's own copy.

On one rank `allreduce` and `allgatherv` copy ``send`` to ``recv``, and `broadcast` and `barrier` have
nothing to do. So what a call takes beyond ``np.copyto`` of the same array is what our Python layer costs:
checking the arguments, keeping threads apart, one call into native code. The target is at most 2 µs for
`allreduce`.

What the number does not mean: nothing is communicated here. It is a lower bound for what the other
backends add to the time on the wire, and it says nothing about that time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import harness
import numpy as np
from rich.table import Table

from cobre.comm import ReduceOp, create_communicator

NAME = "local_overhead"
SIZES = (8, 32, 1024)
TARGET_S = 2e-6


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; one row per operation and size."""
    rows = []
    with harness.Neighbours() as neighbours, create_communicator("local") as comm:
        for size in SIZES:
            send, recv = np.arange(1.0, size // 8 + 1), np.zeros(size // 8)
            counts = [send.size]
            timed = harness.best_of_rounds(
                {
                    "np.copyto": partial(np.copyto, recv, send),
                    "allreduce": partial(comm.allreduce, send, recv, ReduceOp.SUM),
                    "allgatherv": partial(comm.allgatherv, send, recv, counts),
                    "broadcast": partial(comm.broadcast, recv, 0),
                    "barrier": comm.barrier,
                },
                rounds=3 if quick else 9,
                batch_s=0.002 if quick else 0.005,
            )
            copy = timed["np.copyto"]["best"]
            rows += [
                {
                    "operation": name,
                    "bytes": size,
                    "best_s": times["best"],
                    "above_copy_s": times["best"] - copy,
                    "target_s": TARGET_S if name == "allreduce" else None,
                    "rounds_s": times["rounds"],
                }
                for name, times in timed.items()
            ]
    return {"others_cpu_percent": neighbours.percent, "rows": rows}


def tables(result: dict[str, Any]) -> list[Table]:
    """Return what a reader wants to see."""
    table = Table("operation", title="local: the cost of one call, and how much of it is not the copy")
    for size in SIZES:
        table.add_column(harness.show_bytes(size), justify="right")
    table.add_column("target", justify="right")
    names = dict.fromkeys(row["operation"] for row in result["rows"])
    for name in names:
        rows = [row for row in result["rows"] if row["operation"] == name]
        cells = [
            harness.show_seconds(row["best_s"])
            + ("" if name == "np.copyto" else f"  ({row['above_copy_s'] * 1e6:+.2f})")
            for row in rows
        ]
        table.add_row(name, *cells, f"(+{TARGET_S * 1e6:.2f})" if name == "allreduce" else "")
    return [table]
