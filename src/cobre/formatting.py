"""Formatting for display: numbers as text, and the small HTML tables of notebooks.

The HTML has no colours and no scripts, so it can be read on white and on black, offline and in exports.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal

_SCALES = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1.0, ""))

_CELL = "text-align:left;padding:2px 16px 2px 0;vertical-align:top"


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, singular or plural.

    >>> count(1, "bus"), count(2, "bus"), count(3, "trajectory", "trajectories"), count(27383, "cut")
    ('1 bus', '2 buses', '3 trajectories', '27,383 cuts')
    """
    return f"{number:,} {one if number == 1 else many or one + ('es' if one.endswith('s') else 's')}"


def clock(seconds: float) -> str:
    """Return a duration as on a clock, for times that are still running.

    >>> [clock(seconds) for seconds in (0.04, 5.25, 59.6, 83, 3723, 200_000)]
    ['0.0 s', '5.2 s', '1:00', '1:23', '1:02:03', '2 d 7:33:20']
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    days, rest = divmod(whole, 86_400)
    hours, minutes = rest // 3600, rest // 60 % 60
    clock = f"{hours}:{minutes:02}:{whole % 60:02}" if hours or days else f"{minutes}:{whole % 60:02}"
    return f"{days} d {clock}" if days else clock


def duration(seconds: float) -> str:
    """Return a duration in its two largest units.

    >>> duration(0.25), duration(25.0), duration(98.4), duration(7265.0)
    ('0.25 s', '25 s', '1 min 38 s', '2 h 1 min')
    """
    if seconds < 59.5:
        return f"{_digits(seconds, 2)} s"
    minutes = round(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {round(seconds) % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"


def amount(value: float) -> str:
    """Return a cost or a bound with all digits before the decimal point, if that is readable.

    >>> [amount(value) for value in (0.00123, 34.5, 15_223_448_102.44, 1e17, float("-inf"))]
    ['0.00123', '34.50', '15,223,448,102', '1e+17', '-inf']
    """
    size = abs(value)
    if not math.isfinite(value) or size >= 1e15 or 0 < size < 0.1:
        return f"{value:.6g}"
    return f"{value:,.0f}" if size >= 1e5 else f"{value:,.2f}"


def money(value: float, digits: int = 4) -> str:
    """Return an amount of money with a number of significant digits.

    >>> money(16341184655.3), money(-1234.5), money(0.0)
    ('16.34 billion $', '-1,234 $', '0 $')
    """
    scale, word = _scale(value)
    return f"{_digits(value / scale, digits)}{word} $"


def money_between(mean: float, half: float) -> str:
    """Return an amount with its half-width, rounded to the digits that are significant.

    >>> money_between(16408123456.0, 331234567.0), money_between(5.0, 0.0)
    ('16.41 ± 0.33 billion $', '5.000 ± 0.000 $')
    """
    scale, word = _scale(mean)
    places = 3
    if half > 0:
        places = min(max(1 - math.floor(math.log10(half / scale)), 0), 6)
    return f"{mean / scale:,.{places}f} ± {half / scale:,.{places}f}{word} $"


def percent(share: float, sign: Literal["", "+"] = "") -> str:
    """Return a share in percent with two digits, or all digits before the decimal point.

    >>> percent(0.7149), percent(0.0041), percent(0.0000026), percent(0.0)
    ('71 %', '0.41 %', 'less than 0.001 %', '0 %')
    >>> percent(450.0, "+"), percent(-0.104, "+")
    ('+45,000 %', '-10 %')
    """
    value = 100 * share
    if 0 < abs(value) < 0.001:
        return "less than 0.001 %"
    if abs(value) >= 10 or value == 0:
        return f"{value:{sign if value else ''},.0f} %"
    return f"{_digits(value, 2, sign)} %"


def gap_text(gap: float | None) -> str:
    """Return a relative gap in percent; large ones, as in the first iterations, as a limit only.

    >>> gap_text(0.0123), gap_text(-0.5), gap_text(23.0), gap_text(None)
    ('1.23 %', '-50.00 %', '> 100 %', 'undefined')
    """
    if gap is None:
        return "undefined"
    return f"{100 * gap:.2f} %" if abs(gap) <= 1 else "> 100 %" if gap > 0 else "< -100 %"


def risk_text(measures: Sequence[Mapping[str, Any]]) -> str:
    """Return the risk measures of all stages, as specs, in words; empty if they are all the expectation.

    >>> cvar = {"measure": "eavar", "weight": 0.6, "level": 0.3}
    >>> risk_text([cvar, cvar]), risk_text([cvar, {"measure": "expectation"}])
    ('0.6 mean + 0.4 CVaR of the worst 30 %', 'risk-averse in 1 of 2 stages')
    """
    averse = [measure for measure in measures if measure["measure"] != "expectation"]
    if averse and all(measure == averse[0] for measure in measures):
        weight, level = averse[0]["weight"], averse[0]["level"]
        return f"{weight:.4g} mean + {1 - weight:.4g} CVaR of the worst {100 * level:.4g} %"
    return f"risk-averse in {len(averse):,} of {count(len(measures), 'stage')}" if averse else ""


def _scale(value: float) -> tuple[float, str]:
    return next(((scale, word) for scale, word in _SCALES if abs(value) >= scale), _SCALES[-1])


def _digits(value: float, digits: int, sign: Literal["", "+"] = "") -> str:
    """Number with significant digits, but at least all before the decimal point."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:{sign},.{places}f}"


def html_card(title: str, facts: Mapping[str, object], svg: str | None = None) -> str:
    """Return a title, a list of facts and a picture as HTML.

    >>> html_card("Policy", {"states": 2})[:44]
    '<div><div style="font-weight:600">Policy</di'
    """
    rows = "".join(_row([name, fact], first="opacity:.65") for name, fact in facts.items())
    return f"<div>{_title(title)}{_table(rows)}{_picture(title, svg)}</div>"


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a title and a table with a header as HTML."""
    heads = "".join(f'<th style="{_CELL};opacity:.65">{escape(name)}</th>' for name in header)
    body = "".join(_row(row) for row in rows)
    return f"<div>{_title(title)}{_table(f'<tr>{heads}</tr>{body}')}</div>"


def _title(title: str) -> str:
    return f'<div style="font-weight:600">{escape(title)}</div>'


def _table(rows: str) -> str:
    return f'<table style="border:none;margin:4px 0;color:inherit;font-size:inherit">{rows}</table>'


def _row(cells: Sequence[object], first: str = "") -> str:
    styles = [f"{_CELL};{first}" if first else _CELL, *[_CELL] * (len(cells) - 1)]
    inside = (
        f'<td style="{style}">{escape(str(cell))}</td>' for style, cell in zip(styles, cells, strict=True)
    )
    return f"<tr>{''.join(inside)}</tr>"


def _picture(title: str, svg: str | None) -> str:
    if svg is None:
        return ""
    content = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(title)}" style="max-width:100%" src="data:image/svg+xml;base64,{content}">'
