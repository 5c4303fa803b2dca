"""Figure of cost components by stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from cobre.elements import collect
from cobre.formatting import money
from cobre.report._axes import NUMBER, money_y, of, stacked, stage_x, when
from cobre.report._costs import needs_simulation
from cobre.report._figure import Columns, Figure, brief, rounded
from cobre.report._panel import Floats, panel
from cobre.report._source import remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results

OTHERS = "others"
#: The column with the value of what follows a stage: a cost of the scenario only after the last stage.
FUTURE = "future_cost"
#: Components below this share of the total, or beyond this number, are shown together as others.
LEAST, MOST = 1e-4, 7


def cost_label(column: str) -> str:
    """Return the label of a cost component.

    >>> cost_label("thermal_cost"), cost_label("inflow_penalty_cost")
    ('fuel', 'negative inflows')
    """
    if column == FUTURE:
        return "after the last stage"
    every = (component for components in collect("outputs", "COSTS").values() for component in components)
    return next((component.label for component in every if component.name == column), column)


@remembered
def components(results: Results) -> dict[str, Floats]:
    """Mean present value of each cost component by stage; small ones are combined."""
    costs = panel(results, "costs")
    shown = {component.name: component.label for component in results.cost_components if component.label}
    discount, *means = costs.means("discount_factor", *shown)
    found = dict(zip(shown.values(), (discount * values for values in means), strict=True))
    sizes = {name: float(np.abs(values).sum()) for name, values in found.items()}
    least = LEAST * sum(sizes.values())
    large = [name for name in sorted(sizes, key=lambda name: -sizes[name])[:MOST] if sizes[name] > least]
    small = [found[name] for name in found if name not in large and sizes[name] > 0]
    kept = {name: found[name] for name in large}
    return {**kept, OTHERS: np.sum(small, axis=0)} if small else kept


def rows(results: Results) -> Columns:
    """One row per stage and component."""
    found = components(results)
    edges, stages = stacked(found), panel(results, "costs").stages
    time, names = when(results, range(stages)), _names(found)
    return {
        **{name: time[name] * len(edges) for name in ("from", "to", "label")},
        "series": [names[name] for name in edges for _ in range(stages)],
        "low": [value for low, _ in edges.values() for value in rounded(low)],
        "high": [value for _, high in edges.values() for value in rounded(high)],
        "cost": [value for values in found.values() for value in rounded(values)],
    }


def chart(results: Results, theme: Theme) -> Any:
    """Stacked bars of components."""
    alt = altair()
    found = components(results)
    names = list(_names(found).values())
    colours = [*theme.series[1:], theme.series[0]][: len(names)]
    if OTHERS in found:
        colours[-1] = theme.quiet
    fill = alt.Fill(
        "series:N",
        scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(symbolType="square", columns=6),
    )
    tooltip = [
        alt.Tooltip("label:N", title="stage"),
        alt.Tooltip("series:N", title="component"),
        alt.Tooltip("cost:Q", title="cost, $", format=NUMBER),
    ]
    x, y = stage_x(results, "from"), money_y("mean present value, $")
    bars = alt.Chart().mark_rect(stroke=theme.paper, strokeWidth=0.4)
    return alt.layer(bars.encode(x, of(y, "low"), x2="to", y2="high", fill=fill, tooltip=tooltip))


def _names(found: dict[str, Floats]) -> dict[str, str]:
    """Labels of components with their sums over all stages."""
    return {name: f"{name}: {brief(float(values.sum()), 3)}" for name, values in found.items()}


def caption(results: Results) -> str:
    """Total and the largest component."""
    found = components(results)
    total = sum(float(values.sum()) for values in found.values())
    if not found or not total:
        return "all costs are zero"
    first = next(iter(found))
    share = 100 * float(found[first].sum()) / total
    return f"mean total {money(total)} · {first} {share:.3g} %"


FIGURE = Figure(
    "components",
    "Cost components",
    "Which costs arise in each stage?",
    rows,
    chart,
    caption,
    options_of=needs_simulation,
)
