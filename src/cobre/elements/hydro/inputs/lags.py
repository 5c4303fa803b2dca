"""Lags of inflow models in the calendar, and the states that keep them.

Lag k of a stage is the mean inflow of the k-th season before its own, which changes when the last stage of a
season is over: weeks of a month have the same lags. Each stage counts in its season, and in the next, by the
days that it has in each. Where stages of another resolution follow, quarters after months, lags are the means
of the seasons before them, by the days of all stages and past inflows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cobre.elements.hydro.data import Transition
from cobre.inputs.calendar import Calendar, Period
from cobre.inputs.timeline import StageTimeline


class Known(NamedTuple):
    """The mean inflow of some days before the study."""

    start: date
    end: date
    value_m3s: float


@dataclass(eq=False)
class Mean:
    """The mean inflow of a period.

    Attributes:
        period: its season and days; None for a stage of no season.
        back: how many periods it is before the study; 0 if it is not.
        stage: the last stage of the period; None if no stage is of its season.
        days: what counts of each stage.
        known: likewise of days before the study.
    """

    period: Period | None
    back: int = 0
    stage: int | None = None
    days: dict[int, int] = field(default_factory=dict)
    known: list[tuple[int, float]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All days that count."""
        return sum(self.days.values()) + sum(days for days, _ in self.known)

    def share(self, stage: int) -> float:
        """The weight of a stage's inflow."""
        return self.days[stage] / self.total if self.days.get(stage) else 0.0

    @property
    def initial_m3s(self) -> float:
        """The part of the mean that is known before the study."""
        return sum(days * value for days, value in self.known) / self.total if self.known else 0.0


@dataclass(frozen=True, eq=False)
class StageSeasons:
    """The stages of a study in the calendar.

    Args:
        timeline: the stages.
        calendar: the seasons; without, each stage is one, and lag k the inflow k stages ago.
    """

    timeline: StageTimeline
    calendar: Calendar | None

    @cached_property
    def periods(self) -> list[Period]:
        """By stage, its season; none without a calendar."""
        if self.calendar is None:
            return []
        stages = zip(self.timeline.seasons, self.timeline.stages, strict=True)
        return [self.calendar.period(season, stage) for season, stage in stages]

    @cached_property
    def days(self) -> list[dict[Period, int]]:
        """By stage, its days in its season and in the next."""
        if self.calendar is None:
            return []
        following = {period: self.calendar.after(period) for period in set(self.periods)}
        return [
            {one: one.days(stage.start_date, stage.end_date) for one in (period, following[period])}
            for stage, period in zip(self.timeline.stages, self.periods, strict=True)
        ]

    @cached_property
    def changes(self) -> list[bool]:
        """By stage, whether it is of another resolution than the one before it."""
        if self.calendar is None:
            return [False] * len(self.timeline)
        found = [self.calendar.resolution(period.season) for period in self.periods]
        return [False, *(one != other for one, other in itertools.pairwise(found))]


