"""The inflow model of each hydro plant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cobre.elements.hydro.data import Inflow
from cobre.elements.hydro.inputs.estimation import (
    AnnualComponents,
    Coefficients,
    Estimation,
    Statistics,
    is_needed,
)
from cobre.elements.hydro.inputs.files import ANNUAL, COEFFICIENTS, STATISTICS
from cobre.elements.hydro.inputs.lags import Known, Lags, Mean, StageSeasons
from cobre.elements.hydro.inputs.models import HydroInitialConditions, HydroInput
from cobre.elements.hydro.inputs.moments import Moments
from cobre.inputs.calendar import Calendar
from cobre.inputs.files import CaseFiles
from cobre.inputs.stages import Stages
from cobre.inputs.timeline import Series, StageTimeline
from cobre.stochastic import YEAR, Annual, resolve


@dataclass(frozen=True, eq=False)
class Inflows:
    """Inflow models of a case: given in its files, or fitted to its history."""

    files: CaseFiles
    stages: Stages
    timeline: StageTimeline
    estimation: Estimation | None = None
    _resolved: dict[int, Inflow] = field(default_factory=dict, repr=False)
    _lags: dict[int, Lags] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, files: CaseFiles) -> Inflows:
        """The models that are given, and fitted ones where none are."""
        stages, config = files.stages, files.config
        if stages is None:
            raise LookupError("stages.json")
        fitted = Estimation(files, config.estimation, stages) if config and is_needed(files) else None
        return cls(files, stages, files.timeline, fitted)

    @cached_property
    def statistics(self) -> Statistics:
        """Mean and standard deviation by hydro plant and stage, stages before the study included."""
        table = self.files.table(STATISTICS)
        if table is None:
            return self.estimation.statistics() if self.estimation else {}
        columns = [table[name].tolist() for name in ("hydro_id", "stage_id", "mean_m3s", "std_m3s")]
        return {(hydro, stage): (mean, std) for hydro, stage, mean, std in zip(*columns, strict=True)}

    @cached_property
    def coefficients(self) -> Coefficients:
        """Coefficient and residual ratio of each lag, by hydro plant and stage."""
        table = self.files.table(COEFFICIENTS)
        if table is None:
            return self.estimation.coefficients() if self.estimation else {}
        found: Coefficients = {}
        names = ("hydro_id", "stage_id", "lag", "coefficient", "residual_std_ratio")
        for hydro, stage, lag, value, ratio in zip(*(table[name].tolist() for name in names), strict=True):
            found.setdefault((hydro, stage), {})[lag] = (value, ratio)
        return found

    @cached_property
    def annual(self) -> AnnualComponents:
        """The component of the past year, by hydro plant and stage."""
        table = self.files.table(ANNUAL)
        if table is None:
            return self.estimation.annual() if self.estimation else {}
        names = ("hydro_id", "stage_id", "annual_coefficient", "annual_std_m3s", "annual_mean_m3s")
        rows = zip(*(table[name].tolist() for name in names), strict=True)
        return {(hydro, stage): Annual(*numbers) for hydro, stage, *numbers in rows}

    def resolve(self, hydro: int) -> Inflow:
        """The model of a hydro plant."""
        if hydro not in self._resolved:
            with np.errstate(over="ignore", invalid="ignore"):  # see check
                self._resolved[hydro] = self._resolve(hydro)
        return self._resolved[hydro]

    def _resolve(self, hydro: int) -> Inflow:
        none, lags = (0.0, 0.0), self.lags(hydro)
        numbers = np.array([self.statistics.get((hydro, stage), none) for stage in self.timeline.ids])
        moments = [
            [self.moments.of(hydro, mean) or none if mean else none for mean in means[:order]]
            for means, order in zip(lags.means, lags.orders, strict=False)
        ]
        model = resolve(
            numbers[:, 0],
            numbers[:, 1],
            self._standardised(hydro),
            ratios=self._ratios(hydro),
            annual=[self.annual.get((hydro, stage)) for stage in self.timeline.ids],
            lagged=moments,
        )
        return Inflow(*model, lags.initial_m3s, given_transitions=lags.transitions)

    @cached_property
    def moments(self) -> Moments:
        """Of the inflows that lags are."""
        fitted = None if self.files.has(STATISTICS) else self.estimation
        return Moments(self.stages, self.timeline, self.calendar, self.statistics, fitted)

    def lags(self, hydro: int) -> Lags:
        """The lags of a plant's model, in the calendar."""
        if hydro not in self._lags:
            observed = self.files.initial(HydroInitialConditions)
            self._lags[hydro] = Lags(
                self._seasons,
                [self._count(hydro, stage) for stage in self.timeline.ids],
                self.past(hydro),
                [
                    Known(one.start_date, one.end_date, one.value_m3s)
                    for one in (observed.recent_observations if observed else ())
                    if one.hydro_id == hydro
                ],
            )
        return self._lags[hydro]

    @cached_property
    def _seasons(self) -> StageSeasons:
        return StageSeasons(self.timeline, self.calendar)

    @cached_property
    def calendar(self) -> Calendar | None:
        """The seasons that lags look back by; None if they look back by stages."""
        return Calendar.of(self.stages)

    def past(self, hydro: int) -> tuple[float, ...]:
        """Inflows before the study, the latest first: those given, or those of the history."""
        given = self.files.initial(HydroInitialConditions)
        for entry in given.past_inflows if given else ():
            if entry.hydro_id == hydro:
                return tuple(entry.values_m3s)
        history = self.estimation.history if self.estimation else None
        start = self.stages.season_of(self._begin)
        if history is None or start is None:
            return ()
        count = max(self._count(hydro, stage) for stage in self.timeline.ids)
        return tuple(history.before(hydro, history.row(*start))[:count])

    @property
    def _begin(self) -> date:
        """The first day of the first stage's season; of the stage itself where lags look back by stages."""
        first = self.timeline.stages[0]
        if self.calendar is None:
            return first.start_date
        return self.calendar.period(self.timeline.seasons[0], first).start

    def is_finite(self, hydro: int) -> bool:
        """True if all numbers of a model are finite."""
        model = self.resolve(hydro)
        return all(np.isfinite(one).all() for one in (model.base_m3s, model.scale_m3s, *model.coefficients))

    def loses_a_lag(self, hydro: int) -> bool:
        """True if a coefficient is lost, because the inflow that it multiplies is certain."""
        pairs = zip(self._standardised(hydro), self.resolve(hydro).coefficients, strict=True)
        return any(bool(np.any((psi != 0) & (used[: len(psi)] == 0))) for psi, used in pairs)

    def used(self, hydro: int) -> Iterator[tuple[int, int, Mean]]:
        """Yield place of the stage, lag and mean of all lags of a model."""
        lags = self.lags(hydro)
        for place, (means, count) in enumerate(zip(lags.means, lags.orders, strict=False)):
            for lag, mean in enumerate(means[:count], 1):
                assert mean is not None  # noqa: S101 - stages have the lags that their models use
                yield place, lag, mean

    def _standardised(self, hydro: int) -> list[NDArray[np.float64]]:
        models = [self.coefficients.get((hydro, stage), {}) for stage in self.timeline.ids]
        return [np.array([model[lag][0] for lag in sorted(model)]) for model in models]

    def _ratios(self, hydro: int) -> Series:
        return np.array([self._ratio(hydro, stage) for stage in self.timeline.ids])

    def _ratio(self, hydro: int, stage: int) -> float:
        """The share of a standard deviation that the past does not explain; rows of lags tell it, if any."""
        model = self.coefficients.get((hydro, stage))
        if model:
            return model[min(model)][1]
        return self.estimation.ratio(hydro, stage) if self.estimation else 1.0

    @property
    def has_means(self) -> bool:
        """True if lags of some plant are not just the inflows of earlier stages."""
        return any(self.lags(hydro.id).transitions for hydro in self.files.of(HydroInput))

    @property
    def order(self) -> int:
        """The longest lag of all plants."""
        hydros = self.files.of(HydroInput)
        return max(
            (self._count(hydro.id, stage) for hydro in hydros for stage in self.timeline.ids), default=0
        )

    def order_of(self, hydro: int) -> int:
        """The longest lag of a plant that has a coefficient of its own."""
        return max(max(self.coefficients.get((hydro, stage), {0: 0})) for stage in self.timeline.ids)

    def season_before(self, back: int) -> int | None:
        """The season that ended so many seasons before the study; None if nobody can know it."""
        period = None
        if self.calendar is not None:
            period = next(islice(self.calendar.before(self._seasons.periods[0]), back - 1, None))
        return self.moments.season(Mean(period, back))

    def _count(self, hydro: int, stage: int) -> int:
        """The number of lags in a stage."""
        year = YEAR if (hydro, stage) in self.annual else 0
        return max(len(self.coefficients.get((hydro, stage), {})), year)
