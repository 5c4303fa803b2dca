"""Figures of results, if the plotting dependencies are installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cobre.errors import CobreError

if TYPE_CHECKING:
    from altair import LayerChart

    from cobre.report import Source

#: What a figure is to show, and how it is to look.
Choice = str | int | None


def drawn(source: Source, name: str, look: Mapping[str, Any]) -> LayerChart:
    """Draw a figure; see `cobre.report.draw`."""
    from cobre import report  # noqa: PLC0415  who draws nothing need not wait for it

    return report.draw(source, name, **look)


def svg_of(source: Source, name: str) -> str | None:
    """A figure for a notebook; None if it cannot be drawn, or nothing is installed that draws."""
    from cobre import report  # noqa: PLC0415

    try:
        chart = report.draw(source, name, theme="either", width=560, height=220)
        return report.svg(chart, titled=False)
    except CobreError:
        return None