@dataclass(frozen=True, eq=False)
class Lags:
    """The lags of a plant's inflow model before each stage and after the last, as means of periods.

    Args:
        seasons: of the stages.
        orders: per stage, how many lags its model has.
        past_m3s: inflows before the study, the latest first.
        observed: those of the days of the first season that were before the study.
    """

    seasons: StageSeasons
    orders: Sequence[int]
    past_m3s: Sequence[float]
    observed: Sequence[Known] = ()

    @cached_property
    def order(self) -> int:
        """The most lags of a stage."""
        return max(self.orders, default=0)

    @cached_property
    def means(self) -> list[list[Mean | None]]:
        """Before each stage and after the last, the mean that each lag is; None where nothing is known."""
        lags: list[Mean | None] = [*self._before_the_study[: self.order]]
        found, own = [lags], self._own
        for t, mean in enumerate(own):
            if mean.stage == t:
                lags = [mean, *lags][: self.order]
            if t + 1 < len(own) and self.seasons.changes[t + 1]:
                lags = self._rebuilt(t + 1)
            found.append(lags)
        return found

    @cached_property
    def _before_the_study(self) -> list[Mean]:
        periods: Iterator[Period | None] = itertools.repeat(None)
        if self.seasons.calendar and self.seasons.periods:
            periods = self.seasons.calendar.before(self.seasons.periods[0])
        count = max(self.order, len(self.past_m3s))  # more than lags may be of a longer season before them
        return [Mean(period, back) for back, period in zip(range(1, count + 1), periods, strict=False)]

    @cached_property
    def _own(self) -> list[Mean]:
        """By stage, the mean that its inflow belongs to."""
        if self.seasons.calendar is None:
            return [Mean(None, stage=t, days={t: 1}) for t in range(len(self.orders))]
        found: dict[Period, Mean] = {}
        for t, period in enumerate(self.seasons.periods):
            if period not in found:
                begins = t == 0 or self.seasons.changes[t]
                found[period] = self._mean(period, t) if begins else Mean(period)
        for t, period in enumerate(self.seasons.periods):
            found[period].stage = t
            for counted, days in self.seasons.days[t].items():
                if days:
                    found.setdefault(counted, Mean(counted)).days[t] = days
        return [found[period] for period in self.seasons.periods]

    def _rebuilt(self, t: int) -> list[Mean | None]:
        """The lags of a stage of another resolution than those before it, as far as its like have some."""
        assert self.seasons.calendar is not None  # noqa: S101 - only a calendar has resolutions
        changes = self.seasons.changes
        like = itertools.takewhile(lambda s: s == t or not changes[s], range(t, len(self.orders)))
        count = max(self.orders[s] for s in like)
        periods = itertools.islice(self.seasons.calendar.before(self.seasons.periods[t]), count)
        lags = [self._mean(period, t) for period in periods]
        return [*lags, *[None] * (self.order - count)]

    def _mean(self, period: Period, until: int) -> Mean:
        """The mean of a period by all days before a stage, whatever season they count in."""
        stages = enumerate(self.seasons.timeline.stages[:until])
        days = {t: period.days(stage.start_date, stage.end_date) for t, stage in stages}
        known = [(period.days(one.start, one.end), one.value_m3s) for one in self.known]
        return Mean(
            period,
            days={t: count for t, count in days.items() if count},
            known=[one for one in known if one[0]],
        )

    @cached_property
    def known(self) -> list[Known]:
        """The inflows before the study, with their days."""
        past = zip(self._before_the_study, self.past_m3s, strict=False)
        periods = [Known(mean.period.start, mean.period.end, value) for mean, value in past if mean.period]
        return [*periods, *self.observed]

    @cached_property
    def _begun(self) -> list[list[Mean]]:
        """Before each stage and after the last, the means that are begun and will be lags."""
        found: list[list[Mean]] = [[] for _ in self.means]
        first = {mean: t for t, lags in reversed([*enumerate(self.means)]) for mean in lags if mean}
        for mean, lag in sorted(first.items(), key=lambda item: item[1]):
            begins = 0 if mean.known else min(mean.days, default=lag) + 1
            for t in range(begins, lag):
                found[t].append(mean)
        return found

    @cached_property
    def _states(self) -> list[list[Mean | None]]:
        """Before each stage and after the last, the mean that each state is, or is a part of."""
        means: list[Mean | None] = [None] * max(map(len, self._begun), default=0)
        found = []
        for lags, begun in zip(self.means, self._begun, strict=True):
            means = [mean if mean in begun else None for mean in means]
            for mean in begun:
                if mean not in means:
                    means[means.index(None)] = mean
            found.append([*lags, *means])
        return found

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        """Of the states, per stage; none if each lag is just the inflow of an earlier stage."""
        made: dict[bytes, Transition] = {}
        found = []
        for t, (before, after) in enumerate(itertools.pairwise(self._states)):
            one = _transition(t, before, after)
            found.append(made.setdefault(one.carried.tobytes() + one.share.tobytes(), one))
        shift = Transition(np.eye(self.order, k=-1), np.eye(self.order, 1)[:, 0])
        is_plain = all(
            np.array_equal(one.carried, shift.carried) and np.array_equal(one.share, shift.share)
            for one in made.values()
        )
        return () if is_plain else tuple(found)

    @property
    def initial_m3s(self) -> tuple[float, ...]:
        """The states before the first stage; lags of which nothing is known are 0."""
        lags = [*self.past_m3s[: self.order], *[0.0] * (self.order - len(self.past_m3s))]
        return (*lags, *(mean.initial_m3s if mean else 0.0 for mean in self._states[0][self.order :]))


def _transition(t: int, before: Sequence[Mean | None], after: Sequence[Mean | None]) -> Transition:
    """The transition over a stage, given the means that the states are before and after it."""
    carried, share = np.zeros((len(after), len(before))), np.zeros(len(after))
    for i, mean in enumerate(after):
        if mean is not None:
            share[i] = mean.share(t)
            if mean in before:
                carried[i, before.index(mean)] = 1.0
    return Transition(carried, share)
