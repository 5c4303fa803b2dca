"""How results show themselves in a notebook: a small table, perhaps with a picture.

There are no colours and no scripts in it, so it can be read on white and on black, offline and in exports.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape

_CELL = "text-align:left;padding:2px 16px 2px 0;vertical-align:top"


def card(title: str, facts: Mapping[str, object], svg: str | None = None) -> str:
    """A title, facts below one another, and a picture.

    >>> card("Policy", {"states": 2})[:44]
    '<div><div style="font-weight:600">Policy</di'
    """
    rows = "".join(_row([name, fact], first="opacity:.65") for name, fact in facts.items())
    return f"<div>{_title(title)}{_table(rows)}{_picture(title, svg)}</div>"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A title, and a table with a header."""
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
