"""Figure of stored volumes by stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cobre.elements import collect
from cobre.elements import labels as element_labels
from cobre.errors import ResultsError
from cobre.report._axes import NUMBER, hover, key, named, of, quantity_y, stage_x, when
from cobre.report._figure import Columns, Figure, Options, grouped, rounded
from cobre.report._panel import Floats, panel
from cobre.report._source import labels, remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results

#: Edges of the bands, and the median.
QUANTILES = {"min": 0.0, "p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}
#: The bands, from the widest to the narrowest.
BANDS = (("min", "max", "min to max"), ("p5", "p95", "5 to 95 %"), ("p25", "p75", "25 to 75 %"))
#: Styles of the lines.
LIMIT = {"strokeWidth": 1.2, "strokeDash": [4, 3]}
LOOKS: dict[str, dict[str, Any]] = {
    "least": LIMIT,
    "most": LIMIT,
    "mean": {"strokeWidth": 1.5},
    "median": {"strokeWidth": 2.0},
}
LINES = {"least": "limits", "most": "limits"}
#: The codes of ``bounds.parquet``.
HYDRO, LOWEST, HIGHEST = 0, 0, 1


def options(results: Results) -> Options:
    """Options: all hydro plants, those with a reservoir first."""
    ids, limits = panel(results, "hydros").ids, bounds(results)
    without = {hydro: hydro in limits and float(np.nanmax(limits[hydro])) == 0 for hydro in ids}
    return {"hydro": labels(results, "hydro", sorted(ids, key=lambda hydro: without[hydro]))}


@remembered
def volumes(results: Results) -> dict[int, Floats]:
    """Volumes by hydro plant: scenarios by the beginning and the end of each stage."""
    hydros = panel(results, "hydros")
    begin, ends = hydros.first_rows[:, :1], hydros.last_rows

    def pick(before: Floats, after: Floats) -> Floats:
        return np.concatenate([before[:, begin], after[:, ends]], axis=2)

    found = hydros.gather(("storage_initial_hm3", "storage_final_hm3"), pick)
    return {hydro: found[:, place] for place, hydro in enumerate(hydros.ids)}


@remembered
def stored(results: Results) -> dict[str, Floats]:
    """Stored quantities after each stage, scenarios by stages, by state name."""
    found: dict[str, Floats] = {}
    for kind, groups in collect("outputs", "STATES").items():
        for state, group in groups.items():
            if group.column and element_labels(kind).TABLE in results.tables:
                found |= _after_stages(results, str(element_labels(kind).TABLE), state, group.column)
    return found


def _after_stages(results: Results, table: str, state: str, column: str) -> dict[str, Floats]:
    elements = panel(results, table)
    last = elements.last_rows
    after = elements.gather((column,), lambda values: values[:, last])
    return {f"{state}:{id_}": after[:, place] for place, id_ in enumerate(elements.ids)}


@remembered
def bounds(results: Results) -> dict[int, Floats]:
    """Minimum and maximum volume of each reservoir, stages by two; NaN where there is no limit."""
    try:
        table = results.table("dictionaries/bounds")
    except ResultsError:  # a simulation without training has no dictionaries
        return {}
    names = ("entity_type_code", "bound_type_code", "entity_id", "stage_id", "bound_value")
    kind, bound, entity, stage, value = (table[name].to_numpy() for name in names)
    found: dict[int, Floats] = {}
    for code in (LOWEST, HIGHEST):
        own = (kind == HYDRO) & (bound == code)
        for hydro in np.unique(entity[own]).tolist():
            limits = found.setdefault(hydro, np.full((int(stage.max()) + 1, 2), np.nan))
            mine = own & (entity == hydro)
            limits[stage[mine], code] = value[mine]
    return found


def rows(results: Results, hydro: int) -> Columns:
    """One row for the beginning, and one for the end of each stage."""
    found = volumes(results)[hydro]
    stages = found.shape[1] - 1
    limits = bounds(results).get(hydro, np.full((stages, 2), np.nan))[[0, *range(stages)]]
    time = when(results, [0, *range(stages)])
    time["to"][0], time["label"][0] = time["from"][0], "beginning"
    quantiles = np.quantile(found, list(QUANTILES.values()), axis=0)
    return {
        **{name: time[name] for name in ("from", "to", "label")},
        **{name: rounded(values) for name, values in zip(QUANTILES, quantiles, strict=True)},
        "mean": rounded(found.mean(axis=0)),
        "least": rounded(limits[:, 0]),
        "most": rounded(limits[:, 1]),
    }


def chart(results: Results, theme: Theme) -> Any:
    """Quantile bands and median, with the limits of the reservoir."""
    alt = altair()
    shown = [alt.Tooltip("label:N", title="end of"), *quantile_tooltips()]
    layers = fan(stage_x(results, "to"), quantity_y("volume, hm³"), theme, LOOKS)
    return alt.layer(*layers, hover(results, shown))


def quantile_tooltips() -> list[Any]:
    """Numbers of a stage that are shown under the pointer."""
    names = ("max", "p95", "median", "mean", "p5", "min")
    return [altair().Tooltip(f"{name}:Q", format=NUMBER) for name in names]


def fan(x: Any, y: Any, theme: Theme, looks: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Quantile bands, with the lines that have a style."""
    alt = altair()
    fill = alt.Fill(**key([name for *_, name in BANDS], theme.fan, "square"))
    colours = {"median": theme.ink, "mean": theme.series[1], "limits": theme.quiet}
    drawn = {LINES.get(name, name) for name in looks}
    names = [name for name in colours if name in drawn]
    stroke = alt.Stroke(**key(names, [colours[name] for name in names]))
    areas = [
        named(alt.Chart().mark_area().encode(x, of(y, low), y2=high, fill=fill), name)
        for low, high, name in BANDS
    ]
    lines = [
        named(alt.Chart().mark_line(**look).encode(x, of(y, name), stroke=stroke), LINES.get(name, name))
        for name, look in looks.items()
    ]
    return [*areas, *lines]


def caption(results: Results, hydro: int) -> str:
    """Initial and final volume."""
    found = volumes(results)[hydro]
    low, high = np.quantile(found[:, -1], (0.05, 0.95))
    name, start, mean = labels(results, "hydro", [hydro])[hydro], found[0, 0], found[:, -1].mean()
    return (
        f"{name} · initial {grouped(start)} hm³ · final mean {grouped(mean, 3)} hm³, "
        f"90 % of scenarios between {grouped(low, 3)} and {grouped(high, 3)}"
    )


FIGURE = Figure(
    "storage",
    "Stored volume",
    "How full are the reservoirs, and how much do scenarios differ?",
    rows,
    chart,
    caption,
    ("hydro",),
    options,
)
