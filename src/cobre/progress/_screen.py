"""Layout of the live table: a training as lines of styled text for a screen of any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from cobre.formatting import amount, clock, gap_text
from cobre.progress._state import ProgressState, time_left
from cobre.sddp import IterationFinished, RankTimes

#: Pieces of text, each with a style. All characters are one column wide.
Line = list[tuple[str, str]]
#: Lines that belong together, or a function that makes them for a number of rows.
Part = list[Line] | Callable[[int], list[Line]]

#: From this width on, two halves stand side by side; more columns than the second are not used.
TWO_HALVES, WIDEST = 132, 168
#: Width of the left half.
LEFT = 94
#: Maximum number of rows of iterations, and of ranks with a line of their own.
ROWS, RANKS = 16, 8
#: The change of the bound is shown over this many iterations.
TREND = 10
LABEL = "dim"
SPARKS = "▁▂▃▄▅▆▇█"


def render(state: ProgressState, width: int, height: int) -> list[Line]:
    """Return the lines, none longer than ``width`` and no more than ``height``."""
    return [_truncated(line, width) for line in _lines(state, width, height)[:height]]


def _lines(state: ProgressState, width: int, height: int) -> list[Line]:
    event = state.last
    head = [*_head(state, min(width, WIDEST)), []]
    if event is None:
        return head
    if width >= TWO_HALVES:
        half = min(width, WIDEST) - LEFT
        parts: list[Part] = [_figures(state, LEFT - 4), lambda rows: _iterations(state, LEFT - 4, rows)]
        left = _stacked(height - len(head), parts)
        load: list[Part] = [_phases(event, half), lambda rows: _load(state, event, half, rows)]
        return [*head, *_beside(left, _stacked(height - len(head), load), LEFT)]
    half = width // 2 - 1
    times = _beside(_phases(event, half), _load(state, event, width - half - 2, RANKS + 1), half + 2)
    below: list[Part] = [_figures(state, width), times, lambda rows: _iterations(state, width, rows)]
    return [*head, *_stacked(height - len(head), below)]


def _stacked(height: int, parts: Sequence[Part]) -> list[Line]:
    """Stack parts with an empty line between; parts that do not fit are left out."""
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


def _truncated(line: Line, width: int) -> Line:
    kept: Line = []
    for text, style in line:
        kept.append((text[:width], style))
        width = max(0, width - len(text))
    return kept


def _filled(line: Line, width: int) -> Line:
    return [*line, (" " * (width - sum(len(text) for text, _ in line)), "")]


def _head(state: ProgressState, width: int) -> list[Line]:
    event = state.last
    elapsed = (event.seconds if event else 0.0) + state.since_update_s
    left = time_left(event.remaining, state.since_update_s) if event else ""
    rule = event.remaining.rule if event and event.remaining else ""
    times: Line = [("elapsed     ", LABEL), (clock(elapsed), "bold")]
    if left:
        times += [("   ", ""), (left, "bold cyan"), (f", to {rule}"[: max(0, width - 50)], LABEL)]
    if not state.limit:
        return [[("iteration   ", LABEL), (f"{state.iteration}", "bold")], times]
    text, share = f"{state.iteration} of {state.limit}", state.iteration / state.limit
    room = max(4, width - len(text) - 21)
    done = round(room * share)
    bar = [("━" * done, "green"), ("─" * (room - done), "bright_black")]
    percent = f"{math.floor(100 * share):4} %"
    return [[("iteration   ", LABEL), (text, "bold"), ("  ", ""), *bar, (percent, "")], times]


def _figures(state: ProgressState, width: int) -> list[Line]:
    event = state.recent[-1]
    gap, half = state.gap(event.bound, event.estimate.mean), event.estimate.half_width()
    interval = f" ± {amount(half)}" if event.estimate.count > 1 else ""
    bound, change = amount(event.bound), _trend(state.bounds)
    trend = sparkline(state.bounds, max(0, min(40, width - 17 - len(bound) - len(change))))
    return [
        [
            (f"{state.side} bound ", LABEL),
            (bound, "bold"),
            ("  ", ""),
            (trend, "cyan"),
            (f"  {change}", LABEL),
        ],
        [("mean cost   ", LABEL), (amount(event.estimate.mean), "bold"), (interval, "")],
        [("gap         ", LABEL), (gap_text(gap), "bold")],
        [("cuts        ", LABEL), (f"{event.cuts_active:,}", "bold"), (f"  {_new_cuts(event)}", LABEL)],
    ]


def _new_cuts(event: IterationFinished) -> str:
    """Return the cuts of an iteration: those added, and those that were there already."""
    repeated = f", {event.cuts_repeated:,} repeated" if event.cuts_repeated else ""
    return f"+{event.cuts_added:,}{repeated}"


def _trend(bounds: Sequence[float]) -> str:
    """Return the relative change of the bound."""
    if len(bounds) <= TREND or not bounds[-1] or not math.isfinite(bounds[-1 - TREND]):
        return ""
    return f"{100 * (bounds[-1] - bounds[-1 - TREND]) / abs(bounds[-1]):+.2f} % in {TREND} iterations"


def sparkline(values: Sequence[float], width: int) -> str:
    """Return the later two thirds of a series as a curve of one line, scaled from minimum to maximum.

    >>> sparkline([0.0, 0.0, 1.0, 2.0, 4.0, 8.0], 4)
    '▁▂▄█'
    """
    later = [value for value in values[len(values) // 3 :] if math.isfinite(value)]
    size = min(width, len(later))
    if size < 2:
        return ""
    shown = [later[round(i * (len(later) - 1) / (size - 1))] for i in range(size)]
    least, most = min(shown), max(shown)
    step = (most - least) / (len(SPARKS) - 1)
    return "".join(SPARKS[round((value - least) / step)] if step > 0 else SPARKS[0] for value in shown)


def _phases(event: IterationFinished, width: int) -> list[Line]:
    taken = {"forward": event.forward_s, "backward": event.backward_s, "selection": event.selection_s}
    whole = sum(taken.values()) or 1.0
    room = max(0, width - 32)
    lines: list[Line] = [[("last iteration", LABEL)]]
    for name, seconds in taken.items():
        share = seconds / whole
        text = f"{name:<10} {_seconds(seconds):>9} {100 * share:>4.0f} %  "
        lines.append([(text, ""), ("━" * round(room * share), "blue")])
    return lines


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else clock(seconds)


def _load(state: ProgressState, event: IterationFinished, width: int, rows: int) -> list[Line]:
    """Return the load of each rank, or of many ranks the least and the most loaded."""
    if not event.ranks:
        return []
    threads = state.started.threads if state.started else 1
    loads = [(rank.rank, *_shares(rank, threads)) for rank in event.ranks]
    legend: Line = [("█ solving ", "green"), ("▒ other ", "blue"), ("░ waiting", "yellow")]
    if len(loads) <= min(RANKS if rows <= RANKS + 1 else ROWS, rows - 1):
        return [legend, *_load_lines([(f"rank {rank}", a, b) for rank, a, b in loads], width)]
    least, most = min(loads, key=lambda load: load[1]), max(loads, key=lambda load: load[1])
    _, solves, waits = (math.fsum(column) / len(loads) for column in zip(*loads, strict=True))
    named = [(f"least: {least[0]}", *least[1:]), (f"mean of {len(loads)}", solves, waits)]
    return [legend, *_load_lines([*named, (f"most: {most[0]}", *most[1:])], width)]


def _shares(rank: RankTimes, threads: int) -> tuple[float, float]:
    """Return the shares of both passes spent in solving and in communication and waiting."""
    whole = rank.forward_s + rank.backward_s
    if not whole > 0:
        return 0.0, 0.0
    solves = min(1.0, rank.solving_s / whole / threads)
    return solves, min(1.0 - solves, rank.communication_s / whole)


def _load_lines(loads: Sequence[tuple[str, float, float]], width: int) -> Iterable[Line]:
    widest = max(len(name) for name, _, _ in loads)
    room = max(4, min(40, width - widest - 8))
    for name, solves, waits in loads:
        full = round(room * solves)
        empty = min(round(room * waits), room - full)
        bar = [("█" * full, "green"), ("▒" * (room - full - empty), "blue"), ("░" * empty, "yellow")]
        yield [(f"{name:<{widest}}  ", ""), *bar, (f"{100 * solves:>4.0f} %", "")]


def _iterations(state: ProgressState, width: int, rows: int) -> list[Line]:
    """Return the last iterations, the newest at the bottom."""
    shown = list(state.recent)[-max(0, min(ROWS, rows - 1)) :] if rows > 1 else []
    if not shown:
        return []
    heads = ("iteration", f"{state.side} bound", "mean cost", "±", "gap", "cuts", "time")
    cells = [heads, *(_cells(state, event) for event in shown)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    if sum(widths) + 2 * len(widths) > width:  # the interval is shown above as well
        cells, widths = [row[:3] + row[4:] for row in cells], widths[:3] + widths[4:]
    lines = ["  ".join(f"{cell:>{size}}" for cell, size in zip(row, widths, strict=True)) for row in cells]
    styles = [LABEL, *[""] * (len(lines) - 2), "bold"]
    return [[(line[:width], style)] for line, style in zip(lines, styles, strict=True)]


def _cells(state: ProgressState, event: IterationFinished) -> tuple[str, ...]:
    gap, estimate = state.gap(event.bound, event.estimate.mean), event.estimate
    return (
        str(event.iteration),
        amount(event.bound),
        amount(estimate.mean),
        amount(estimate.half_width()) if estimate.count > 1 else "",
        "" if gap is None else gap_text(gap),
        f"{event.cuts_active:,}",
        _seconds(event.forward_s + event.backward_s + event.selection_s),
    )


def plain(lines: Iterable[Line]) -> list[str]:
    """Return the lines without styles."""
    return ["".join(text for text, _ in line) for line in lines]
