"""Figures of any problem that ``cobre solve`` has solved: nothing in them is of a hydrothermal system."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.estimates import Estimate, relative_gap
from cobre.formatting import count
from cobre.report import _convergence, _costs, _storage
from cobre.report._axes import key, named, of, quantity_y
from cobre.report._figure import Columns, Figure, Options, grouped, rounded
from cobre.report._panel import Floats
from cobre.report._theme import Theme, altair
from cobre.results import SolvedProblem
from cobre.sddp import Policy

#: States on a page at most: each is a drawing.
MOST_STATES = 200
#: Significant digits of bounds and means.
DIGITS = 7
#: Width of a chart in pixels, roughly.
WIDTH = 640


def bound_name(solved: SolvedProblem) -> str:
    """Return what the bound of training is called."""
    return "upper bound" if solved.maximizes else "lower bound"


def total_name(solved: SolvedProblem) -> str:
    """Return what a trajectory adds up."""
    return "reward" if solved.maximizes else "cost"


def simulated_mean(solved: SolvedProblem) -> Estimate | None:
    """Return the mean of the simulated totals, if there are any."""
    return Estimate.of(solved.totals.tolist()) if solved.simulated else None


def _history(solved: SolvedProblem) -> _convergence.ConvergenceHistory:
    numbers = {
        name: np.asarray(solved.bounds[name].to_numpy(), np.float64) for name in solved.bounds.column_names
    }
    gaps = [
        relative_gap(bound, mean, solved.summary["sense"])
        for bound, mean in zip(numbers["bound"].tolist(), numbers["mean"].tolist(), strict=True)
    ]
    return _convergence.history_of(
        numbers["iteration"],
        numbers["bound"],
        numbers["mean"],
        np.array([np.nan if gap is None else 100 * gap for gap in gaps]),
        numbers["cuts_active"],
        numbers["standard_deviation"],
        numbers["trajectories"],
    )


def _convergence_chart(solved: SolvedProblem, theme: Theme) -> Any:
    words = bound_name(solved), total_name(solved)
    return _convergence.chart_of(_history(solved), simulated_mean(solved), theme, *words)


def _convergence_caption(solved: SolvedProblem) -> str:
    bound = grouped(solved.summary["bound"], DIGITS)
    parts = [count(solved.summary["iterations"], "iteration"), f"{bound_name(solved)} {bound}"]
    if (mean := simulated_mean(solved)) is not None:
        parts.append(f"simulated mean {mean_words(mean)}")
    return " · ".join(parts)


def mean_words(estimate: Estimate) -> str:
    """Return a mean with the half-width of its 95 % confidence interval, if it has one."""
    half = f" ± {grouped(estimate.half_width(), 2)}" if estimate.count > 1 else ""
    return f"{grouped(estimate.mean, DIGITS)}{half}"


def require_simulation(solved: SolvedProblem) -> Options:
    """Require a simulation; the figure has no options.

    Raises:
        ResultsError: there is none.
    """
    if not solved.simulated:
        reason = "there is no simulation; solve with --simulations 1000"
        raise ResultsError(str(solved.folder), "incomplete", reason)
    return {}


def _levels(solved: SolvedProblem) -> dict[str, float]:
    """Lines in the distribution: quantiles, the means of all and of the worst, and the bound."""
    sign, found = -1.0 if solved.maximizes else 1.0, solved.totals
    low, high = np.quantile(found, (_costs.TAIL, 1 - _costs.TAIL))
    return {
        "P5": float(low),
        "mean": float(found.mean()),
        "P95": float(high),
        "mean of the worst 5 %": sign * _costs.tail_mean(sign * found, _costs.TAIL),
        bound_name(solved): float(solved.summary["bound"]),
    }


def _totals_caption(solved: SolvedProblem) -> str:
    found = solved.totals
    deviation = float(found.std(ddof=1)) if len(found) > 1 else 0.0
    return (
        f"{count(len(found), 'trajectory', 'trajectories')} · mean {grouped(float(found.mean()), DIGITS)}, "
        f"standard deviation {grouped(deviation, 3)} · from {grouped(float(found.min()), DIGITS)} to "
        f"{grouped(float(found.max()), DIGITS)} · discounted"
    )


def _state_options(solved: SolvedProblem) -> Options:
    require_simulation(solved)
    if not solved.states:
        raise ResultsError(str(solved.folder), "incomplete", "the problem has no states")
    return {"state": dict(enumerate(list(solved.states)[:MOST_STATES]))}


def _state(solved: SolvedProblem, state: int) -> tuple[str, Floats]:
    return list(solved.states.items())[state]


def _state_rows(solved: SolvedProblem, state: int) -> Columns:
    """One row for the beginning, and one for each step."""
    _, values = _state(solved, state)
    steps = np.arange(values.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a step in which no node has the state
        quantiles = np.nanquantile(values, list(_storage.QUANTILES.values()), axis=0)
        mean = np.nanmean(values, axis=0)
    return {
        "from": rounded(np.maximum(steps - 1.0, 0.0)),
        "to": rounded(steps.astype(np.float64)),
        "label": ["beginning", *(f"step {step}" for step in steps[1:].tolist())],
        **{name: rounded(each) for name, each in zip(_storage.QUANTILES, quantiles, strict=True)},
        "mean": rounded(mean),
    }


def _state_chart(solved: SolvedProblem, theme: Theme) -> Any:
    alt = altair()
    axis = alt.Axis(title="steps done", tickMinStep=1, format="d")
    x = alt.X("to:Q", scale=alt.Scale(zero=False, nice=False, padding=0), axis=axis)
    looks = {name: _storage.LOOKS[name] for name in ("mean", "median")}
    over = alt.selection_point(on="pointerover", clear="pointerout", empty=False)
    shade = alt.condition(over, alt.value(0.15), alt.value(0))
    shown = [alt.Tooltip("label:N", title="after"), *_storage.quantile_tooltips()]
    hover = alt.Chart().mark_rect(color="#808080").encode(x="from:Q", x2="to:Q", opacity=shade, tooltip=shown)
    layers = _storage.fan(x, quantity_y("value of the state"), theme, looks)
    return alt.layer(*layers, hover.add_params(over))


def _state_caption(solved: SolvedProblem, state: int) -> str:
    name, values = _state(solved, state)
    known = values[:, ~np.isnan(values).all(axis=0)]
    if not known.size:
        return f"{name} · in no node that was visited"
    last = known[:, -1][~np.isnan(known[:, -1])]
    low, high = np.quantile(last, (0.05, 0.95))
    return (
        f"{name} · at the end mean {grouped(float(last.mean()))}, "
        f"90 % of trajectories between {grouped(float(low))} and {grouped(float(high))}"
    )


def cuts_by_node(solved: SolvedProblem) -> Mapping[str, tuple[int, int]]:
    """Return all cuts and active ones by value function, which merged nodes share and the first names."""
    policy = Policy.load(solved.policy_path)
    found: dict[int, tuple[str, tuple[int, int]]] = {}
    members = Counter(map(id, policy.records.values()))
    for name, record in policy.records.items():
        found.setdefault(id(record), (name, (len(record.cuts), len(record.active))))
    return {
        name + (f" and {members[key] - 1} others" if members[key] > 1 else ""): sizes
        for key, (name, sizes) in found.items()
    }


def _cut_rows(solved: SolvedProblem) -> Columns:
    known = cuts_by_node(solved)
    return {
        "place": list(range(1, len(known) + 1)),
        "node": list(known),
        "cuts": [cuts for cuts, _ in known.values()],
        "active": [active for _, active in known.values()],
    }


def _cut_chart(solved: SolvedProblem, theme: Theme) -> Any:
    """Bars of all cuts, and in front of them those of the active ones."""
    alt = altair()
    axis = alt.Axis(title="value function, in the order of nodes", tickMinStep=1, format="d")
    x = alt.X("place:Q", scale=alt.Scale(nice=False, zero=False, padding=12), axis=axis)
    y = quantity_y("cuts")
    shown = [
        alt.Tooltip("node:N"),
        alt.Tooltip("cuts:Q", format=",d"),
        alt.Tooltip("active:Q", title="active cuts", format=",d"),
    ]
    width = min(24.0, 0.8 * WIDTH / max(len(cuts_by_node(solved)), 1))
    fill = alt.Fill(**key(("active", "all"), (theme.series[0], theme.fan[1]), "square"))
    bars = alt.Chart().mark_bar(size=width)
    return alt.layer(
        named(bars.encode(x, of(y, "cuts"), fill=fill, tooltip=shown), "all"),
        named(bars.encode(x, of(y, "active"), fill=fill, tooltip=shown), "active"),
    )


def _cut_caption(solved: SolvedProblem) -> str:
    known = cuts_by_node(solved)
    cuts, active = (sum(sizes[i] for sizes in known.values()) for i in (0, 1))
    return (
        f"{count(len(known), 'value function')} of {count(solved.summary['nodes'], 'node')} · "
        f"{cuts:,} cuts, {active:,} active"
    )


FIGURES = (
    Figure(
        "convergence",
        "Convergence",
        "Has training converged: how far is the simulated mean from the bound?",
        lambda solved: _convergence.rows_of(_history(solved), simulated_mean(solved)),
        _convergence_chart,
        _convergence_caption,
    ),
    Figure(
        "totals",
        "Distribution of totals",
        "How much do trajectories differ, and how bad are the worst?",
        lambda solved: _costs.rows_of(solved.totals, _levels(solved)),
        lambda solved, theme: _costs.chart_of(theme, f"{total_name(solved)} of a trajectory", "trajectories"),
        _totals_caption,
        options_of=require_simulation,
    ),
    Figure(
        "states",
        "States",
        "How do the states evolve, and how much do trajectories differ?",
        _state_rows,
        _state_chart,
        _state_caption,
        ("state",),
        _state_options,
    ),
    Figure(
        "cuts",
        "Cuts",
        "Where are the cuts of the policy?",
        _cut_rows,
        _cut_chart,
        _cut_caption,
    ),
)
