"""The curves of `cost_model.py`, written by hand as SVG: a panel per network, both axes logarithmic."""

from __future__ import annotations

from math import ceil, log2, log10
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, GAP = 200, 250, 60, 58, 36
LEAST = -1  # of seconds, as a power of ten
COLOURS = ("#b5651d", "#e0a458", "#5d6b77", "#2b6ca3")
PER_MACHINE = 64
STYLE = "font: 12px sans-serif; fill: #333"


def draw(ranks: list[int], panels: dict[str, dict[str, list[float]]]) -> str:
    """Return the SVG: for each network, the seconds of each way at each number of ranks."""
    parts = []
    names = next(iter(panels.values()))
    for index, (name, colour) in enumerate(zip(names, COLOURS, strict=True)):
        x = LEFT + 150 * index
        parts += [f'<rect x="{x}" y="10" width="14" height="4" fill="{colour}"/>', _text(x + 19, 17, name)]
    longest = max(seconds for curves in panels.values() for curve in curves.values() for seconds in curve)
    for index, (title, curves) in enumerate(panels.items()):
        left = LEFT + index * (WIDTH + GAP)
        parts.append(_text(left, TOP - 10, title, "font-weight: bold"))
        parts += _panel(left, ranks, list(curves.values()), ceil(log10(longest)))
    words = "seconds over ranks; right of the dotted line on more than one machine"
    parts.append(_text(LEFT, TOP + HEIGHT + 38, words))
    width, height = LEFT + len(panels) * (WIDTH + GAP), TOP + HEIGHT + 50
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])


def _panel(left: float, ranks: list[int], curves: list[list[float]], most: int) -> list[str]:
    def x(number: float) -> float:
        return left + WIDTH * log2(number / ranks[0]) / log2(ranks[-1] / ranks[0])

    def y(seconds: float) -> float:
        return TOP + HEIGHT * (1 - (log10(seconds) - LEAST) / (most - LEAST))

    parts = []
    for seconds in (10.0**decade for decade in range(LEAST, most + 1)):
        parts.append(_line([(left, y(seconds)), (left + WIDTH, y(seconds))], "#ddd"))
        if left == LEFT:
            parts.append(_text(left - 6, y(seconds) + 4, f"{seconds:g} s", "text-anchor: end"))
    below = TOP + HEIGHT + 18
    parts += [_text(x(number), below, str(number), "text-anchor: middle") for number in ranks[::3]]
    edge = [(x(PER_MACHINE), TOP), (x(PER_MACHINE), TOP + HEIGHT)]
    parts.append(_line(edge, "#777", 'stroke-dasharray="2 4"'))
    for curve, colour in zip(curves, COLOURS, strict=True):
        points = [(x(number), y(seconds)) for number, seconds in zip(ranks, curve, strict=True)]
        parts.append(_line(points, colour, 'stroke-width="2"'))
    return parts


def _line(points: list[tuple[float, float]], stroke: str, more: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{stroke}" {more}/>'


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{STYLE}; {style}">{escape(words)}</text>'
