"""Report page and summary of a problem that ``cobre solve`` has solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from cobre.estimates import relative_gap
from cobre.formatting import count, duration, percent
from cobre.report._about import Group, Status, moment, workers_line
from cobre.report._figure import grouped
from cobre.report._key import NONE, KeyFigure
from cobre.report._solved_figures import DIGITS, bound_name, mean_words, simulated_mean, total_name
from cobre.results import SolvedProblem


def content(solved: SolvedProblem) -> dict[str, Any]:
    """Return what the page shows beside the figures."""
    known = solved.summary
    return {
        "about": [moment(known["finished_at"]), workers_line(known["workers"])],
        "status": Status("good", "complete"),
        "banner": None,
        "key": _key_figures(solved),
        "reading": list(zip(("The policy", "The run"), lines(solved), strict=True)),
        "run": _groups(solved),
    }


def lines(solved: SolvedProblem) -> tuple[str, str]:
    """Return a summary in two lines: of the policy, and of the run."""
    known, bound = solved.summary, grouped(solved.summary["bound"], DIGITS)
    mean = simulated_mean(solved)
    if mean is None:
        policy = f"{bound_name(solved).capitalize()} {bound}; the policy has not been simulated."
    else:
        sampled = count(mean.count, "trajectory", "trajectories")
        policy = (
            f"Simulated mean {mean_words(mean)} ({sampled}); {bound_name(solved)} {bound}, {_gap(solved)}."
        )
    trained = f"{count(known['iterations'], 'iteration')} in {duration(known['seconds'])}: {known['reason']}."
    return policy, f"{trained} {known['merging']}".strip()


def _gap(solved: SolvedProblem) -> str:
    """The gap in words, and whether sampling explains it."""
    mean, bound = simulated_mean(solved), float(solved.summary["bound"])
    if mean is None or mean.count == 1:
        return "gap unknown"
    if abs(mean.mean - bound) <= mean.half_width():
        return "within sampling error"
    gap = relative_gap(bound, mean.mean, solved.summary["sense"])
    return "gap undefined" if gap is None else f"gap {percent(gap)}"


def _key_figures(solved: SolvedProblem) -> list[KeyFigure]:
    known, mean = solved.summary, simulated_mean(solved)
    total = total_name(solved)
    return [
        KeyFigure(f"Simulated {total}", NONE, note="not simulated")
        if mean is None
        else KeyFigure(
            f"Simulated {total}", mean_words(mean), note="mean, with its 95 % confidence interval"
        ),
        KeyFigure(bound_name(solved).capitalize(), grouped(known["bound"], DIGITS), note=f"expected {total}"),
        KeyFigure("Gap", _gap(solved).removeprefix("gap ")),
        KeyFigure("Iterations", f"{known['iterations']:,}", note=known["reason"]),
        KeyFigure("Training", duration(known["seconds"])),
        KeyFigure("Nodes", f"{known['nodes']:,}", note=count(known["states"], "state")),
        KeyFigure("Cuts", f"{known['cuts']:,}", note="active"),
    ]


def _groups(solved: SolvedProblem) -> list[Group]:
    """Facts needed to reproduce the run."""
    known = solved.summary
    run = ("problem", "sense", "nodes", "states", "merging", "finished_at")
    files = [
        (path.name, f"{path.stat().st_size:,} B")
        for path in sorted(solved.folder.iterdir())
        if path.is_file()
    ]
    return [
        Group("Run", [(name.replace("_", " "), str(known[name])) for name in run if known[name] != ""]),
        Group("Workers", [(name.replace("_", " "), str(value)) for name, value in known["workers"].items()]),
        Group("Method", [(name, str(value)) for name, value in known["method"].items()]),
        Group("Versions", [(name, str(value)) for name, value in known["versions"].items()]),
        Group("Files", files),
    ]


def facts(solved: SolvedProblem) -> dict[str, str]:
    """Return names with values, for a console."""
    known = solved.summary
    policy, run = lines(solved)
    found = {
        "problem": f"{known['problem']}: {count(known['nodes'], 'node')}, {count(known['states'], 'state')}",
        "policy": policy,
        "run": run,
        "cuts": f"{known['cuts']:,} active",
        "workers": workers_line(known["workers"]),
    }
    if solved.simulated:
        shares = (0.0, 0.5, 0.9, 1.0)
        least, median, p90, most = (grouped(float(q), DIGITS) for q in np.quantile(solved.totals, shares))
        found[f"{total_name(solved)}s"] = (
            f"minimum {least}, median {median}, 90 % quantile {p90}, maximum {most}"
        )
    return found
