"""The tables of `country.py`."""

from __future__ import annotations

from typing import Any

from _case_tables import table
from rich.table import Table


def tables(result: dict[str, Any]) -> list[Table]:
    """Show each part that was measured."""
    shown = []
    if "peer" in result and "skipped" not in result["peer"]:
        shown += [_race(race) for race in result["peer"]["races"]]
    if "sizes" in result:
        shown.append(_division("by size", result["sizes"]))
    if "cuts" in result:
        shown.append(_division("by number of cuts", result["cuts"]))
    if "whole" in result:
        shown.append(_whole(result["whole"]))
    return shown


def _race(race: dict[str, Any]) -> Table:
    shape = ", ".join(f"{race[name]} {name}" for name in ("hydros", "lags", "thermals", "stages", "openings"))
    shown = table(
        *(f"{shape}; {race['iterations']} iterations of {race['passes']} passes on one thread", "who"),
        *("s for all", "s to the same bound", "iterations", "ms per solve", "bound at the end", "memory, MB"),
    )
    for row in race["rows"]:
        shown.add_row(
            row["who"],
            f"{row['training_s']:.2f}",
            f"{row['to_goal_s']:.2f}",
            str(row["to_goal_iterations"]),
            f"{1e3 * row['training_s'] / row['solves']:.3f}",
            f"{row['bound']:.6g}",
            f"{row['peak_mb']:.0f}",
        )
    by_name = {row["who"]: row for row in race["rows"]}
    ours, theirs, target = by_name["ours"], by_name["cobre-python"], race["target"]
    ratios = {
        "for all": ours["training_s"] / theirs["training_s"],
        "to the same bound": ours["to_goal_s"] / theirs["to_goal_s"],
    }
    marked = [
        f"{what} {ratio:.3f}{' !' if target and ratio > target else ''}" for what, ratio in ratios.items()
    ]
    shown.caption = f"our time over the peer's: {', '.join(marked)}" + (
        f"; target {target:.2f}" if target else ""
    )
    return shown


def _division(title: str, rows: list[dict[str, Any]]) -> Table:
    shown = table(
        *(f"where the time goes, {title}", "case", "rows", "states", "cuts per stage", "solves"),
        *("pivots / solve", "runs / solve", "ms / solve", "target", "in the solver", "around it", "rest"),
    )
    for row in rows:
        target = row.get("target_ms")
        shown.add_row(
            row.get("case") or f"{row['hydros']} plants, {row['lags']} lags",
            *(str(row["rows"]), str(row["states"]), f"{row['cuts_per_stage']:,}", f"{row['solves']:,}"),
            *(f"{row['pivots_per_solve']:.1f}", f"{row['runs_per_solve']:.2f}"),
            f"{row['ms_per_solve']:.3f}{' !' if target and row['ms_per_solve'] > target else ''}",
            "" if target is None else f"{target:.2f}",
            *(f"{100 * row[part]:.0f} %" for part in ("in_solver", "around_it", "rest")),
        )
    return shown


def _whole(row: dict[str, Any]) -> Table:
    shown = table("one iteration at full size", "case", "s", "solves", "ms per solve", "s with loading", "MB")
    shape = ", ".join(f"{row[name]} {name}" for name in ("hydros", "lags", "stages", "openings", "passes"))
    shown.add_row(
        shape,
        f"{row['training_s']:.1f}",
        f"{row['solves']:,}",
        f"{1e3 * row['training_s'] / row['solves']:.3f}",
        f"{row['seconds']:.1f}",
        f"{row['peak_mb']:.0f}",
    )
    return shown
