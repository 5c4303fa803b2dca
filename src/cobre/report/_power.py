"""Figure of the generation mix and the load, by stage."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cobre.elements import KINDS
from cobre.elements import labels as element_labels
from cobre.report._axes import NUMBER, key, of, quantity_y, stacked, stage_x, when
from cobre.report._figure import Columns, Figure, Options, grouped, rounded
from cobre.report._panel import Floats, panel
from cobre.report._source import entities, labels, remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results


class Part(NamedTuple):
    """Part of the power balance: a column of a result table, with its sign, label and colour in figures."""

    table: str
    column: str
    sign: int
    label: str
    colour: int
    kind: str


#: Parts in the order in which they are stacked.
PARTS = tuple(
    Part(str(kind.TABLE), column, sign, label, colour, kind.NAME)
    for kind, (_, column, sign, label, colour) in sorted(
        ((element_labels(kind), part) for kind in KINDS for part in element_labels(kind).POWER_BALANCE),
        key=lambda found: found[1][0],
    )
)
EXCHANGED, LOAD = "exchange with other buses", "load"
#: Index of each part's colour in a theme.
COLOURS = {part.label: part.colour for part in PARTS} | {EXCHANGED: 5}
#: Shares of the load below half a pixel are not drawn.
VISIBLE = 2e-3
#: Avoids a division by zero in stages whose hours are unknown because all power is zero.
TINY = 1e-9
#: Tables whose energy divided by power gives the hours of a block.
MEASURED = {"buses": "load", "hydros": "generation", "thermals": "generation"}


@remembered
def block_hours(results: Results) -> Floats:
    """Hours of each block, stages by blocks; 0 for blocks that a stage does not have."""
    buses = panel(results, "buses")
    sums = np.zeros((2, buses.stages, int(buses.block.max()) + 1))
    for name, what in MEASURED.items():
        if name in results.tables:
            columns = ["stage_id", "block_id", f"{what}_mw", f"{what}_mwh"]
            table = results.simulation(name, columns, [0])
            stage, block, *amounts = (table[column].to_numpy() for column in columns)
            for total, values in zip(sums, amounts, strict=True):
                np.add.at(total, (stage, block), np.abs(values))
    power, energy = sums
    return np.divide(energy, power, out=np.zeros_like(power), where=power > 0)


@remembered
def mean_power(results: Results) -> dict[str, dict[int, Floats]]:
    """Mean power in MW by part of the balance and by bus, stage by stage; lines have bus -1."""
    known, hours = entities(results), np.maximum(block_hours(results).sum(axis=1), TINY)
    found: dict[str, dict[int, Floats]] = {}
    for part in (*PARTS, Part("buses", "load_mwh", 1, LOAD, 0, "bus")):
        if part.table not in results.tables:
            continue
        there = panel(results, part.table)
        amount = there.means(part.column)[0]
        if not part.column.endswith("_mwh"):  # then it is power
            amount *= block_hours(results)[there.stage, there.block]
        energy = part.sign * there.by_stage(amount)
        by_bus = found.setdefault(part.label, {})
        for place, id_ in enumerate(there.ids):
            own = known[part.kind].get(id_)
            bus = id_ if part.table == "buses" else own.bus if own else -1
            by_bus[bus] = by_bus.get(bus, 0.0) + energy[place] / hours
    return found


@remembered
def balance(results: Results, bus: int | None = None) -> dict[str, Floats]:
    """Power balance by stage: mean power of each part, sources positive and sinks negative, and the load.

    For one bus, the exchange with other buses is the residual of the other parts.
    """
    power = mean_power(results)
    nothing = np.zeros(panel(results, "buses").stages)
    if bus is None:
        return {name: sum(by_bus.values(), nothing) for name, by_bus in power.items()}
    found = {name: by_bus.get(bus, nothing) for name, by_bus in power.items() if name != "losses"}
    missing = found[LOAD] - sum(values for name, values in found.items() if name != LOAD)
    small = 1e-7 * np.abs(found[LOAD]).max(initial=1.0)  # rounding error of the sums
    return {EXCHANGED: np.where(np.abs(missing) > small, missing, 0.0), **found}


def options(results: Results) -> Options:
    """Options: the whole system, or one of several buses."""
    ids = panel(results, "buses").ids
    several = len(ids) > 1 and bool(entities(results)["bus"])
    buses = labels(results, "bus", ids) if several else {}
    return {"bus": {None: "whole system", **buses}}


def rows(results: Results, bus: int | None) -> Columns:
    """One row per stage and part, and one per stage's load."""
    found = balance(results, bus)
    load = found[LOAD]
    parts = {name: found[name] for name in _shown(results) if name in found}
    edges = {**stacked(parts), LOAD: (load, load)}
    time = when(results, range(len(load)))
    return {
        **{name: time[name] * len(edges) for name in ("from", "to", "label")},
        "series": [name for name in edges for _ in load],
        "low": [value for low, _ in edges.values() for value in rounded(low)],
        "high": [value for _, high in edges.values() for value in rounded(high)],
        "power": [value for name in edges for value in rounded(found[name])],
    }


