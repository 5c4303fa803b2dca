"""A bar chart of ratios, written by hand as SVG: one bar per system and case, a line at the fastest MPI."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from _systems import in_order, is_ours
from harness import show_bytes

LEFT, WIDTH, RIGHT = 190, 560, 70
BAR, GAP, HEAD = 9, 9, 64
MOST = 2.5  # longer bars are cut there, and say so
OURS, OTHERS = ("#b5651d", "#dba97b"), ("#8795a1", "#bcc5cc", "#5d6b77", "#9db8d3")
STYLE = "font: 12px sans-serif; fill: #333"


def draw(groups: list[dict[str, Any]]) -> str:
    """Return the SVG: the groups of `comm.py` one below the other."""
    parts: list[str] = []
    top = 0.0
    for group in groups:
        top = _draw_group(parts, group, top)
    width = LEFT + WIDTH + RIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top:.0f}" '
        f'viewBox="0 0 {width} {top:.0f}">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _draw_group(parts: list[str], group: dict[str, Any], top: float) -> float:
    labels = in_order({label for row in group["rows"] for label in row["systems"]})
    ours = [label for label in labels if is_ours(label)]
    others = labels[len(ours) :]
    colours = dict(zip(ours, OURS, strict=False)) | dict(zip(others, OTHERS, strict=False))
    rival = "mpi4py on " + group["library"] if group["library"] else "the fastest MPI"
    title = f"{group['ranks']} ranks, {group['placement']}: time over that of {rival} (shorter is better)"
    parts.append(_text(10, top + 22, title, "font-weight: bold"))
    for index, label in enumerate(labels):
        x = 10 + 115 * index
        parts.append(_bar(x, top + 34, 12, colours[label]))
        parts.append(_text(x + 17, top + 43, label))
    parts.append(_text(10 + 115 * len(labels), top + 43, "┃ our target"))
    begin = y = top + HEAD
    for row in group["rows"]:
        if row["fastest_mpi_s"] is not None:
            y = _draw_row(parts, row, [label for label in labels if label in row["systems"]], colours, y)
    parts.append(_line(LEFT + WIDTH / MOST, begin - 6, y, 'stroke="#333" stroke-dasharray="3 3"'))
    return y + 20


def _draw_row(
    parts: list[str], row: dict[str, Any], labels: list[str], colours: dict[str, str], top: float
) -> float:
    y = top
    for label in labels:
        ratio = row["systems"][label]["best_s"] / row["fastest_mpi_s"]
        length = WIDTH * min(ratio, MOST) / MOST
        parts.append(_bar(LEFT, y, length, colours[label]))
        if is_ours(label) or ratio > MOST:
            words = f"{ratio:.2f}" if ratio <= MOST else f"{ratio:.1f} (cut)"
            parts.append(_text(LEFT + length + 4, y + BAR - 1, words, "font-size: 10px"))
        if label == labels[0] and is_ours(label) and row["target"] is not None:
            parts.append(_line(LEFT + WIDTH * row["target"] / MOST, y - 3, y + BAR + 2, 'stroke="black"'))
        y += BAR
    name = f"{row['operation']} {show_bytes(row['bytes']) if row['bytes'] else ''}"
    parts.append(_text(LEFT - 8, (top + y) / 2 + 4, name, "text-anchor: end"))
    return y + GAP


def _bar(x: float, y: float, length: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{length:.1f}" height="{BAR - 1}" fill="{colour}"/>'


def _line(x: float, begin: float, end: float, stroke: str) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{begin:.1f}" y2="{end:.1f}" stroke-width="2" {stroke}/>'


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{STYLE}; {style}">{escape(words)}</text>'
