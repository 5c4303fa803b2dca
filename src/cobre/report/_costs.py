"""Figure of the distribution of scenario costs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.formatting import count, money
from cobre.report._axes import NUMBER, PREFIXED
from cobre.report._figure import Columns, Figure, Options, brief, rounded
from cobre.report._panel import Floats, panel
from cobre.report._source import remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results

#: Probability of each tail.
TAIL = 0.05


def needs_simulation(results: Results) -> Options:
    """Require a simulation; the figure has no options."""
    panel(results, "costs")
    return {}


@remembered
def totals(results: Results) -> Floats:
    """Present value of each scenario's cost, including the future cost after the last stage.

    Raises:
        ResultsError: there is no simulation.
    """
    costs = panel(results, "costs")
    last = costs.stage == costs.stages - 1

    def add(immediate: Floats, future: Floats, discount: Floats) -> Floats:
        return np.asarray((discount * (immediate + future * last)).sum(axis=1))

    return costs.gather(("immediate_cost", "future_cost", "discount_factor"), add)


@remembered
def levels(results: Results) -> dict[str, float]:
    """Key statistics: mean, 5 % and 95 % quantiles, CVaR, and the lower bound if there is one."""
    found = totals(results)
    low, high = np.quantile(found, (TAIL, 1 - TAIL))
    named = {"P5": float(low), "mean": float(found.mean()), "P95": float(high)}
    named["CVaR 95 %"] = tail_mean(found, TAIL)
    with suppress(ResultsError, IndexError):  # a simulation without training has none
        name = "risk-adjusted lower bound" if results.risk_averse else "lower bound"
        named[name] = float(results.convergence["lower_bound"][-1].as_py())
    return named


def tail_mean(costs: Floats, share: float) -> float:
    """Conditional value at risk: mean of the most expensive share of costs, the last one weighted in part.

    >>> tail_mean(np.array([1.0, 2.0, 3.0, 4.0]), 0.375)
    3.6666666666666665
    """
    descending, count = np.sort(costs)[::-1], share * len(costs)
    weights = np.clip(count - np.arange(len(costs)), 0, 1)
    return float(descending @ weights / count)


def rows(results: Results) -> Columns:
    """One row per bar, and one per labelled line."""
    return rows_of(totals(results), levels(results))


def rows_of(found: Floats, levels: Mapping[str, float]) -> Columns:
    """The histogram of some costs, and lines at some levels."""
    counts, edges = np.histogram(found, bins=_bins(found))
    share = 100 * counts / len(found)
    marks = _marks(levels, edges)
    bars, lines = [None] * len(counts), [None] * len(marks)
    heights = share.max() * (1.55 - 0.1 * np.arange(len(marks)))
    return {
        "from": [*rounded(edges[:-1]), *rounded([value for _, value, _ in marks])],
        "to": [*rounded(edges[1:]), *lines],
        "share": [*rounded(share), *rounded(heights)],
        "count": [*counts.tolist(), *lines],
        "mark": [*bars, *(f"{name}: {brief(value)}" for name, value, _ in marks)],
        "left": [*bars, *(left for *_, left in marks)],
    }


def _marks(levels: Mapping[str, float], edges: Floats) -> list[tuple[str, float, bool]]:
    """Labelled lines, the highest first; True puts the label to the left, so that none overlap."""
    turn = edges[0] + 0.7 * (edges[-1] - edges[0])
    known = sorted(levels.items(), key=lambda mark: mark[1])
    rightwards = [(name, value, False) for name, value in known if value <= turn]
    return rightwards + [(name, value, True) for name, value in known[::-1] if value > turn]


def _bins(found: Floats) -> int:
    """Number of bars by the rule of Freedman and Diaconis (1981)."""
    edges = np.histogram_bin_edges(found, "fd") if np.ptp(found) > 0 else found[:1]
    return int(np.clip(len(edges) - 1, 8, 60)) if len(found) > 1 else 1


def chart(results: Results, theme: Theme) -> Any:
    """Histogram with labelled lines."""
    return chart_of(theme, "scenario cost, $", "scenarios")


def chart_of(theme: Theme, title: str, things: str) -> Any:
    """Histogram with a title of its axis, and a name for what is counted."""
    alt = altair()
    x = alt.X("from:Q", title=title, axis=alt.Axis(labelExpr=PREFIXED))
    x.scale = alt.Scale(zero=False, nice=False, padding=12)
    y = alt.Y("share:Q", title=f"share of {things}, %", scale=alt.Scale(zero=True, nice=False))
    bars = alt.Chart().mark_rect(color=theme.series[0], stroke=theme.paper, strokeWidth=0.8)
    tooltip = [
        alt.Tooltip("from:Q", title="from", format=NUMBER),
        alt.Tooltip("to:Q", title="to", format=NUMBER),
        alt.Tooltip("count:Q", title=things),
    ]
    lines = alt.Chart().mark_rule(color=theme.ink, strokeDash=[4, 3]).transform_filter("datum.mark != null")
    halo = {"stroke": theme.paper, "strokeWidth": 4, "strokeJoin": "round"}
    words = [
        alt.Chart()
        .mark_text(align="right" if left else "left", dx=-5 if left else 5, dy=4, **look)
        .encode(x, y, text="mark:N")
        .transform_filter(f"datum.mark != null && datum.left == {str(left).lower()}")
        for look in (halo, {})
        for left in (True, False)
    ]
    base = bars.transform_filter("datum.mark == null")
    return alt.layer(
        base.encode(x, y, x2="to", y2=alt.Y2(datum=0), tooltip=tooltip),
        lines.encode(x, y, y2=alt.Y2(datum=0)),
        *words,
    )


def caption(results: Results) -> str:
    """Number of scenarios, mean, standard deviation and range."""
    found = totals(results)
    deviation = float(found.std(ddof=1)) if len(found) > 1 else 0.0
    return (
        f"{count(len(found), 'scenario')} · mean {money(float(found.mean()))}, standard deviation "
        f"{money(deviation, 3)} · from {money(float(found.min()))} to {money(float(found.max()))} · "
        "present values"
    )


FIGURE = Figure(
    "costs",
    "Scenario costs",
    "How are the costs of scenarios distributed, and how expensive are the worst?",
    rows,
    chart,
    caption,
    options_of=needs_simulation,
)
