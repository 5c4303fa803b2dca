"""What ranks did with their time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.report._axes import key
from cobre.report._figure import Columns, Figure, Options, rounded
from cobre.report._panel import Floats, Ints
from cobre.report._source import remembered
from cobre.report._theme import Theme, altair
from cobre.results import Results

COMPUTING, TELLING, WAITING, OTHER = "computing", "communicating", "waiting", "other"
#: How many spans of time are drawn, and how many lanes, at most.
SPANS, LANES = 120, 24
#: The part of a lane that is drawn; the rest keeps lanes apart.
FULL = 0.82
#: Units of time, by how many seconds make it worth using them.
UNITS = ((7200, 3600.0, "hours"), (300, 60.0, "minutes"), (0, 1.0, "seconds"))


@dataclass(frozen=True, eq=False)
class Timeline:
    """Time by iteration and rank, in seconds.

    Attributes:
        elapsed: from the beginning to each iteration's beginning, and to the end of the last.
        computing: iterations by ranks; NaN where a rank took no part.
        telling: likewise: with others, once all have come.
        waiting: likewise: for the last to come.
        other: likewise: cut selection, checkpoints and the like.
    """

    elapsed: Floats
    computing: Floats
    telling: Floats
    waiting: Floats
    other: Floats

    @property
    def changes(self) -> Ints:
        """The iterations before which the number of ranks changed, as when a run is resumed by others."""
        there = (~np.isnan(self.computing)).sum(axis=1)
        return np.flatnonzero(np.diff(there)) + 1


@remembered
def timeline(results: Results) -> Timeline:
    """Return what ranks did with their time.

    Raises:
        ResultsError: there is no iteration yet, or the table is missing.
    """
    table, whole = results.table("timing/mpi_ranks"), results.convergence
    if not table.num_rows:
        place = str(results.folder / "training")
        raise ResultsError(place, "incomplete", "there is no iteration yet; wait for the first checkpoint")
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
    # Clocks of ranks differ by a little.
    total = np.maximum(whole["time_total_ms"].to_numpy() / 1000, np.nanmax(known, axis=1, initial=0))
    elapsed = np.concatenate([[0.0], np.cumsum(total)])
    return Timeline(elapsed, computed, told, waited, total[:, None] - known)


def needs_timings(results: Results) -> Options:
    """There is nothing to choose, but there must be an iteration."""
    timeline(results)
    return {}


def rows(results: Results) -> Columns:
    """A row for each span of time, lane and part."""
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


def _stacked(time: Timeline, spans: slice, ranks: Ints) -> dict[str, tuple[float, float]]:
    """Shares on top of one another."""
    shares = _shares(time, spans, ranks)
    ends = np.cumsum([0.0, *shares.values()]).tolist()
    return dict(zip(shares, pairwise(ends), strict=True))


def _shares(time: Timeline, spans: slice, ranks: Ints) -> dict[str, float]:
    """How some ranks spent some iterations; nothing if none of them took part."""
    parts = {COMPUTING: time.computing, TELLING: time.telling, WAITING: time.waiting, OTHER: time.other}
    sums = {name: float(np.nansum(values[spans][:, ranks])) for name, values in parts.items()}
    total = sum(sums.values())
    return {name: value / total for name, value in sums.items()} if total else {}


def _spans(time: Timeline) -> Ints:
    """The iterations that begin a span, and the end: spans of about equal time, apart where ranks change."""
    count = len(time.computing)
    if count <= SPANS:
        return np.arange(count + 1)
    ideal = np.linspace(0, time.elapsed[-1], SPANS + 1)
    return np.unique(np.r_[0, np.searchsorted(time.elapsed, ideal), time.changes, count])


def _groups(time: Timeline) -> list[Ints]:
    ranks = np.arange(time.computing.shape[1])
    return list(np.array_split(ranks, min(len(ranks), LANES)))


def _lane_name(ranks: Ints) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}"


def _unit(time: Timeline) -> tuple[float, str]:
    return next((seconds, name) for least, seconds, name in UNITS if time.elapsed[-1] >= least)


def chart(results: Results, theme: Theme) -> Any:
    """A lane for each rank, in which the share of each part is as high as it is large."""
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
    fill = key([COMPUTING, TELLING, WAITING, OTHER], colours, "square")
    fill["shorthand"] = "part:N"
    tooltip = [
        alt.Tooltip("lane:N", title="who"),
        alt.Tooltip("part:N", title="what"),
        alt.Tooltip("share:Q", title="share, %", format=".3~g"),
    ]
    bars = alt.Chart().mark_rect().encode(x, y, x2="to", y2="high", fill=alt.Fill(**fill), tooltip=tooltip)
    return alt.layer(bars)


def caption(results: Results) -> str:
    """How well ranks were used."""
    time = timeline(results)
    everyone = np.arange(time.computing.shape[1])
    shares = _shares(time, slice(None), everyone)
    unit, word = _unit(time)
    words = [
        f"{len(everyone)} rank{'s'[: len(everyone) != 1]}, {time.elapsed[-1] / unit:.3g} {word}",
        ", ".join(f"{part} {100 * shares.get(part, 0):.0f} %" for part in (COMPUTING, TELLING, WAITING)),
    ]
    if len(time.changes):
        first = ", ".join(str(int(place) + 1) for place in time.changes[:4])
        words.append(f"resumed with another number of ranks before iteration {first}")
    return " · ".join(words)


FIGURE = Figure(
    "timeline",
    "What the ranks did",
    "Do the workers compute, or wait for one another?",
    rows,
    chart,
    caption,
    options_of=needs_timings,
    size=(720, 220),
)
