"""Checks of inflow models: what their lags look back to, in the files and in the calendar."""

from __future__ import annotations

import itertools

from cobre.elements.hydro.inputs.files import ANNUAL, COEFFICIENTS, INITIAL, STATISTICS
from cobre.elements.hydro.inputs.inflow import Inflows
from cobre.elements.hydro.inputs.lags import Mean
from cobre.elements.hydro.inputs.models import HydroInitialConditions, HydroInput, Observation
from cobre.inputs.calendar import Calendar
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import StageInput
from cobre.stochastic import YEAR

#: How many days seasons may differ for one model, as in the case format.
TOLERANCE = 7


def check(files: CaseFiles, report: Report) -> None:
    """Report a history that nothing can be fitted to, and lags of which nothing is known."""
    inflows = files.derived(Inflows)
    if inflows.estimation:
        inflows.estimation.check(report)
    elif files.config:
        for name in sorted(files.config.estimation.model_fields_set):
            message, remedy = "has no effect: no inflow model is fitted", "leave it out"
            report.warn("unsupported", "config.json", message, remedy, field=f"estimation.{name}")
    for hydro in files.of(HydroInput):
        _check_past(inflows, hydro.id, report)
        _check_moments(inflows, hydro.id, report)
    _check_annual(inflows, report)
    _check_observations(inflows, report)
    if inflows.order:
        _check_stages(inflows, report)
        lagged = [one.state_variables and one.state_variables.inflow_lags for one in inflows.stages.stages]
        if not all(lagged):
            message = (
                "there are autoregressive inflow models, but not all stages have state_variables.inflow_lags"
            )
            remedy = "set it to true in all stages: lags are states wherever a model looks back"
            report.warn("meaning", "stages.json", message, remedy, field="state_variables.inflow_lags")


def _check_past(inflows: Inflows, hydro: int, report: Report) -> None:
    """Report inflows before the study that a model looks back to, and that are not given."""
    if not inflows.files.is_complete(INITIAL):
        return
    where = {"entity": f"hydro {hydro}", "field": "past_inflows"}
    order, known = inflows.order_of(hydro), len(inflows.past(hydro))
    if known < order:
        message = f"the model looks back {order} stages, but {known} past inflows are given"
        report.error("meaning", INITIAL, message, "give at least as many, the latest first", **where)
        return
    back = max((mean.back for _, _, mean in inflows.used(hydro)), default=0)
    if known < back:
        message = (
            f"the mean of the past year takes inflows to be 0 where {back - known} of {back} are not given"
        )
        report.warn("meaning", INITIAL, message, f"give {back} past inflows, the latest first", **where)
    rebuilt = [mean for _, _, mean in inflows.used(hydro) if mean.stage is None and not mean.back]
    for mean in dict.fromkeys(rebuilt):
        _check_coverage(mean, report, where)


def _check_coverage(mean: Mean, report: Report, where: dict[str, str]) -> None:
    """Report a season before one of another length of which not all days are known."""
    assert mean.period is not None  # noqa: S101 - only a calendar has seasons of several lengths
    length = (mean.period.end - mean.period.start).days
    lacking = f"season {mean.period.season} from {mean.period.start} to {mean.period.end}"
    remedy = "give more past inflows, or begin the study earlier"
    if mean.total == 0:
        message = f"a model looks back to {lacking}, of which nothing is known"
        report.error("meaning", INITIAL, message, remedy, **where)
    elif mean.total < length - TOLERANCE:
        message = f"a model looks back to {lacking}, and {mean.total} of {length} days are known"
        report.warn("meaning", INITIAL, message + ": their mean is used", remedy, **where)


def _check_moments(inflows: Inflows, hydro: int, report: Report) -> None:
    """Report lags of which there are no statistics, or that have no effect."""
    where = {"entity": f"hydro {hydro}"}
    unknown = (found for found in inflows.used(hydro) if inflows.moments.of(hydro, found[2]) is None)
    missing = next(unknown, None)
    if missing and inflows.files.table(STATISTICS) is not None:
        place, lag, mean = missing
        number = inflows.moments.stage_before(mean) if mean.back else None
        if mean.back and number is not None:
            message = f"the inflow model looks back {mean.back} stages, to where there are no statistics"
            remedy = f"add rows for stages before the study, such as {number}"
        else:
            season, stage = inflows.moments.season(mean), inflows.timeline.ids[place]
            message = f"lag {lag} of stage {stage} is of season {season}, which has no statistics"
            remedy = "add a stage of that season to pre_study_stages, and rows for it"
        report.error("dimension", STATISTICS.name, message, remedy, field="stage_id", value=number, **where)
    elif not inflows.is_finite(hydro):
        message = "its numbers are so different in size that the model has none"
        remedy = "correct the coefficients, means and standard deviations"
        report.error("meaning", COEFFICIENTS.name, message, remedy, field="coefficient", **where)
    elif inflows.loses_a_lag(hydro):
        message = "a lag whose standard deviation is 0 has no effect, whatever its coefficient"
        remedy = "remove the lag, or correct the standard deviation"
        report.warn("meaning", COEFFICIENTS.name, message, remedy, field="coefficient", **where)


