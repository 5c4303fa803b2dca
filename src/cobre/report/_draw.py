"""The figures, and how to draw them."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cobre import errors
from cobre.errors import CobreError, InvalidChoice
from cobre.report import (
    _components,
    _convergence,
    _costs,
    _power,
    _prices,
    _storage,
    _timeline,
    _value,
)
from cobre.report._figure import Columns, Figure
from cobre.report._source import Source, opened
from cobre.report._theme import altair, theme_called, vl_convert

if TYPE_CHECKING:
    from altair import LayerChart

_ORDER = (_convergence, _storage, _power, _prices, _costs, _components, _value, _timeline)
#: All figures by name, in the order in which a planner reads them.
FIGURES: Mapping[str, Figure] = MappingProxyType({module.FIGURE.name: module.FIGURE for module in _ORDER})

#: How wide a letter of a caption is, in pixels, about.
PER_LETTER = 6
#: The endings of files that figures can be written to.
ENDINGS = (".png", ".svg", ".json", ".html")


def figure(name: str) -> Figure:
    """Return a figure by its name.

    Raises:
        InvalidChoice: there is none of that name.
    """
    if name not in FIGURES:
        raise InvalidChoice("figure", name, list(FIGURES))
    return FIGURES[name]


def available(source: Source) -> dict[str, str | None]:
    """Return for each figure None if it can be drawn, else why it cannot, and what to do about that.

    Raises:
        ResultsError: the folder is no result.
    """
    results = opened(source)
    return {name: _hindrance(one, results) for name, one in FIGURES.items()}


def _hindrance(one: Figure, results: Any) -> str | None:
    try:
        one.options(results)
    except CobreError as error:
        return str(error)
    return None


def rows(source: Source, name: str, **choice: str | int | None) -> Columns:
    """Return the numbers of a figure, column by column, in JSON's types and rounded to six digits.

    Args:
        source: a folder, what `cobre.results.read` returned, or the tables of a training by their names.
        name: of the figure.
        choice: what to show, by id or name: ``hydro="Lake"``.

    Raises:
        InvalidChoice: nothing is called so.
        ResultsError: the results have not what the figure shows; the words say what to run.
    """
    results, one = opened(source), figure(name)
    return one.rows_of(results, **one.chosen(results, choice))


def caption(source: Source, name: str, **choice: str | int | None) -> str:
    """Return a line of words for a figure, with its most important numbers; arguments as for `rows`."""
    results, one = opened(source), figure(name)
    return one.caption_of(results, **one.chosen(results, choice))


def spec(source: Source, name: str, theme: str = "light") -> dict[str, Any]:
    """Return the Vega-Lite specification of a figure without its numbers, which are the data called ``rows``.

    It serves all choices. It is as wide as what contains it.

    Args:
        source: as for `rows`.
        name: of the figure.
        theme: ``"light"``, ``"dark"``, or ``"either"``, which can be read on both.

    Raises:
        ResultsError: the results have not what the figure shows.
        MissingExtra: Altair is not installed.
    """
    chart = _chart(source, name, theme).properties(width="container", height=figure(name).size[1])
    return dict(chart.to_dict())


def draw(
    source: Source,
    name: str,
    *,
    theme: str = "light",
    width: int | None = None,
    height: int | None = None,
    **choice: str | int | None,
) -> LayerChart:
    """Draw a figure. Notebooks show it; `save` writes it to a file.

    Args:
        source: as for `rows`.
        name: of the figure.
        theme: ``"light"``, ``"dark"``, or ``"either"``, which can be read on both.
        width: of the drawing in pixels, without axes.
        height: likewise.
        choice: what to show, by id or name: ``hydro="Lake"``.

    Raises:
        InvalidChoice: nothing is called so.
        ResultsError: the results have not what the figure shows; the words say what to run.
        MissingExtra: Altair is not installed.
    """
    alt = altair()
    results, one = opened(source), figure(name)
    numbers = rows(results, name, **choice)
    size = {"width": width or one.size[0], "height": height or one.size[1]}
    whole = re.sub(
        r" (?=[%$]|hm³|MW)", "\u00a0", caption(results, name, **choice)
    )  # a unit stays by its number
    words = textwrap.wrap(whole, max(size["width"] // PER_LETTER, 20))
    title = alt.TitleParams(one.title, subtitle=words)
    chart = _chart(results, name, theme)
    records = [dict(zip(numbers, row, strict=True)) for row in zip(*numbers.values(), strict=True)]
    drawn: LayerChart = chart.properties(title=title, datasets={"rows": records}, **size)
    return drawn


def _chart(source: Source, name: str, theme: str) -> Any:
    alt, look = altair(), theme_called(theme)
    chart = figure(name).chart_of(opened(source), look)
    return chart.properties(data=alt.NamedData("rows")).configure(**look.config)


def svg(chart: LayerChart, *, titled: bool = True) -> str:
    """Return a figure as SVG, with or without its title and caption.

    Raises:
        MissingExtra: vl-convert is not installed.
    """
    content = chart.to_dict()
    if not titled:
        content.pop("title", None)
    return str(vl_convert().vegalite_to_svg(content))


def save(chart: LayerChart, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a figure to a file: PNG, SVG, JSON (Vega-Lite) or HTML by the ending of its name.

    No browser is needed, and what is written needs no network.

    Args:
        chart: as `draw` returned it.
        path: where.
        scale: how many pixels of a PNG each pixel of the drawing takes.

    Raises:
        InvalidChoice: the ending is none of these.
        IOError: the file cannot be written.
        MissingExtra: vl-convert is not installed.
    """
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        raise InvalidChoice("ending of a picture", place.suffix or place.name, ENDINGS)
    content = _encoded(chart, place.suffix.lower(), scale)
    try:
        place.write_bytes(content)
    except OSError as error:
        raise errors.IOError(str(place), f"it cannot be written: {error.strerror or error}") from error
    return place


def _encoded(chart: LayerChart, ending: str, scale: float) -> bytes:
    content = chart.to_dict()
    if ending == ".json":
        return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
    convert = vl_convert()
    if ending == ".png":
        return bytes(convert.vegalite_to_png(content, scale=scale))
    text = (
        convert.vegalite_to_svg(content)
        if ending == ".svg"
        else convert.vegalite_to_html(content, bundle=True)
    )
    return str(text).encode()
