"""The inflow model of each hydro plant."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.elements.hydro.data import Inflow
from cobre.elements.hydro.inputs.estimation import Coefficients, Estimation, Statistics, is_needed
from cobre.elements.hydro.inputs.files import COEFFICIENTS, INITIAL, STATISTICS
from cobre.elements.hydro.inputs.models import HydroInitialConditions, HydroInput
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages
from cobre.inputs.timeline import Series, StageTimeline
from cobre.stochastic import resolve


@dataclass(frozen=True, eq=False)
class Inflows:
    """Inflow models of a case: given in its files, or fitted to its history."""

    files: CaseFiles
    stages: Stages
    timeline: StageTimeline
    estimation: Estimation | None = None
    _resolved: dict[int, Inflow] = field(default_factory=dict, repr=False)

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

    def resolve(self, hydro: int) -> Inflow:
        """The model of a hydro plant."""
        if hydro not in self._resolved:
            with np.errstate(over="ignore", invalid="ignore"):  # see check
                self._resolved[hydro] = self._resolve(hydro)
        return self._resolved[hydro]

    def _resolve(self, hydro: int) -> Inflow:
        none = (0.0, 0.0)
        numbers = np.array([self.statistics.get((hydro, stage), none) for stage in self.timeline.ids])
        past = [self._before(hydro, back) or none for back in range(1, self._reach(hydro) + 1)]
        model = resolve(
            numbers[:, 0],
            numbers[:, 1],
            self._standardised(hydro),
            ratios=self._ratios(hydro),
            past_means=[mean for mean, _ in past],
            past_stds=[std for _, std in past],
        )
        return Inflow(*model, self.past(hydro))

    def past(self, hydro: int) -> tuple[float, ...]:
        """Inflows before the study, the latest first: those given, or those of the history."""
        given = self.files.initial(HydroInitialConditions)
        for entry in given.past_inflows if given else ():
            if entry.hydro_id == hydro:
                return tuple(entry.values_m3s)
        history = self.estimation.history if self.estimation else None
        start = self.stages.season_of(self.timeline.stages[0].start_date)
        if history is None or start is None:
            return ()
        return tuple(history.before(hydro, history.row(*start))[: self._order(hydro)])

    def check(self, report: Report) -> None:
        """Report a history that nothing can be fitted to, and lags of which nothing is known."""
        if self.estimation:
            self.estimation.check(report)
        for hydro in self.files.of(HydroInput):
            self._check_past(hydro.id, report)
            missing = [
                back for back in range(1, self._reach(hydro.id) + 1) if self._before(hydro.id, back) is None
            ]
            if missing and self.files.table(STATISTICS) is not None:
                report.error(
                    "dimension",
                    STATISTICS.name,
                    f"the inflow model looks back {missing[0]} stages, to where there are no statistics",
                    entity=f"hydro {hydro.id}",
                    field="stage_id",
                    value=self._id_before(missing[0]),
                    suggestion=f"add rows for stages before the study, such as {self._id_before(missing[0])}",
                )

            elif not self._is_finite(hydro.id):
                message = "its numbers are so different in size that the model has none"
                report.error(
                    "meaning", COEFFICIENTS.name, message, entity=f"hydro {hydro.id}", field="coefficient"
                )
            elif self._loses_a_lag(hydro.id):
                message = "a lag whose standard deviation is 0 has no effect, whatever its coefficient"
                report.warn(
                    "meaning", COEFFICIENTS.name, message, entity=f"hydro {hydro.id}", field="coefficient"
                )
        if self.coefficients and self.stages.season_definitions and len(self.stages.cycle) > 1:
            self._check_shared_seasons(report)
        lagged = [stage.state_variables and stage.state_variables.inflow_lags for stage in self.stages.stages]
        if self.coefficients and not all(lagged):
            message = (
                "there are autoregressive inflow models, but not all stages have state_variables.inflow_lags"
            )
            report.warn("meaning", "stages.json", message, field="state_variables.inflow_lags")

    def _check_shared_seasons(self, report: Report) -> None:
        """Report the weeks of a month whose model looks back by months: they would have to be added up."""
        stages = zip(self.timeline.stages, self.timeline.seasons, strict=True)
        for (one, season), (following, same) in itertools.pairwise(stages):
            if season == same and (following.start_date - one.start_date).days < 180:
                message = (
                    f"it shares season {season} with stage {one.id}, and inflow models look back by seasons"
                )
                where = f"stage {following.id}"
                report.error(
                    "unsupported", "stages.json", message, entity=where, field="season_id", value=season
                )

    def _check_past(self, hydro: int, report: Report) -> None:
        order, known = self._order(hydro), len(self.past(hydro))
        if self.files.initial(HydroInitialConditions) is not None and known < order:
            report.error(
                "meaning",
                INITIAL,
                f"the model looks back {order} stages, but {known} past inflows are given",
                entity=f"hydro {hydro}",
                field="past_inflows",
                suggestion="give at least as many, the latest first",
            )

    def _is_finite(self, hydro: int) -> bool:
        model = self.resolve(hydro)
        return all(np.isfinite(one).all() for one in (model.base_m3s, model.scale_m3s, *model.coefficients))

    def _loses_a_lag(self, hydro: int) -> bool:
        """True if a coefficient is lost, because the inflow that it multiplies is certain."""
        pairs = zip(self._standardised(hydro), self.resolve(hydro).coefficients, strict=True)
        return any(bool(np.any((given != 0) & (used == 0))) for given, used in pairs)

    def _standardised(self, hydro: int) -> list[NDArray[np.float64]]:
        models = [self.coefficients.get((hydro, stage), {}) for stage in self.timeline.ids]
        return [np.array([model[lag][0] for lag in sorted(model)]) for model in models]

    def _ratios(self, hydro: int) -> Series:
        models = [self.coefficients.get((hydro, stage), {}) for stage in self.timeline.ids]
        return np.array([model[min(model)][1] if model else 1.0 for model in models])

    @property
    def order(self) -> int:
        """The longest lag of all plants."""
        return max((self._order(hydro.id) for hydro in self.files.of(HydroInput)), default=0)

    def _order(self, hydro: int) -> int:
        """The longest lag of all stages."""
        return max(max(self.coefficients.get((hydro, stage), {0: 0})) for stage in self.timeline.ids)

    def _reach(self, hydro: int) -> int:
        """Number of stages before the first one that the model looks back."""
        orders = [len(self.coefficients.get((hydro, stage), {})) for stage in self.timeline.ids]
        return max((order - place for place, order in enumerate(orders)), default=0)

    def _id_before(self, back: int) -> int:
        earlier = sorted((stage.id for stage in self.stages.pre_study_stages), reverse=True)
        return earlier[back - 1] if back <= len(earlier) else min(self.timeline.ids[0], 0) - back

    def _before(self, hydro: int, back: int) -> tuple[float, float] | None:
        """The statistics of a stage before the first: its own, or those of its season in the study."""
        number = self._id_before(back)
        if (hydro, number) in self.statistics:
            return self.statistics[hydro, number]
        season = self._season_before(number, back)
        for stage, own in zip(self.timeline.ids, self.timeline.seasons, strict=True):
            if own == season and (hydro, stage) in self.statistics:
                return self.statistics[hydro, stage]
        if self.estimation and not self.files.has(STATISTICS) and season in self.stages.cycle:
            model = self.estimation.models.get(hydro)
            own_season = model[self.stages.cycle.index(season)] if model else None
            return (own_season.mean_m3s, own_season.std_m3s) if own_season else None
        return None

    def _season_before(self, number: int, back: int) -> int | None:
        for stage in self.stages.pre_study_stages:
            if stage.id == number:
                return self.stages.season(stage)
        cycle = self.stages.cycle
        first = self.timeline.seasons[0]
        return cycle[(cycle.index(first) - back) % len(cycle)] if first in cycle else None