def _check_annual(inflows: Inflows, report: Report) -> None:
    """Report annual components without what they belong to, and means that are not those of the seasons."""
    files = inflows.files
    if not files.has(ANNUAL):
        return
    if not files.has(COEFFICIENTS):
        message = f"needs {COEFFICIENTS.name}: both are fitted together"
        report.error("missing_file", ANNUAL.name, message, "give both, or neither")
        return
    if files.table(ANNUAL) is None:
        return
    for hydro in files.of(HydroInput):
        means = _means_of_years(inflows, hydro.id)
        for stage, year in zip(inflows.timeline.ids, means, strict=True):
            found = inflows.annual.get((hydro.id, stage))
            if found and abs(found.mean_m3s - year) > found.std_m3s:
                message = (
                    f"the mean is not used, and is far from {year:.6g}, that of the twelve seasons before"
                )
                remedy, owner = (
                    "correct it, or the statistics of the seasons",
                    f"hydro {hydro.id}, stage {stage}",
                )
                field, value = "annual_mean_m3s", found.mean_m3s
                report.warn("meaning", ANNUAL.name, message, remedy, entity=owner, field=field, value=value)
                return


def _means_of_years(inflows: Inflows, hydro: int) -> list[float]:
    """By stage, the mean of the statistics of the seasons of the year before."""
    means: list[list[float]] = [[] for _ in inflows.timeline.ids]
    for place, lag, mean in inflows.used(hydro):
        found = inflows.moments.of(hydro, mean)
        if lag <= YEAR and found:
            means[place].append(found[0])
    return [sum(year) / len(year) if year else float("nan") for year in means]


def _check_stages(inflows: Inflows, report: Report) -> None:
    """Report stages that lags cannot be told of: longer than their season, or of several lengths without."""
    if inflows.calendar is not None:
        for stage, season in zip(inflows.timeline.stages, inflows.timeline.seasons, strict=True):
            if problem := _misfit(inflows.calendar, stage, season):
                message, remedy = problem
                where = f"stage {stage.id}"
                report.error(
                    "meaning", "stages.json", message, remedy, entity=where, field="season_id", value=season
                )
        return
    for one, following in itertools.pairwise(inflows.timeline.stages):
        before, days = ((stage.end_date - stage.start_date).days for stage in (one, following))
        if abs(days - before) > TOLERANCE:
            message = (
                f"it has {days} days, and stage {one.id} has {before}: lags need seasons of both lengths"
            )
            remedy, where = "define them in season_definitions", f"stage {following.id}"
            report.error("meaning", "stages.json", message, remedy, entity=where, field="season_id")


def _misfit(calendar: Calendar, stage: StageInput, season: int) -> tuple[str, str] | None:
    """The problem with the season of a stage, and the remedy."""
    own = calendar.period(season, stage)
    counted = [one.days(stage.start_date, stage.end_date) for one in (own, calendar.after(own))]
    days = (stage.end_date - stage.start_date).days
    if counted[0] == 0:
        message = f"it has no day in its season, from {own.start} to {own.end}, and inflow models have lags"
        return message, "name the season of its dates"
    if days - sum(counted) > TOLERANCE:
        message = f"{days - sum(counted)} of its {days} days are neither in its season nor in the next"
        return message, "give stages of other lengths seasons of their own"
    return None


def _check_observations(inflows: Inflows, report: Report) -> None:
    """Report observations that are not of days just before the study, or that nothing looks at."""
    initial, begins = inflows.files.initial(HydroInitialConditions), inflows.timeline.stages[0]
    observed = initial.recent_observations if initial else []
    for i, one in enumerate(observed):
        owner, field = f"hydro {one.hydro_id}", f"recent_observations[{i}]"
        if not one.start_date < one.end_date <= begins.start_date:
            message = f"it must end after it begins, and not after the study begins on {begins.start_date}"
            report.error("meaning", INITIAL, message, "correct its dates", entity=owner, field=field)
        elif any(_share_days(one, other) for other in observed[:i]):
            message = "it has days that another observation of the plant has"
            report.error("meaning", INITIAL, message, "observe each day once", entity=owner, field=field)
        elif inflows.calendar is None or not inflows.lags(one.hydro_id).order:
            reason = "no season is defined" if inflows.calendar is None else "the inflow model has no lags"
            message = f"has no effect: {reason}"
            report.warn("unsupported", INITIAL, message, "leave it out", entity=owner, field=field)
        else:
            season = inflows.calendar.period(inflows.timeline.seasons[0], begins)
            outside = (one.end_date - one.start_date).days - season.days(one.start_date, one.end_date)
            if outside:
                message = f"{outside} of its days are not in the first stage's season: they do not count"
                remedy = f"begin it on {season.start}"
                report.warn("meaning", INITIAL, message, remedy, entity=owner, field=field)


def _share_days(one: Observation, other: Observation) -> bool:
    same = one.hydro_id == other.hydro_id
    return same and other.start_date < one.end_date and one.start_date < other.end_date
