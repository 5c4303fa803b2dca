"""Axes and columns that several figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cobre.report._figure import Columns
from cobre.report._panel import Floats
from cobre.report._source import calendar
from cobre.report._theme import altair
from cobre.results import Results

#: Money as `brief` has it: 12.3 bn, where Vega writes 12.3G; quantities with thousands separators.
PREFIXED = (
    "replace(replace(replace(format(datum.value, '.4~s'), 'G', 'bn'), 'T', 'tn'), /([a-zA-Z]+)$/, ' $1')"
)
GROUPED = "format(datum.value, ',.6~g')"
#: January shows the year, other first days of a month its name, other days the date.
DATED = (
    "utcdate(datum.value) > 1 ? utcFormat(datum.value, '%-d %b') : "
    "utcmonth(datum.value) == 0 ? utcFormat(datum.value, '%Y') : utcFormat(datum.value, '%b')"
)
#: Number format of tooltips.
NUMBER = ",.5~g"


def when(results: Results, stages: Sequence[int]) -> Columns:
    """Positions of stages on the axis: ``from``, ``to`` and their middle ``at``, with a text ``label``."""
    periods = calendar(results)
    if all(stage < len(periods) for stage in stages):
        days = [(periods[stage].start, periods[stage].end) for stage in stages]
        return {
            "stage": list(stages),
            "from": [start.isoformat() for start, _ in days],
            "to": [end.isoformat() for _, end in days],
            "at": [(start + (end - start) / 2).isoformat() for start, end in days],
            "label": [f"{periods[stage].label}, stage {stage}" for stage in stages],
        }
    numbers = np.asarray(stages, np.float64)
    return {
        "stage": list(stages),
        "from": (numbers - 0.5).tolist(),
        "to": (numbers + 0.5).tolist(),
        "at": list(stages),
        "label": [f"stage {stage}" for stage in stages],
    }


def stage_x(results: Results, field: str = "at") -> Any:
    """Axis of stages: dates where they are known, else numbers."""
    alt = altair()
    if calendar(results):
        axis = alt.Axis(labelExpr=DATED, title=None, tickCount=12, labelOverlap=True)
        return alt.X(f"{field}:T", scale=alt.Scale(type="utc", nice=False, padding=0), axis=axis)
    axis = alt.Axis(title="stage", tickMinStep=1, format="d")
    return alt.X(f"{field}:Q", scale=alt.Scale(zero=False, nice=False, padding=0), axis=axis)


def money_y(title: str, domain: Sequence[float] | None = None) -> Any:
    """Axis of money, optionally limited to a domain."""
    alt = altair()
    scale = alt.Scale(domain=list(domain), nice=False, zero=False) if domain else alt.Scale(nice=False)
    return alt.Y(title=title, scale=scale, axis=alt.Axis(labelExpr=PREFIXED))


def quantity_y(title: str, *, nice: bool = True) -> Any:
    """Axis of quantities that includes zero; ``nice`` extends it to a round number."""
    alt = altair()
    return alt.Y(title=title, scale=alt.Scale(zero=True, nice=nice), axis=alt.Axis(labelExpr=GROUPED))


def of(axis: Any, field: str) -> Any:
    """Copy of an axis for one of the fields that share it."""
    copy = axis.copy()
    copy.shorthand = f"{field}:Q"
    return copy


def key(names: Sequence[str], colours: Sequence[str], symbol: str = "stroke") -> dict[str, Any]:
    """Colour scale and legend of the field ``series``."""
    alt = altair()
    scale = alt.Scale(domain=list(names), range=list(colours)[: len(names)])
    return {
        "shorthand": "series:N",
        "scale": scale,
        "legend": alt.Legend(symbolType=symbol, columns=len(names)),
    }


def stacked(parts: Mapping[str, Floats]) -> dict[str, tuple[Floats, Floats]]:
    """Lower and upper edges of stacked parts: positive ones upwards from zero, negative ones downwards."""
    above = below = np.zeros(len(next(iter(parts.values()), np.zeros(0))))
    found = {}
    nothing = 1e-9 * max((np.abs(values).max(initial=0.0) for values in parts.values()), default=0.0)
    for name, amounts in parts.items():
        values = np.where(np.abs(amounts) > nothing, amounts, 0.0)  # rounding errors have signs, too
        start = np.where(values < 0, below, above)
        found[name] = (start, start + values)
        above, below = above + np.maximum(values, 0), below + np.minimum(values, 0)
    return found


def named(layer: Any, series: str) -> Any:
    """Layer whose rows all belong to one series."""
    return layer.transform_calculate(series=f"{series!r}")


def hover(results: Results, tooltip: Sequence[Any]) -> Any:
    """Invisible rectangles, one per stage, that show a tooltip under the pointer."""
    alt = altair()
    over = alt.selection_point(on="pointerover", clear="pointerout", empty=False)
    shade = alt.condition(over, alt.value(0.15), alt.value(0))
    layer = alt.Chart().mark_rect(color="#808080")
    return layer.encode(stage_x(results, "from"), x2="to", opacity=shade, tooltip=list(tooltip)).add_params(
        over
    )
