"""The curves of `scale.py`, written by hand as SVG: a panel per number of trajectories."""

from __future__ import annotations

from math import log2

from _cost_chart import GAP, HEIGHT, LEFT, PER_MACHINE, TOP, WIDTH, _line, _text

COLOURS = ("#5d6b77", "#e0a458", "#2b6ca3")


def draw(ranks: list[int], panels: dict[str, dict[str, list[float]]]) -> str:
    """Return the SVG: for each panel, the efficiency of each way at each number of ranks."""
    parts = []
    for index, (name, colour) in enumerate(zip(next(iter(panels.values())), COLOURS, strict=True)):
        x = LEFT + 150 * index
        parts += [f'<rect x="{x}" y="10" width="14" height="4" fill="{colour}"/>', _text(x + 19, 17, name)]
    for index, (title, curves) in enumerate(panels.items()):
        left = LEFT + index * (WIDTH + GAP)
        parts.append(_text(left, TOP - 10, title, "font-weight: bold"))
        parts += _panel(left, ranks, list(curves.values()))
    words = "efficiency over ranks; right of the dotted line on more than one machine"
    parts.append(_text(LEFT, TOP + HEIGHT + 38, words))
    width, height = LEFT + len(panels) * (WIDTH + GAP), TOP + HEIGHT + 50
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])


def _panel(left: float, ranks: list[int], curves: list[list[float]]) -> list[str]:
    def x(number: float) -> float:
        return left + WIDTH * log2(number) / log2(ranks[-1])

    def y(share: float) -> float:
        return TOP + HEIGHT * (1 - share)

    parts = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(_line([(left, y(share)), (left + WIDTH, y(share))], "#ddd"))
        if left == LEFT:
            parts.append(_text(left - 6, y(share) + 4, f"{share:.0%}", "text-anchor: end"))
    below = TOP + HEIGHT + 18
    parts += [_text(x(number), below, str(number), "text-anchor: middle") for number in ranks[::2]]
    edge = [(x(PER_MACHINE), TOP), (x(PER_MACHINE), TOP + HEIGHT)]
    parts.append(_line(edge, "#777", 'stroke-dasharray="2 4"'))
    for curve, colour in zip(curves, COLOURS, strict=True):
        points = [(x(number), y(share)) for number, share in zip(ranks, curve, strict=True)]
        parts.append(_line(points, colour, 'stroke-width="2"'))
    return parts
