"""The tables of `comm.py`: per number of ranks and placement, a column per system, ratios beside targets."""

from __future__ import annotations

from typing import Any

import _targets
import harness
from _systems import in_order
from rich.table import Table


def table(group: dict[str, Any]) -> Table:
    """Return the table of one group of rows."""
    rows = group["rows"]
    labels = in_order({label for row in rows for label in row["systems"]})
    with_gloo = any(row["gloo_ratio"] is not None for row in rows)
    with_tls = any(row["tls_ratio"] is not None for row in rows)
    with_before = any(row["before_ratio"] is not None for row in rows)
    with_more = any(row["more_s"] is not None for row in rows)
    library = f" of {group['library']}" if group["library"] else ""
    title = f"{group['ranks']} ranks{library} on {_placement_words(group)}: best round, per call"
    made = Table("operation", "bytes", title=title)
    headings = ["/ fastest MPI", "by round", "target"] + ["/ gloo"] * with_gloo + ["TLS / plain"] * with_tls
    headings += ["/ before"] * with_before + ["more, µs"] * with_more
    for heading in (*labels, *headings):
        made.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        times = [
            harness.show_seconds(row["systems"][label]["best_s"]) if label in row["systems"] else "-"
            for label in labels
        ]
        size = harness.show_bytes(row["bytes"]) if row["bytes"] else ""
        cells = [_ratio(row["ratio"], row["target"]), _spread(row), _show(row["target"])]
        cells += [_ratio(row["gloo_ratio"], row["gloo_target"], digits=3)] * with_gloo
        cells += [_ratio(row["tls_ratio"], None)] * with_tls
        cells += [_ratio(row["before_ratio"], _targets.OF_BEFORE)] * with_before
        cells += [_ratio(_microseconds(row["more_s"]), _microseconds(row["more_target_s"]))] * with_more
        made.add_row(row["operation"], size, *times, *cells)
    return made


def _placement_words(group: dict[str, Any]) -> str:
    found = [about["placement"] for record in group["rounds"] for about in record.values()]
    barriers = [one["spin_barrier_ns"] for one in found if "spin_barrier_ns" in one]
    spread = f"; spin barrier {min(barriers):.0f} to {max(barriers):.0f} ns" if barriers else ""
    return f"{harness.usable_cpus()} CPUs ({group['placement']}{spread})"


def _ratio(ratio: float | None, target: float | None, digits: int = 2) -> str:
    """Return the ratio, marked when it misses its target."""
    if ratio is None:
        return "-"
    met = target is None or ratio <= target
    return f"{ratio:.{digits}f}" if met else f"[bold]{ratio:.{digits}f} ![/bold]"


def _microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1e6 * seconds


def _spread(row: dict[str, Any]) -> str:
    ratios = row["ratio_by_round"]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""


def _show(target: float | None) -> str:
    return "" if target is None else f"{target:.2f}"
