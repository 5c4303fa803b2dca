"""One look for all figures, on white, on black, and on what may be either.

Colours are those of Okabe and Ito (2008), which people with any kind of colour vision can tell apart, made
lighter on black.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from cobre.errors import InvalidChoice, MissingExtra

FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"


@dataclass(frozen=True)
class Theme:
    """The colours of figures.

    Attributes:
        name: ``"light"``, ``"dark"`` or ``"either"``.
        paper: behind everything.
        ink: lines and words that matter most.
        quiet: axes and remarks.
        grid: lines behind the marks.
        series: what is told apart by colour, in this order.
        fan: bands of a distribution, from the widest to the narrowest.
    """

    name: str
    paper: str
    ink: str
    quiet: str
    grid: str
    series: tuple[str, ...]
    fan: tuple[str, str, str]

    @property
    def config(self) -> dict[str, Any]:
        """As Vega-Lite has it."""
        axis = {
            "labelColor": self.quiet,
            "titleColor": self.quiet,
            "titleFontWeight": "normal",
            "domainColor": self.quiet,
            "tickColor": self.grid,
            "gridColor": self.grid,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titlePadding": 8,
            "labelOverlap": True,
        }
        return {
            "font": FONT,
            "background": self.paper,
            "padding": 12,
            "view": {"stroke": None},
            "axis": axis,
            "axisX": {"grid": False, "labelPadding": 4},
            "axisY": {"domain": False, "ticks": False, "labelPadding": 6, "tickCount": 6},
            "legend": {
                "labelColor": self.ink,
                "labelFontSize": 11,
                "labelLimit": 260,
                "orient": "top",
                "title": None,
                "offset": 8,
                "padding": 0,
                "columnPadding": 14,
                "symbolStrokeWidth": 3,
            },
            "title": {
                "color": self.ink,
                "subtitleColor": self.quiet,
                "fontSize": 15,
                "subtitleFontSize": 12,
                "subtitlePadding": 6,
                "anchor": "start",
                "frame": "group",
                "offset": 14,
            },
            "text": {"color": self.ink, "fontSize": 11},
            "rule": {"color": self.ink},
            "line": {"strokeJoin": "round", "strokeCap": "round"},
            "range": {"category": list(self.series)},
        }


LIGHT = Theme(
    "light",
    paper="#ffffff",
    ink="#1f2328",
    quiet="#59636e",
    grid="#e4e7eb",
    series=("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#8c6bb1", "#7f7f7f"),
    fan=("#dbe9f5", "#a6cbe6", "#5fa3d0"),
)
DARK = Theme(
    "dark",
    paper="#15181d",
    ink="#e6edf3",
    quiet="#9aa4af",
    grid="#2a3038",
    series=("#4aa3df", "#f0803c", "#2fc79a", "#f2b632", "#e39cc4", "#8ed0f5", "#b39ddb", "#a3a3a3"),
    fan=("#17324a", "#1f5480", "#3581bd"),
)
#: For what is shown in a notebook, whose paper nobody here knows.
EITHER = Theme(
    "either",
    paper="transparent",
    ink="#768390",
    quiet="#768390",
    grid="#76839040",
    series=("#2a8fd0", "#e36f1e", "#12a87d", "#dd9a10", "#cc79a7", "#56b4e9", "#9a7fc4", "#8a8a8a"),
    fan=("#2a8fd033", "#2a8fd055", "#2a8fd077"),
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK, EITHER)}


def theme_called(name: str) -> Theme:
    """Return a theme.

    Raises:
        InvalidChoice: there is none of that name.
    """
    if name not in THEMES:
        raise InvalidChoice("theme", name, list(THEMES))
    return THEMES[name]


def altair() -> ModuleType:
    """Return Altair, which draws.

    Raises:
        MissingExtra: it is not installed.
    """
    return needed("altair")


def vl_convert() -> ModuleType:
    """Return vl-convert, which makes pictures without a browser.

    Raises:
        MissingExtra: it is not installed.
    """
    return needed("vl_convert")


def needed(name: str) -> ModuleType:
    """Return a package of the extra.

    Raises:
        MissingExtra: it is not installed.
    """
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra("figures", "report") from error
