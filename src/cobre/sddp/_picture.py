"""A training as lines of coloured text, for a screen of any size. Nothing moves here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from cobre._words import amount, clock
from cobre.sddp._watch import Watch, left_words
from cobre.sddp.events import IterationFinished, RankTimes

#: A line is pieces of text, each with a style. All characters are one column wide.
Line = list[tuple[str, str]]
#: Lines that belong together, or how to make them for so many rows.
Part = list[Line] | Callable[[int], list[Line]]

#: From so many columns on, there are two halves beside each other, and no more than so many are used.
TWO_HALVES, WIDEST = 132, 168
#: The columns of the left half.
LEFT = 94
#: At most so many rows of iterations, and so many ranks with a line of their own.
ROWS, RANKS = 16, 8
#: Over how many iterations the bound is said to have moved.
MOVED = 10
LABEL = "dim"
RISING = "▁▂▃▄▅▆▇█"


def picture(watch: Watch, width: int, height: int) -> list[Line]:
    """Return the lines, none longer than ``width`` and no more than ``height``."""
    return [_cut(line, width) for line in _lines(watch, width, height)[:height]]


def _lines(watch: Watch, width: int, height: int) -> list[Line]:
    event = watch.last
    head = [*_head(watch, min(width, WIDEST)), []]
    if event is None:
        return head
    if width >= TWO_HALVES:
        half = min(width, WIDEST) - LEFT
        parts: list[Part] = [_figures(watch, LEFT - 4), lambda rows: _iterations(watch, LEFT - 4, rows)]
        left = _stacked(height - len(head), parts)
        load: list[Part] = [_phases(event, half), lambda rows: _load(watch, event, half, rows)]
        return [*head, *_beside(left, _stacked(height - len(head), load), LEFT)]
    half = width // 2 - 1
    times = _beside(_phases(event, half), _load(watch, event, width - half - 2, RANKS + 1), half + 2)
    below: list[Part] = [_figures(watch, width), times, lambda rows: _iterations(watch, width, rows)]
    return [*head, *_stacked(height - len(head), below)]


def _stacked(height: int, parts: Sequence[Part]) -> list[Line]:
    """Parts below each other with a line between; those for which no room is left are left out."""
    lines: list[Line] = []
    for part in parts:
        room = height - len(lines)
        block = part(room) if callable(part) else part
        if not block or len(block) > room:
            break
        lines += [*block, []]
    return lines[:-1]


def _beside(left: list[Line], right: list[Line], column: int) -> list[Line]:
    pairs: Iterable[tuple[Line, Line]] = zip_longest(left, right, fillvalue=[])
    return [[*_filled(line, column), *other] if other else line for line, other in pairs]


def _cut(line: Line, width: int) -> Line:
    kept: Line = []
    for text, style in line:
        kept.append((text[:width], style))
        width = max(0, width - len(text))
    return kept


def _filled(line: Line, width: int) -> Line:
    return [*line, (" " * (width - sum(len(text) for text, _ in line)), "")]


def _head(watch: Watch, width: int) -> list[Line]:
    event = watch.last
    number = event.iteration if event else watch.started.first_iteration - 1 if watch.started else 0
    elapsed = (event.seconds if event else 0.0) + watch.ahead_s
    left = left_words(event.remaining, watch.ahead_s) if event else ""
    rule = event.remaining.rule if event and event.remaining else ""
    times: Line = [("elapsed     ", LABEL), (clock(elapsed), "bold")]
    if left:
        times += [("   ", ""), (left, "bold cyan"), (f", to {rule}"[: max(0, width - 50)], LABEL)]
    if not watch.limit:
        return [[("iteration   ", LABEL), (f"{number}", "bold")], times]
    text, share = f"{number} of {watch.limit}", number / watch.limit
    room = max(4, width - len(text) - 20)
    done = round(room * share)
    bar = [("━" * done, "green"), ("─" * (room - done), "bright_black")]
    percent = f"{math.floor(100 * share):4}%"
    return [[("iteration   ", LABEL), (text, "bold"), ("  ", ""), *bar, (percent, "")], times]


def _figures(watch: Watch, width: int) -> list[Line]:
    event = watch.recent[-1]
    gap, half = watch.gap(event.bound, event.estimate.mean), event.estimate.half_width()
    interval = f" ± {amount(half)}" if event.estimate.count > 1 else ""
    bound, moved = amount(event.bound), _moved(watch.bounds)
    trend = rising(watch.bounds, max(0, min(40, width - 17 - len(bound) - len(moved))))
    return [
        [
            (f"{watch.sense} bound ", LABEL),
            (bound, "bold"),
            ("  ", ""),
            (trend, "cyan"),
            (f"  {moved}", LABEL),
        ],
        [("mean cost   ", LABEL), (amount(event.estimate.mean), "bold"), (interval, "")],
        [("gap         ", LABEL), ("unknown" if gap is None else f"{gap:.2%}", "bold")],
        [("cuts        ", LABEL), (f"{event.cuts_active:,}", "bold"), (f"  +{event.cuts_added:,}", LABEL)],
    ]


def _moved(bounds: Sequence[float]) -> str:
    """By how much of its size the bound has moved."""
    if len(bounds) <= MOVED or not bounds[-1] or not math.isfinite(bounds[-1 - MOVED]):
        return ""
    return f"{(bounds[-1] - bounds[-1 - MOVED]) / abs(bounds[-1]):+.2%} in {MOVED} iterations"


def rising(values: Sequence[float], width: int) -> str:
    """Return the later two thirds of a series as a small curve, from its least to its largest value.

    >>> rising([0.0, 0.0, 1.0, 2.0, 4.0, 8.0], 4)
    '▁▂▄█'
    """
    later = [value for value in values[len(values) // 3 :] if math.isfinite(value)]
    size = min(width, len(later))
    if size < 2:
        return ""
    shown = [later[round(i * (len(later) - 1) / (size - 1))] for i in range(size)]
    least, most = min(shown), max(shown)
    step = (most - least) / (len(RISING) - 1)
    return "".join(RISING[round((value - least) / step)] if step > 0 else RISING[0] for value in shown)


def _phases(event: IterationFinished, width: int) -> list[Line]:
    taken = {"forward": event.forward_s, "backward": event.backward_s, "selection": event.selection_s}
    whole = sum(taken.values()) or 1.0
    room = max(0, width - 31)
    lines: list[Line] = [[("last iteration", LABEL)]]
    for name, seconds in taken.items():
        share = seconds / whole
        text = f"{name:<10} {_seconds(seconds):>9} {share:>5.0%}  "
        lines.append([(text, ""), ("━" * round(room * share), "blue")])
    return lines


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else clock(seconds)


def _load(watch: Watch, event: IterationFinished, width: int, rows: int) -> list[Line]:
    """What ranks do with their time: a line each, or of many the least and the most busy one."""
    if not event.ranks:
        return []
    threads = watch.started.threads if watch.started else 1
    loads = [(rank.rank, *_shares(rank, threads)) for rank in event.ranks]
    legend: Line = [("█ solves ", "green"), ("▒ else ", "blue"), ("░ waits", "yellow")]
    if len(loads) <= min(RANKS if rows <= RANKS + 1 else ROWS, rows - 1):
        return [legend, *_load_lines([(f"rank {rank}", a, b) for rank, a, b in loads], width)]
    least, most = min(loads, key=lambda load: load[1]), max(loads, key=lambda load: load[1])
    _, solves, waits = (math.fsum(column) / len(loads) for column in zip(*loads, strict=True))
    named = [(f"least: {least[0]}", *least[1:]), (f"mean of {len(loads)}", solves, waits)]
    return [legend, *_load_lines([*named, (f"most: {most[0]}", *most[1:])], width)]


def _shares(rank: RankTimes, threads: int) -> tuple[float, float]:
    """Which share of both passes it was solving, and waiting for others."""
    whole = rank.forward_s + rank.backward_s
    if not whole > 0:
        return 0.0, 0.0
    solves = min(1.0, rank.solving_s / whole / threads)
    return solves, min(1.0 - solves, rank.communication_s / whole)


def _load_lines(loads: Sequence[tuple[str, float, float]], width: int) -> Iterable[Line]:
    widest = max(len(name) for name, _, _ in loads)
    room = max(4, min(40, width - widest - 7))
    for name, solves, waits in loads:
        full = round(room * solves)
        empty = min(round(room * waits), room - full)
        bar = [("█" * full, "green"), ("▒" * (room - full - empty), "blue"), ("░" * empty, "yellow")]
        yield [(f"{name:<{widest}}  ", ""), *bar, (f"{solves:>5.0%}", "")]


def _iterations(watch: Watch, width: int, rows: int) -> list[Line]:
    """The last iterations, the newest below."""
    shown = list(watch.recent)[-max(0, min(ROWS, rows - 1)) :] if rows > 1 else []
    if not shown:
        return []
    heads = ("iteration", f"{watch.sense} bound", "mean cost", "±", "gap", "cuts", "time")
    cells = [heads, *(_cells(watch, event) for event in shown)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    if sum(widths) + 2 * len(widths) > width:  # the interval is above, too
        cells, widths = [row[:3] + row[4:] for row in cells], widths[:3] + widths[4:]
    lines = ["  ".join(f"{cell:>{size}}" for cell, size in zip(row, widths, strict=True)) for row in cells]
    styles = [LABEL, *[""] * (len(lines) - 2), "bold"]
    return [[(line[:width], style)] for line, style in zip(lines, styles, strict=True)]


def _cells(watch: Watch, event: IterationFinished) -> tuple[str, ...]:
    gap, estimate = watch.gap(event.bound, event.estimate.mean), event.estimate
    return (
        str(event.iteration),
        amount(event.bound),
        amount(estimate.mean),
        amount(estimate.half_width()) if estimate.count > 1 else "",
        "" if gap is None else f"{gap:.2%}",
        f"{event.cuts_active:,}",
        _seconds(event.forward_s + event.backward_s + event.selection_s),
    )


def plain(lines: Iterable[Line]) -> list[str]:
    """Return the lines without styles."""
    return ["".join(text for text, _ in line) for line in lines]
