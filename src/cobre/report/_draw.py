"""All figures, and functions that draw and save them."""

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
#: All figures by name, in reading order.
FIGURES: Mapping[str, Figure] = MappingProxyType({module.FIGURE.name: module.FIGURE for module in _ORDER})

#: Approximate width of a caption's letter in pixels.
PER_LETTER = 6
#: File formats that figures can be saved as, by file name extension.
ENDINGS = (".png", ".svg", ".json", ".html")


def figure(name: str) -> Figure:
    """Return a figure by its name.

    Raises:
        InvalidChoice: no figure has that name.
    """
    if name not in FIGURES:
        raise InvalidChoice("figure", name, list(FIGURES))
    return FIGURES[name]


def available(source: Source) -> dict[str, str | None]:
    """Return for each figure None if it can be drawn, else the reason and a remedy.

    Raises:
        ResultsError: the folder is not a result folder.
    """
    results = opened(source)
    return {name: hindrance(one, results) for name, one in FIGURES.items()}


def hindrance(one: Figure, source: Any) -> str | None:
    """Return None if a figure can be drawn, else the reason."""
    try:
        one.options_of(source)
    except CobreError as error:
        return str(error)
    return None


def rows(source: Source, name: str, **choice: str | int | None) -> Columns:
    """Return the data of a figure by column, as JSON-compatible types rounded to six digits.

    Args:
        source: a folder, what `cobre.results.read` returned, or the tables of a training by their names.
        name: name of the figure.
        choice: entity or stage to show, by id or name: ``hydro="Lake"``.

    Raises:
        InvalidChoice: no figure, entity or stage has that name.
        ResultsError: the results lack the data for this figure; the message says what to run.
    """
    results, one = opened(source), figure(name)
    return one.rows_of(results, **one.chosen(results, choice))


def caption(source: Source, name: str, **choice: str | int | None) -> str:
    """Return a one-line caption with the main numbers of a figure; arguments as for `rows`."""
    results, one = opened(source), figure(name)
    return one.caption_of(results, **one.chosen(results, choice))


def spec(source: Source, name: str, theme: str = "light") -> dict[str, Any]:
    """Return the Vega-Lite specification of a figure without its data, which it takes from ``rows``.

    One specification serves all choices. The figure is as wide as its container.

    Args:
        source: as for `rows`.
        name: name of the figure.
        theme: ``"light"``, ``"dark"``, or ``"either"``, which is readable on both backgrounds.

    Raises:
        ResultsError: the results lack the data for this figure.
        MissingExtra: Altair is not installed.
    """
    return spec_of(figure(name), opened(source), theme)


def spec_of(one: Figure, source: Any, theme: str) -> dict[str, Any]:
    """Return the specification of a figure, of what its functions take."""
    chart = _chart(one, source, theme).properties(width="container", height=one.size[1])
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
    """Draw a figure. Notebooks display it; `save` writes it to a file.

    Args:
        source: as for `rows`.
        name: name of the figure.
        theme: ``"light"``, ``"dark"``, or ``"either"``, which is readable on both backgrounds.
        width: width of the plot area in pixels, without axes.
        height: height of the plot area in pixels.
        choice: entity or stage to show, by id or name: ``hydro="Lake"``.

    Raises:
        InvalidChoice: no figure, entity or stage has that name.
        ResultsError: the results lack the data for this figure; the message says what to run.
        MissingExtra: Altair is not installed.
    """
    alt = altair()
    results, one = opened(source), figure(name)
    numbers = rows(results, name, **choice)
    size = {"width": width or one.size[0], "height": height or one.size[1]}
    whole = re.sub(
        r" (?=[%$]|hm³|MW)", "\u00a0", caption(results, name, **choice)
    )  # no line break between a number and its unit
    words = textwrap.wrap(whole, max(size["width"] // PER_LETTER, 20))
    title = alt.TitleParams(one.title, subtitle=words)
    chart = _chart(one, results, theme)
    records = [dict(zip(numbers, row, strict=True)) for row in zip(*numbers.values(), strict=True)]
    drawn: LayerChart = chart.properties(title=title, datasets={"rows": records}, **size)
    return drawn


def _chart(one: Figure, source: Any, theme: str) -> Any:
    alt, look = altair(), theme_called(theme)
    chart = one.chart_of(source, look)
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
    """Write a figure to a file: PNG, SVG, JSON (Vega-Lite) or HTML, by the file name extension.

    Neither writing nor viewing the file needs a network; writing needs no browser.

    Args:
        chart: as `draw` returned it.
        path: file to write.
        scale: PNG pixels per pixel of the figure.

    Raises:
        InvalidChoice: the extension is none of these.
        IOError: the file cannot be written.
        MissingExtra: vl-convert is not installed.
    """
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        raise InvalidChoice("file name extension", place.suffix or place.name, ENDINGS)
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
