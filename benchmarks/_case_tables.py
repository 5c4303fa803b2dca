"""The tables of `case.py`."""

from __future__ import annotations

from typing import Any

from rich.table import Table


def tables(result: dict[str, Any]) -> list[Table]:
    """Show each part that was measured."""
    shows = {
        "peer": _peer_table,
        "speedup": _speedup_table,
        "simulation": _simulation_table,
        "loading": _loading_table,
    }
    measured = [part for part in shows if part in result and "skipped" not in result[part]]
    return [shows[part](result[part]) for part in measured]


def table(title: str, first: str, *columns: str) -> Table:
    """Return an empty table whose columns after the first are numbers."""
    shown = Table(title=title)
    shown.add_column(first)
    for column in columns:
        shown.add_column(column, justify="right")
    return shown


def _peer_table(result: dict[str, Any]) -> Table:
    title = f"{result['iterations']} iterations on one thread; the same bound is {result['goal']:.6g}"
    shown = table(
        *(title, "who", "s to the same bound", "iterations", "s for all", "ms per iteration", "µs per solve"),
        *("bound at the end", "memory, MB"),
    )
    for row in result["rows"]:
        shown.add_row(
            row["who"],
            f"{row['to_goal_s']:.2f}",
            str(row["to_goal_iterations"]),
            f"{row['training_s']:.2f}",
            f"{1000 * row['training_s'] / result['iterations']:.0f}",
            f"{1e6 * row['training_s'] / row['solves']:.0f}",
            f"{row['bound']:.6g}",
            f"{row['peak_mb']:.0f}",
        )
    ours, theirs = result["rows"] if result["rows"][0]["who"] == "ours" else reversed(result["rows"])
    ratios = {
        "to the same bound": ours["to_goal_s"] / theirs["to_goal_s"],
        "per iteration": ours["training_s"] / theirs["training_s"],
    }
    marked = [
        f"{what} {ratio:.3f}{' !' if ratio > result['target'] else ''}" for what, ratio in ratios.items()
    ]
    shown.caption = f"our time over the peer's: {', '.join(marked)}; target {result['target']:.2f}"
    return shown


def _speedup_table(result: dict[str, Any]) -> Table:
    title = f"the same training, {result['iterations']} iterations, same bits"
    shown = table(
        title, "on", "s, best turn", "ratio to one", "by turn", "target", "outside solves", "MB per process"
    )
    for row in result["rows"]:
        alone = row["way"] == "one worker"
        shown.add_row(
            row["way"],
            f"{row['seconds']:.2f}",
            f"{row['ratio']:.2f}{' !' if not alone and row['ratio'] > result['target'] else ''}",
            f"{min(row['ratios']):.2f} to {max(row['ratios']):.2f}",
            "" if alone else f"{result['target']:.2f}",
            "" if row["outside_solves"] is None else f"{100 * row['outside_solves']:.0f} %",
            f"{row['peak_mb_per_process']:.0f}",
        )
    return shown


def _simulation_table(result: dict[str, Any]) -> Table:
    title = f"{result['scenarios']} scenarios with all tables"
    shown = table(
        title, "layout, on", "s, best turn", "scenarios / s", "ratio to one", "by turn", "files", "MB"
    )
    for part in ("solving", "tables", "encoding", "files awaited"):
        shown.add_column(part, justify="right")
    for row in result["rows"]:
        several, whole = row["way"] == "two workers (shm)", row["simulation_s"]
        own = [row["tables_s"], row["encoding_s"], row["awaiting_files_s"]]
        shares = ["", "", "", ""]
        if any(own):  # done in the process that measures
            shares = [f"{100 * part / whole:.0f} %" for part in (whole - sum(own), *own)]
        shown.add_row(
            f"{row['layout']}, {row['way']}",
            f"{whole:.2f}",
            f"{row['per_second']:.0f}",
            f"{row['ratio']:.2f}{' !' if several and row['ratio'] > result['target'] else ''}",
            f"{min(row['ratios']):.2f} to {max(row['ratios']):.2f}",
            f"{row['files']:,}",
            f"{row['bytes'] / 1e6:.1f}",
            *shares,
        )
    return shown


def _loading_table(result: dict[str, Any]) -> Table:
    title = f"loading and checking {result['files']} files, {result['bytes'] / 1e6:.1f} MB"
    shown = table(title, "plants", "stages", "s, best turn", "target", "memory, MB")
    shown.add_row(
        f"{result['hydros']:.0f}",
        f"{result['stages']:.0f}",
        f"{result['load_s']:.2f}{' !' if result['load_s'] > result['target'] else ''}",
        f"{result['target']:.1f}",
        f"{result['peak_mb']:.0f}",
    )
    return shown
