"""The inflow model of each hydro plant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.case._raw import Raw
from cobre.case._report import Report
from cobre.case._series import Series, Timeline
from cobre.case._stages import Stages
from cobre.stochastic import resolve
from cobre.system import Inflow

STATISTICS = "scenarios/inflow_seasonal_stats.parquet"
COEFFICIENTS = "scenarios/inflow_ar_coefficients.parquet"


@dataclass(frozen=True, eq=False)
class Inflows:
    """What the files say of inflows."""

    raw: Raw
    stages: Stages
    timeline: Timeline

    @cached_property
    def _statistics(self) -> dict[tuple[int, int], tuple[float, float]]:
        """Mean and standard deviation by hydro plant and stage, stages before the study included."""
        table = self.raw.table(STATISTICS)
        if table is None:
            return {}
        columns = [table[name].tolist() for name in ("hydro_id", "stage_id", "mean_m3s", "std_m3s")]
        return {(hydro, stage): (mean, std) for hydro, stage, mean, std in zip(*columns, strict=True)}

    @cached_property
    def _coefficients(self) -> dict[tuple[int, int], dict[int, tuple[float, float]]]:
        """Coefficient and residual ratio of each lag, by hydro plant and stage."""
        table = self.raw.table(COEFFICIENTS)
        found: dict[tuple[int, int], dict[int, tuple[float, float]]] = {}
        names = ("hydro_id", "stage_id", "lag", "coefficient", "residual_std_ratio")
        columns = [table[name].tolist() for name in names] if table is not None else [[]] * 5
        for hydro, stage, lag, coefficient, ratio in zip(*columns, strict=True):
            found.setdefault((hydro, stage), {})[lag] = (coefficient, ratio)
        return found

    def resolve(self, hydro: int) -> Inflow:
        """The model of a hydro plant."""
        none = (0.0, 0.0)
        numbers = np.array([self._statistics.get((hydro, stage), none) for stage in self.timeline.ids])
        past = [self._before(hydro, back) or none for back in range(1, self._reach(hydro) + 1)]
        model = resolve(
            numbers[:, 0],
            numbers[:, 1],
            self._standardised(hydro),
            ratios=self._ratios(hydro),
            past_means=[mean for mean, _ in past],
            past_stds=[std for _, std in past],
        )
        given = self.raw.initial.past_inflows if self.raw.initial else ()
        values = [tuple(entry.values_m3s) for entry in given if entry.hydro_id == hydro]
        return Inflow(*model, values[0] if values else ())

    def check(self, report: Report) -> None:
        """Report lags that reach back to where nothing is known."""
        for hydro in self.raw.hydros:
            missing = [
                back for back in range(1, self._reach(hydro.id) + 1) if self._before(hydro.id, back) is None
            ]
            if missing and self.raw.table(STATISTICS) is not None:
                report.error(
                    "dimension",
                    STATISTICS,
                    f"the inflow model looks back {missing[0]} stages, to where there are no statistics",
                    entity=f"hydro {hydro.id}",
                    field="stage_id",
                    value=self._id_before(missing[0]),
                    suggestion=f"add rows for stages before the study, such as {self._id_before(missing[0])}",
                )

            elif self._loses_a_lag(hydro.id):
                message = "a lag whose standard deviation is 0 has no effect, whatever its coefficient"
                report.warn("meaning", COEFFICIENTS, message, entity=f"hydro {hydro.id}", field="coefficient")

    def _loses_a_lag(self, hydro: int) -> bool:
        """Whether a coefficient is lost, because the inflow that it multiplies is certain."""
        pairs = zip(self._standardised(hydro), self.resolve(hydro).coefficients, strict=True)
        return any(bool(np.any((given != 0) & (used == 0))) for given, used in pairs)

    def _standardised(self, hydro: int) -> list[NDArray[np.float64]]:
        models = [self._coefficients.get((hydro, stage), {}) for stage in self.timeline.ids]
        return [np.array([model[lag][0] for lag in sorted(model)]) for model in models]

    def _ratios(self, hydro: int) -> Series:
        models = [self._coefficients.get((hydro, stage), {}) for stage in self.timeline.ids]
        return np.array([model[min(model)][1] if model else 1.0 for model in models])

    def _reach(self, hydro: int) -> int:
        """How many stages before the first one the model looks back."""
        orders = [len(self._coefficients.get((hydro, stage), {})) for stage in self.timeline.ids]
        return max((order - place for place, order in enumerate(orders)), default=0)

    def _id_before(self, back: int) -> int:
        earlier = sorted((stage.id for stage in self.stages.pre_study_stages), reverse=True)
        return earlier[back - 1] if back <= len(earlier) else min(self.timeline.ids[0], 0) - back

    def _before(self, hydro: int, back: int) -> tuple[float, float] | None:
        """The statistics of a stage before the first: its own, or those of its season in the study."""
        number = self._id_before(back)
        if (hydro, number) in self._statistics:
            return self._statistics[hydro, number]
        season = self._season_before(number, back)
        for stage, own in zip(self.timeline.ids, self.timeline.seasons, strict=True):
            if own == season and (hydro, stage) in self._statistics:
                return self._statistics[hydro, stage]
        return None

    def _season_before(self, number: int, back: int) -> int | None:
        for stage in self.stages.pre_study_stages:
            if stage.id == number:
                return self.stages.season(stage)
        cycle = self.stages.cycle
        first = self.timeline.seasons[0]
        return cycle[(cycle.index(first) - back) % len(cycle)] if first in cycle else None
