"""Figure of bounds by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.estimates import Estimate, relative_gap
from cobre.formatting import count, gap_text, money, money_between
from cobre.report._axes import NUMBER, key, money_y, named, of
from cobre.report._costs import totals
from cobre.report._figure import Columns, Figure, Options, rounded
from cobre.report._panel import Floats
from cobre.report._source import remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results

BOUND, SIMULATED = "lower bound", "simulated mean"
#: The columns that are read, in the order in which they are unpacked.
READ = [
    "iteration",
    "lower_bound",
    "upper_bound_mean",
    "gap_percent",
    "cuts_active",
    "upper_bound_std",
    "forward_passes",
]
#: Trajectories per sampled mean: with fewer the line is too noisy to read.
ENOUGH = 100
#: Largest share of all iterations in one mean: trajectories of older ones followed another policy.
RECENT = 0.2


@dataclass(frozen=True, eq=False)
class ConvergenceHistory:
    """Bounds, sampled costs and cuts by iteration.

    Attributes:
        iteration: number of the iteration.
        bound: lower bound after it.
        sampled: mean cost of its trajectories.
        gap: gap between bound and that mean, in percent.
        cuts: active cuts after it.
        window: number of iterations that `mean` is taken over.
        mean: mean cost of the trajectories of the last ``window`` iterations.
        half: half-width of its 95 % confidence interval.
    """

    iteration: Floats
    bound: Floats
    sampled: Floats
    gap: Floats
    cuts: Floats
    window: int
    mean: Floats
    half: Floats

    @property
    def sampled_name(self) -> str:
        """Label of the sampled mean."""
        recent = f", last {self.window} iterations" if self.window > 1 else ""
        return f"mean of forward passes{recent}"


@remembered
def history(results: Results) -> ConvergenceHistory:
    """Return bounds, sampled costs and cuts by iteration.

    Raises:
        ResultsError: no iteration has finished yet.
    """
    table = results.convergence
    if not table.num_rows:
        place = str(results.folder / "training")
        raise ResultsError(
            place, "incomplete", "no iteration has finished yet; wait for the first checkpoint"
        )
    return history_of(*(np.asarray(table[name].to_numpy(), np.float64) for name in READ))


def history_of(  # noqa: PLR0913, PLR0917  the columns of a table
    number: Floats,
    bound: Floats,
    sampled: Floats,
    gap: Floats,
    cuts: Floats,
    deviation: Floats,
    count: Floats,
) -> ConvergenceHistory:
    """Return the history with these columns, and means over as many iterations as make one readable."""
    window = int(min(np.ceil(ENOUGH / count.mean()), max(1, RECENT * len(count))))
    mean, spread, size = pooled(sampled, deviation, count, window)
    samples = zip(mean.tolist(), spread.tolist(), size.astype(int).tolist(), strict=True)
    half = np.array([Estimate(*sample).half_width() for sample in samples])
    return ConvergenceHistory(number, bound, sampled, gap, cuts, window, mean, half)


def pooled(mean: Floats, deviation: Floats, count: Floats, window: int) -> tuple[Floats, Floats, Floats]:
    """Mean, standard deviation and size of the pooled samples of the last ``window`` iterations."""

    def recent(values: Floats) -> Floats:
        padded = np.concatenate([np.zeros(window - 1), values])
        return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, window).sum(axis=1))

    size = recent(count)
    together = recent(count * mean) / size
    shift = mean[-1]  # squares of raw costs would lose digits, those of differences do not
    squares = (
        recent((count - 1) * deviation**2 + count * (mean - shift) ** 2) - size * (together - shift) ** 2
    )
    return together, np.sqrt(np.maximum(squares, 0) / np.maximum(size - 1, 1)), size


@remembered
def simulated(results: Results) -> Estimate | None:
    """Mean cost of the simulation, if there is one."""
    try:
        return Estimate.of(totals(results).tolist())
    except ResultsError:
        return None


def needs_iterations(results: Results) -> Options:
    """Require an iteration; the figure has no options."""
    history(results)
    return {}


def rows(results: Results) -> Columns:
    """One row per iteration."""
    return rows_of(history(results), simulated(results))


def rows_of(known: ConvergenceHistory, reference: Estimate | None) -> Columns:
    """One row per iteration, with the simulated mean in each."""
    columns = {
        "iteration": known.iteration,
        "bound": known.bound,
        "sampled": known.sampled,
        "gap": known.gap,
        "cuts": known.cuts,
        "mean": known.mean,
        "low": known.mean - known.half,
        "high": known.mean + known.half,
    }
    if reference:
        value, half = np.full(len(known.bound), reference.mean), reference.half_width()
        columns |= {"simulated": value, "simulated_low": value - half, "simulated_high": value + half}
    return {name: rounded(values) for name, values in columns.items()}


def chart(results: Results, theme: Theme) -> Any:
    """Lines with confidence bands, scaled to the later iterations."""
    return chart_of(history(results), simulated(results), theme)


def chart_of(
    known: ConvergenceHistory,
    reference: Estimate | None,
    theme: Theme,
    bound: str = BOUND,
    title: str = "cost, $",
) -> Any:
    """The chart with other words for the bound and the axis."""
    alt = altair()
    y = money_y(title, _range(known, reference))
    steps = alt.Axis(format="d", tickMinStep=1)
    x = alt.X("iteration:Q", title="iteration", axis=steps, scale=alt.Scale(nice=False, zero=False))
    sampled = known.sampled_name
    names = [bound, sampled, *([SIMULATED] if reference else [])]
    stroke = alt.Stroke(**key(names, theme.series))
    dots = alt.Chart().mark_point(clip=True, size=12, filled=True, opacity=0.35, color=theme.series[1])
    band = alt.Chart().mark_area(clip=True, opacity=0.18, color=theme.series[1])
    thin = alt.Chart().mark_line(clip=True, strokeWidth=1.5)
    thick = alt.Chart().mark_line(clip=True, strokeWidth=2.5)
    return alt.layer(
        dots.encode(x, of(y, "sampled")),
        band.encode(x, of(y, "low"), y2="high"),
        named(thin.encode(x, of(y, "mean"), stroke=stroke), sampled),
        *(_reference(x, y, theme, stroke) if reference else ()),
        named(thick.encode(x, of(y, "bound"), stroke=stroke), bound),
        _tooltips(x, bound),
    )


def _reference(x: Any, y: Any, theme: Theme, stroke: Any) -> list[Any]:
    """Simulated mean, which does not depend on the iteration."""
    alt = altair()
    line = alt.Chart().mark_line(clip=True, strokeDash=[6, 4], strokeWidth=1.8)
    band = alt.Chart().mark_area(clip=True, opacity=0.18, color=theme.series[2])
    return [
        band.encode(x, of(y, "simulated_low"), y2="simulated_high"),
        named(line.encode(x, of(y, "simulated"), stroke=stroke), SIMULATED),
    ]


def _tooltips(x: Any, bound: str) -> Any:
    alt = altair()
    over = alt.selection_point(
        on="pointerover", clear="pointerout", nearest=True, encodings=["x"], empty=False
    )
    fields = [
        alt.Tooltip("iteration:Q"),
        alt.Tooltip("bound:Q", title=bound, format=NUMBER),
        alt.Tooltip("mean:Q", title="mean of recent iterations", format=NUMBER),
        alt.Tooltip("sampled:Q", title="mean of this iteration", format=NUMBER),
        alt.Tooltip("gap:Q", title="gap, %", format=".3~g"),
        alt.Tooltip("cuts:Q", title="active cuts", format=",d"),
    ]
    shade = alt.condition(over, alt.value(0.4), alt.value(0))
    return alt.Chart().mark_rule(strokeWidth=1).encode(x, opacity=shade, tooltip=fields).add_params(over)


def _range(known: ConvergenceHistory, reference: Estimate | None) -> tuple[float, float]:
    """Range of costs shown: the first iterations may be far off, so the first tenth does not count."""
    count, late = len(known.bound), len(known.bound) // 10
    rest = min(late + known.window - 1, count - 1)  # from here on no mean includes the first tenth
    edges = np.stack([known.mean - known.half, known.mean + known.half])[:, rest:]
    seen = [*known.bound[late:], *known.mean[rest:], *([reference.mean] if reference else [])]
    seen += np.quantile(edges[np.isfinite(edges)], (0.05, 0.95)).tolist() if np.isfinite(edges).any() else []
    low, high = float(np.min(seen)), float(np.max(seen))
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def caption(results: Results) -> str:
    """Final bound, simulated mean and gap."""
    known, reference = history(results), simulated(results)
    bound = float(known.bound[-1])
    adjusted = " of the risk-adjusted cost" if results.risk_averse else ""
    parts = [count(len(known.bound), "iteration"), f"lower bound {money(bound)}{adjusted}"]
    if reference:
        mean, half = reference.mean, reference.half_width()
        parts.append(f"simulated mean {money_between(mean, half) if np.isfinite(half) else money(mean)}")
        gap = None if results.risk_averse else relative_gap(bound, reference.mean)
        parts.append(f"gap {gap_text(gap)}")
    return " · ".join(parts)


FIGURE = Figure(
    "convergence",
    "Convergence",
    "Has training converged: how far is the simulated cost from the lower bound?",
    rows,
    chart,
    caption,
    options_of=needs_iterations,
)