def chart(results: Results, theme: Theme) -> Any:
    """Stacked bars of sources and sinks, with the load as a line."""
    alt = altair()
    shown = _shown(results)
    x, y = stage_x(results, "from"), quantity_y("mean power, MW", nice=False)
    fill = alt.Fill(**key(shown, [theme.series[COLOURS[name]] for name in shown], "square"))
    stroke = alt.Stroke(**key([LOAD], [theme.ink]))
    tooltip = [
        alt.Tooltip("label:N", title="stage"),
        alt.Tooltip("series:N", title="source"),
        alt.Tooltip("power:Q", title="MW", format=NUMBER),
    ]
    bars = alt.Chart().mark_rect(stroke=theme.paper, strokeWidth=0.4)
    line = alt.Chart().mark_rule(strokeWidth=2)
    return alt.layer(
        bars.encode(x, of(y, "low"), x2="to", y2="high", fill=fill, tooltip=tooltip).transform_filter(
            f"datum.series != '{LOAD}'"
        ),
        line.encode(x, of(y, "high"), x2="to", stroke=stroke, tooltip=tooltip).transform_filter(
            f"datum.series == '{LOAD}'"
        ),
    )


@remembered
def _shown(results: Results) -> list[str]:
    """Parts that are visible at some bus and stage."""
    seen: dict[str, bool] = {}
    for bus in options(results)["bus"]:
        found = balance(results, bus)
        least = VISIBLE * np.abs(found[LOAD]).max(initial=0.0)
        for name, values in found.items():
            seen[name] = seen.get(name, False) or bool(np.abs(values).max(initial=0.0) > least)
    order = [*dict.fromkeys(part.label for part in PARTS)]
    order.insert(order.index("deficit"), EXCHANGED)
    return [name for name in order if seen.get(name)]


def caption(results: Results, bus: int | None) -> str:
    """Mean load and the largest shares of the generation mix."""
    hours = block_hours(results).sum(axis=1)
    found = {name: float(values @ hours) for name, values in balance(results, bus).items()}
    load = found.pop(LOAD)
    name = "whole system" if bus is None else labels(results, "bus", [bus])[bus]
    words = [name, f"mean load {grouped(load / hours.sum())} MW"]
    if load:
        found = {part: 100 * amount / load for part, amount in found.items()}
        exchanged = found.pop(EXCHANGED, 0.0)
        found["imports" if exchanged > 0 else "exports"] = abs(exchanged)
        largest = sorted(found, key=lambda part: -abs(found[part]))[:4]
        words += [f"{part} {abs(found[part]):.1f} %" for part in largest if abs(found[part]) >= 0.05]
        if found.get("deficit", 0.0) > 0 and "deficit" not in largest:
            words.append(f"deficit {found['deficit']:.2g} %")
    return " · ".join(words)


FIGURE = Figure(
    "generation",
    "Generation and load",
    "What is the generation mix of each stage?",
    rows,
    chart,
    caption,
    ("bus",),
    options,
)
