"""Figure of the ranks' time: computing, communicating and waiting."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.formatting import count
from cobre.report._axes import key
from cobre.report._figure import Columns, Figure, Options, rounded
from cobre.report._panel import Floats, Ints
from cobre.report._source import remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results

COMPUTING, COMMUNICATING, WAITING, OTHER = "computing", "communicating", "waiting", "other"
#: Most time spans and lanes drawn.
SPANS, LANES = 120, 24
#: Height of the drawn part of a lane; the rest separates lanes.
FULL = 0.82
#: Units of time, each with the duration in seconds from which it is used.
UNITS = ((7200, 3600.0, "hours"), (300, 60.0, "minutes"), (0, 1.0, "seconds"))


@dataclass(frozen=True, eq=False)
class RankTimeline:
    """Seconds by iteration and rank.

    Attributes:
        elapsed: time at the beginning of each iteration, and at the end of the last.
        computing: solving, iterations by ranks; NaN where a rank took no part.
        communicating: in collectives, after the last rank has arrived.
        waiting: in collectives, for the last rank to arrive.
        other: cut selection, checkpoints and the like.
    """

    elapsed: Floats
    computing: Floats
    communicating: Floats
    waiting: Floats
    other: Floats

    @property
    def changes(self) -> Ints:
        """Iterations before which the number of ranks changed, as after a resume."""
        there = (~np.isnan(self.computing)).sum(axis=1)
        return np.flatnonzero(np.diff(there)) + 1


@remembered
def timeline(results: Results) -> RankTimeline:
    """Return the time of ranks by activity.

    Raises:
        ResultsError: no iteration has finished yet, or the table is missing.
    """
    table, whole = results.table("timing/mpi_ranks"), results.convergence
    if not table.num_rows:
        place = str(results.folder / "training")
        raise ResultsError(
            place, "incomplete", "no iteration has finished yet; wait for the first checkpoint"
        )
    numbers = np.asarray(whole["iteration"].to_numpy())
    row = np.searchsorted(numbers, table["iteration"].to_numpy())
    rank = np.asarray(table["rank"].to_numpy())
    forward, backward, together, waiting = (
        table[f"{name}_time_ms"].to_numpy() / 1000
        for name in ("forward", "backward", "communication", "idle")
    )
    computed, told, waited = np.full((3, len(numbers), int(rank.max()) + 1), np.nan)
    computed[row, rank] = np.maximum(forward + backward - together, 0)
    told[row, rank] = np.maximum(together - waiting, 0)
    waited[row, rank] = np.minimum(together, waiting)
    known = computed + told + waited
    # Clocks of ranks differ slightly, so parts may exceed the total of rank 0.
    total = np.maximum(whole["time_total_ms"].to_numpy() / 1000, np.nanmax(known, axis=1, initial=0))
    elapsed = np.concatenate([[0.0], np.cumsum(total)])
    return RankTimeline(elapsed, computed, told, waited, total[:, None] - known)


def needs_timings(results: Results) -> Options:
    """Require an iteration; the figure has no options."""
    timeline(results)
    return {}


def rows(results: Results) -> Columns:
    """One row per time span, lane and activity."""
    time = timeline(results)
    found = [
        (start, end, part, _lane_name(ranks), lane + FULL * (1 - high), lane + FULL * (1 - low))
        for lane, ranks in enumerate(_groups(time))
        for first, last in pairwise(_spans(time).tolist())
        for start, end in [time.elapsed[[first, last]] / _unit(time)[0]]
        for part, (low, high) in _stacked(time, slice(first, last), ranks).items()
    ]
    start, end, part, lane, top, bottom = map(list, zip(*found, strict=True))
    share = 100 * (np.array(bottom) - top) / FULL
    numbers = {"from": start, "to": end, "low": top, "high": bottom, "share": share}
    return {**{name: rounded(values) for name, values in numbers.items()}, "part": part, "lane": lane}


def _stacked(time: RankTimeline, spans: slice, ranks: Ints) -> dict[str, tuple[float, float]]:
    """Stacked shares: lower and upper edge of each activity."""
    shares = _shares(time, spans, ranks)
    ends = np.cumsum([0.0, *shares.values()]).tolist()
    return dict(zip(shares, pairwise(ends), strict=True))


def _shares(time: RankTimeline, spans: slice, ranks: Ints) -> dict[str, float]:
    """Shares of activities for some ranks and iterations; empty if none of them took part."""
    parts = {
        COMPUTING: time.computing,
        COMMUNICATING: time.communicating,
        WAITING: time.waiting,
        OTHER: time.other,
    }
    sums = {name: float(np.nansum(values[spans][:, ranks])) for name, values in parts.items()}
    total = sum(sums.values())
    return {name: value / total for name, value in sums.items()} if total else {}


def _spans(time: RankTimeline) -> Ints:
    """First iteration of each span, and the end; spans take about equal time and end where ranks change."""
    iterations = len(time.computing)
    if iterations <= SPANS:
        return np.arange(iterations + 1)
    ideal = np.linspace(0, time.elapsed[-1], SPANS + 1)
    return np.unique(np.r_[0, np.searchsorted(time.elapsed, ideal), time.changes, iterations])


def _groups(time: RankTimeline) -> list[Ints]:
    ranks = np.arange(time.computing.shape[1])
    return list(np.array_split(ranks, min(len(ranks), LANES)))


def _lane_name(ranks: Ints) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}"


def _unit(time: RankTimeline) -> tuple[float, str]:
    return next((seconds, name) for least, seconds, name in UNITS if time.elapsed[-1] >= least)


def chart(results: Results, theme: Theme) -> Any:
    """One lane per rank, divided in height by activity."""
    alt = altair()
    time = timeline(results)
    groups = _groups(time)
    shares = [_shares(time, slice(None), ranks).get(COMPUTING, 0.0) for ranks in groups]
    names = [
        f"{_lane_name(ranks)} · {100 * share:.0f} %" for ranks, share in zip(groups, shares, strict=True)
    ]
    _, unit = _unit(time)
    x = alt.X("from:Q", title=f"time of training, {unit}", scale=alt.Scale(nice=False))
    x.axis = alt.Axis(tickCount=10)
    words = alt.Axis(
        values=[lane + FULL / 2 for lane in range(len(groups))],
        labelExpr=f"{names!r}[floor(datum.value)]",
        grid=False,
        labelOverlap=False,
    )
    y = alt.Y("low:Q", title=None, axis=words)
    y.scale = alt.Scale(domain=[len(groups) - (1 - FULL), 0], nice=False, zero=False)
    colours = [*(theme.series[place] for place in (0, 2, 3)), theme.grid]
    fill = key([COMPUTING, COMMUNICATING, WAITING, OTHER], colours, "square")
    fill["shorthand"] = "part:N"
    tooltip = [
        alt.Tooltip("lane:N", title="rank"),
        alt.Tooltip("part:N", title="activity"),
        alt.Tooltip("share:Q", title="share, %", format=".3~g"),
    ]
    bars = alt.Chart().mark_rect().encode(x, y, x2="to", y2="high", fill=alt.Fill(**fill), tooltip=tooltip)
    return alt.layer(bars)


def caption(results: Results) -> str:
    """Number of ranks, duration, and shares of activities."""
    time = timeline(results)
    everyone = np.arange(time.computing.shape[1])
    shares = _shares(time, slice(None), everyone)
    unit, word = _unit(time)
    words = [
        f"{count(len(everyone), 'rank')}, {time.elapsed[-1] / unit:.3g} {word}",
        ", ".join(
            f"{part} {100 * shares.get(part, 0):.0f} %" for part in (COMPUTING, COMMUNICATING, WAITING)
        ),
    ]
    if len(time.changes):
        first = ", ".join(str(int(place) + 1) for place in time.changes[:4])
        words.append(f"resumed with another number of ranks before iteration {first}")
    return " · ".join(words)


FIGURE = Figure(
    "timeline",
    "Rank utilisation",
    "How much of their time do ranks compute, communicate and wait?",
    rows,
    chart,
    caption,
    options_of=needs_timings,
    size=(720, 220),
)
