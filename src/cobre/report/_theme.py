"""Colours and fonts of all figures, for light, dark and unknown backgrounds.

The colours are those of Okabe and Ito (2008), distinguishable with any kind of colour vision; on dark
backgrounds they are lighter.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from cobre.errors import InvalidChoice, MissingExtra

FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"


@dataclass(frozen=True)
class Theme:
    """Colours of figures.

    Attributes:
        name: ``"light"``, ``"dark"`` or ``"either"``.
        paper: background.
        ink: main lines and text.
        quiet: axes and notes.
        grid: grid lines.
        series: colours of series, in order.
        fan: quantile bands, from the widest to the narrowest.
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
        """Vega-Lite configuration."""
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
#: For notebooks, whose background is unknown.
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
        InvalidChoice: no theme has that name.
    """
    if name not in THEMES:
        raise InvalidChoice("theme", name, list(THEMES))
    return THEMES[name]


def altair() -> ModuleType:
    """Return the module of Altair, which makes charts.

    Raises:
        MissingExtra: it is not installed.
    """
    return needed("altair")


def vl_convert() -> ModuleType:
    """Return the module of vl-convert, which renders pictures without a browser.

    Raises:
        MissingExtra: it is not installed.
    """
    return needed("vl_convert")


def needed(name: str) -> ModuleType:
    """Return a module of the extra ``report``.

    Raises:
        MissingExtra: it is not installed.
    """
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra("figures", "report") from error
