"""Inflow models fitted to the history, where the case does not give them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.elements.hydro.inputs.files import COEFFICIENTS, HISTORY, STATISTICS
from cobre.elements.hydro.inputs.history import SeasonalHistory, check_days
from cobre.elements.hydro.inputs.models import HydroInput
from cobre.inputs.config import EstimationSettings
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages
from cobre.stochastic import (
    YEAR,
    Annual,
    SeasonModel,
    consistent,
    estimate,
    residual_correlations,
    residuals,
)

#: By hydro plant and stage.
Statistics = dict[tuple[int, int], tuple[float, float]]
#: By hydro plant and stage, the coefficient and the residual ratio of each lag.
Coefficients = dict[tuple[int, int], dict[int, tuple[float, float]]]
#: By hydro plant and stage.
AnnualComponents = dict[tuple[int, int], Annual]
#: The id of a stage that there is not.
_NOWHERE = -(2**31) - 1


def is_needed(files: CaseFiles) -> bool:
    """True if there is a history, and the model beside it is incomplete."""
    return files.has(HISTORY) and not (files.has(STATISTICS) and files.has(COEFFICIENTS))


@dataclass(frozen=True, eq=False)
class Estimation:
    """Inflow models fitted to the history, by plant.

    Statistics or coefficients that the case gives are used as they are; only the others are fitted.
    """

    files: CaseFiles
    settings: EstimationSettings
    stages: Stages

    @cached_property
    def history(self) -> SeasonalHistory | None:
        """The observations; None if the file is wrong."""
        table = self.files.table(HISTORY)
        return None if table is None else SeasonalHistory.of(table, self.stages)

    @cached_property
    def models(self) -> dict[int, tuple[SeasonModel, ...]]:
        """By hydro plant, one for each season of the year; only plants with enough observations."""
        if self.history is None or not self.history.seasons:
            return {}
        counts = self.history.counts()
        enough = np.all(counts > 1, axis=0)
        order = min(self.settings.max_order, int(counts.max(initial=0)))  # more cannot be told from it
        return {
            hydro: estimate(
                self.history.observations(hydro),
                len(self.history.seasons),
                max_order=0 if self.files.has(COEFFICIENTS) else order,
                max_coefficient=self.settings.max_coefficient_magnitude,
                annual=self.has_annual,
            )
            for hydro, usable in zip(self.history.hydros, enough, strict=True)
            if usable and (hydro in self._with_years or not self.has_annual)
        }

    @property
    def has_annual(self) -> bool:
        """True if the mean of the past year is a part of the models that are fitted."""
        return self.settings.order_selection == "pacf_annual" and not self.files.has(COEFFICIENTS)

    @cached_property
    def _with_years(self) -> set[int]:
        """The plants of which each season is observed after twelve others, without a gap."""
        history = self.history
        if history is None:
            return set()
        known = ~np.isnan(history.values_m3s)
        whole = known[YEAR:].copy()
        for back in range(1, YEAR + 1):
            whole &= known[YEAR - back : -back]
        seasons = np.arange(YEAR, len(known)) % max(len(history.seasons), 1)
        return {
            hydro
            for place, hydro in enumerate(history.hydros)
            if set(seasons[whole[:, place]].tolist()) == set(range(len(history.seasons)))
        }

    def statistics(self) -> Statistics:
        """Mean and standard deviation of each plant in each stage, those before the study included."""
        return {
            (hydro, stage): (model[season].mean_m3s, model[season].std_m3s)
            for hydro, model in self.models.items()
            for stage, season in self._places.items()
        }

    def coefficients(self) -> Coefficients:
        """Of each plant in each stage that has some."""
        found: Coefficients = {}
        for hydro, model in self.models.items():
            for stage, season in self._places.items():
                own = model[season]
                if len(own.coefficients):
                    found[hydro, stage] = {
                        lag: (value, own.ratio) for lag, value in enumerate(own.coefficients.tolist(), 1)
                    }
        return found

    def annual(self) -> AnnualComponents:
        """Of each plant in each stage that has one."""
        return {
            (hydro, stage): component
            for hydro, model in self.models.items()
            for stage, season in self._places.items()
            if (component := model[season].annual) is not None
        }

    def ratio(self, hydro: int, stage: int) -> float:
        """The share of a standard deviation that the past does not explain."""
        model, place = self.models.get(hydro), self._places.get(stage)
        return 1.0 if model is None or place is None else model[place].ratio

    def correlations(self, given: Coefficients, annual: AnnualComponents) -> dict[int, NDArray[np.float64]]:
        """By stage, the correlation matrix of what the given models leave unexplained; plants by id."""
        if self.history is None:
            return {}
        models = [self._with(given, annual, hydro) for hydro in self.history.hydros]
        noise = residuals(self.history.values_m3s, models)
        matrices = [consistent(one) for one in residual_correlations(noise, len(self.history.seasons))]
        return {stage.id: matrices[self._places[stage.id]] for stage in self.stages.stages}

    def _with(self, given: Coefficients, annual: AnnualComponents, hydro: int) -> tuple[SeasonModel, ...]:
        """A plant's model with the coefficients, annual ones too, of the first stage of each season."""
        first = {place: stage for stage, place in reversed(self._places.items())}
        result = []
        for place, model in enumerate(self.models[hydro]):
            at = hydro, first.get(place, _NOWHERE)
            lags = given.get(at, {})
            psi = np.array([lags[lag][0] for lag in sorted(lags)])
            result.append(replace(model, coefficients=psi, annual=annual.get(at)))
        return tuple(result)

    @cached_property
    def _places(self) -> dict[int, int]:
        """The place in the year of each stage's season, in the order of the stages' ids."""
        cycle = self.stages.cycle
        seasons = {stage.id: self.stages.season(stage) for stage in self.stages.all}
        return {stage: cycle.index(seasons[stage]) for stage in sorted(seasons) if seasons[stage] in cycle}

    def check(self, report: Report) -> None:
        """Report a history that no model can be fitted to."""
        if self.settings.order_selection == "fixed":
            message = "orders are chosen by significance, up to max_order, as the format does since 0.4"
            where, remedy = "estimation.order_selection", "use 'pacf', which says so"
            report.warn("meaning", "config.json", message, remedy, field=where, value="fixed")
        if self.history is None:
            return
        check_days(self.history, report)
        for hydro in self.files.of(HydroInput):
            if hydro.id not in self.history.hydros:
                message, where = "there are no observations to fit its inflow model to", f"hydro {hydro.id}"
                remedy = "add them, or give the statistics and coefficients of all plants"
                report.error("dimension", HISTORY.name, message, remedy, entity=where, field="hydro_id")
        if not self.history.homeless:
            self._check_counts(self.history, report)
            if self.has_annual:
                self._check_years(self.history, report)

    def _check_years(self, history: SeasonalHistory, report: Report) -> None:
        """Report plants whose history has no whole years before some season."""
        if len(history.seasons) != YEAR:
            message = f"the mean of the past year is of {YEAR} seasons, and there are {len(history.seasons)}"
            remedy, where = "use pacf, or define a season for each month", "estimation.order_selection"
            report.error("meaning", "config.json", message, remedy, field=where, value="pacf_annual")
            return
        for hydro in sorted(set(history.hydros) - self._with_years):
            message = f"each season must be observed once after {YEAR} others without a gap, for pacf_annual"
            remedy = "complete the history, or use pacf"
            report.error("dimension", HISTORY.name, message, remedy, entity=f"hydro {hydro}", field="date")

    def _check_counts(self, history: SeasonalHistory, report: Report) -> None:
        """Report seasons of which too little is known."""
        least = self.settings.min_observations_per_season
        for hydro, counts in zip(history.hydros, history.counts().T.tolist(), strict=True):
            where = f"hydro {hydro}"
            none = [season for season, count in zip(history.seasons, counts, strict=True) if count < 2]
            if none:
                message = f"of season {_listed(none)} there are fewer than two observations"
                remedy = "add observations, or give the statistics and coefficients"
                report.error("dimension", HISTORY.name, message, remedy, entity=where, field="date")
            few = [s for s, count in zip(history.seasons, counts, strict=True) if 2 <= count < least]
            if few:
                message = f"of season {_listed(few)} there are fewer than {least} observations"
                remedy = "add observations, or lower estimation.min_observations_per_season"
                report.warn("meaning", HISTORY.name, message, remedy, entity=where, field="date")
            if missing := _gaps(history, hydro):
                message = f"{missing} seasons between the first and the last observation are missing"
                remedy = "add them, if they are known"
                report.warn(
                    "meaning", HISTORY.name, message, remedy, entity=where, field="date", value=missing
                )


def _gaps(history: SeasonalHistory, hydro: int) -> int:
    known = np.flatnonzero(~np.isnan(history.values_m3s[:, history.hydros.index(hydro)]))
    return int(known[-1] - known[0] + 1 - len(known)) if len(known) else 0


def _listed(seasons: list[int]) -> str:
    shown = ", ".join(str(season) for season in seasons[:6])
    return f"{shown} and {len(seasons) - 6} others" if len(seasons) > 6 else shown
