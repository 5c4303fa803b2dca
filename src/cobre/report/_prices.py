"""Figure of marginal costs by stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from cobre.report._axes import NUMBER, of, quantity_y, stage_x, when
from cobre.report._figure import Columns, Figure, Options, rounded
from cobre.report._panel import Floats, panel
from cobre.report._power import block_hours
from cobre.report._source import labels, remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results

#: Edges of the bands of one bus.
QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}


@remembered
def prices(results: Results) -> dict[int, Floats]:
    """Mean marginal cost over the hours of each stage, by bus: scenarios by stages."""
    buses, hours = panel(results, "buses"), block_hours(results)
    total = hours.sum(axis=1, keepdims=True)
    shares = np.divide(hours, total, where=total > 0, out=np.zeros_like(hours))[buses.stage, buses.block]
    found = buses.gather(("spot_price",), lambda price: buses.by_stage(price * shares))
    return {bus: found[:, place] for place, bus in enumerate(buses.ids)}


def options(results: Results) -> Options:
    """Options: all buses together, or one with its bands."""
    ids = panel(results, "buses").ids
    together: dict[int | None, str] = {None: "all buses"} if len(ids) > 1 else {}
    return {"bus": {**together, **labels(results, "bus", ids)}}


def rows(results: Results, bus: int | None) -> Columns:
    """One row per stage and bus; bands only for a chosen bus."""
    found = prices(results)
    ids = list(found) if bus is None else [bus]
    names = labels(results, "bus", list(found))
    stages = found[ids[0]].shape[1]
    time = when(results, range(stages))
    quantiles = np.full((len(QUANTILES), stages * len(ids)), np.nan)
    if bus is not None:
        quantiles = np.quantile(found[bus], list(QUANTILES.values()), axis=0)
    return {
        **{name: time[name] * len(ids) for name in ("from", "to", "at", "label")},
        "series": [names[id_] for id_ in ids for _ in range(stages)],
        "mean": [value for id_ in ids for value in rounded(found[id_].mean(axis=0))],
        **{name: rounded(values) for name, values in zip(QUANTILES, quantiles, strict=True)},
    }


def chart(results: Results, theme: Theme) -> Any:
    """One line per bus, with bands if one is chosen."""
    alt = altair()
    x, y = stage_x(results), quantity_y("marginal cost, $/MWh")
    scale = alt.Scale(range=list(theme.series))
    legend = alt.Legend(symbolType="stroke", columns=6, symbolOpacity=1)
    colour = alt.Color("series:N", scale=scale, sort=None, legend=legend)
    shown = [alt.Tooltip("label:N", title="stage"), alt.Tooltip("series:N", title="bus")]
    shown += [alt.Tooltip(f"{name}:Q", format=NUMBER) for name in ("mean", "p95", "median", "p5")]
    wide, narrow = (alt.Chart().mark_area(opacity=opacity) for opacity in (0.15, 0.22))
    line = alt.Chart().mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
    return alt.layer(
        wide.encode(x, of(y, "p5"), y2="p95", color=colour),
        narrow.encode(x, of(y, "p25"), y2="p75", color=colour),
        line.encode(x, of(y, "mean"), color=colour, tooltip=shown),
    )


def caption(results: Results, bus: int | None) -> str:
    """Mean marginal cost and its range."""
    found = prices(results)
    hours = block_hours(results).sum(axis=1)
    means = {id_: float(np.average(values.mean(axis=0), weights=hours)) for id_, values in found.items()}
    if bus is None:
        names, highest, lowest = (
            labels(results, "bus", list(found)),
            *(pick(means, key=means.__getitem__) for pick in (max, min)),
        )
        return (
            f"means over {len(next(iter(found.values())))} scenarios and all hours: "
            f"{means[lowest]:,.2f} $/MWh ({names[lowest]}) to {means[highest]:,.2f} $/MWh ({names[highest]})"
        )
    low, high = np.quantile(found[bus], (0.05, 0.95))
    return (
        f"{labels(results, 'bus', [bus])[bus]} · mean {means[bus]:,.2f} $/MWh · "
        f"90 % of values between {low + 0.0:,.2f} and {high:,.2f} · bands: 5 to 95 %, 25 to 75 %"
    )


FIGURE = Figure(
    "prices",
    "Marginal cost",
    "What does an additional MWh cost in each stage, at each bus?",
    rows,
    chart,
    caption,
    ("bus",),
    options,
)
