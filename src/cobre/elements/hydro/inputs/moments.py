"""Mean and standard deviation of the inflows that lags are."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.elements.hydro.inputs.estimation import Estimation, Statistics
from cobre.elements.hydro.inputs.lags import Mean
from cobre.inputs.calendar import Calendar
from cobre.inputs.stages import Stages
from cobre.inputs.timeline import StageTimeline


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the mean inflow of periods: those of their stages, or of their season elsewhere.

    Args:
        stages: with those before the study.
        timeline: of the study.
        calendar: the seasons; None if lags look back by stages.
        statistics: by hydro plant and stage.
        fitted: models of all seasons, where the statistics are fitted too; else None.
    """

    stages: Stages
    timeline: StageTimeline
    calendar: Calendar | None
    statistics: Statistics
    fitted: Estimation | None

    def of(self, hydro: int, mean: Mean) -> tuple[float, float] | None:
        """Return mean and standard deviation; None if there are none."""
        if mean.stage is not None:
            return self.statistics.get((hydro, self.timeline.ids[mean.stage]), (0.0, 0.0))
        number = self.stage_before(mean) if mean.back else None
        if number is not None and (hydro, number) in self.statistics:
            return self.statistics[hydro, number]
        return self._of_season(hydro, self.season(mean))

    def stage_before(self, mean: Mean) -> int | None:
        """Return the id of the stage before the study that a period is, given or not; None if it has none."""
        earlier = sorted(self.stages.pre_study_stages, key=lambda stage: stage.id, reverse=True)
        if self.calendar and mean.period:
            for stage in earlier:
                season = self.stages.season(stage)
                if season == mean.period.season and self.calendar.period(season, stage) == mean.period:
                    return stage.id
        number = min(self.timeline.ids[0], 0) - mean.back
        if mean.period:
            return None if number in {stage.id for stage in earlier} else number
        return earlier[mean.back - 1].id if mean.back <= len(earlier) else number

    def season(self, mean: Mean) -> int | None:
        """Return the season of a period; without a calendar, by the order of seasons."""
        if mean.period:
            return mean.period.season
        number = self.stage_before(mean)
        for stage in self.stages.pre_study_stages:
            if stage.id == number:
                return self.stages.season(stage)
        cycle, first = self.stages.cycle, self.timeline.seasons[0]
        return cycle[(cycle.index(first) - mean.back) % len(cycle)] if first in cycle else None

    def _of_season(self, hydro: int, season: int | None) -> tuple[float, float] | None:
        for stage in sorted(self.stages.all, key=lambda stage: stage.id < 0):
            if self.stages.season(stage) == season and (hydro, stage.id) in self.statistics:
                return self.statistics[hydro, stage.id]
        if self.fitted and season in self.stages.cycle:
            model = self.fitted.models.get(hydro)
            own = model[self.stages.cycle.index(season)] if model else None
            return (own.mean_m3s, own.std_m3s) if own else None
        return None
