"""Years of the history that a study could have begun in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.case._layout import OPENINGS
from cobre.elements.hydro.inputs.files import HISTORY
from cobre.elements.hydro.inputs.history import SeasonalHistory
from cobre.elements.hydro.inputs.inflow import Inflows
from cobre.elements.hydro.inputs.models import HydroInput
from cobre.inputs.config import Config, ScenarioSource, YearRange
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages
from cobre.inputs.timeline import StageTimeline

#: How many inflows before a window are kept: no model looks back further.
REACH = 12
#: The method that takes openings from the history.
RESIDUALS = "historical_residuals"


@dataclass(frozen=True, eq=False)
class Window:
    """Observed inflows of all hydro plants, by id, as if the study had begun in some year.

    Attributes:
        inflows_m3s: stages by plants.
        before_m3s: the seasons before the first stage, the latest first, by plants; NaN where unknown.
    """

    inflows_m3s: NDArray[np.float64]
    before_m3s: NDArray[np.float64]


def windows(files: CaseFiles) -> dict[int, Window]:
    """All years in which every stage of every plant was observed."""
    table, stages, timeline = files.table(HISTORY), files.stages, files.timeline
    if table is None or stages is None:
        return {}
    history = SeasonalHistory.of(table, stages)
    hydros, steps = files.of(HydroInput), _steps(history, stages, timeline)
    if steps is None or not {hydro.id for hydro in hydros} <= set(history.hydros):
        return {}
    columns = [history.hydros.index(hydro.id) for hydro in hydros]
    values = np.full((len(history.values_m3s) + REACH + int(steps.max()) + 1, len(columns)), np.nan)
    values[REACH : REACH + len(history.values_m3s)] = history.values_m3s[:, columns]
    found = {}
    count, place = len(history.seasons), history.seasons.index(timeline.seasons[0])
    for year in range(len(history.values_m3s) // max(count, 1)):
        first = REACH + year * count + place
        inflows = values[first + steps]
        if not np.isnan(inflows).any():
            found[history.first_year + year] = Window(inflows, values[first - REACH : first][::-1])
    return found


def _steps(history: SeasonalHistory, stages: Stages, timeline: StageTimeline) -> NDArray[np.int64] | None:
    """Number of seasons from the first stage to each; None if a stage belongs to no season of the history."""
    count, rows = len(history.seasons), []
    for stage, season in zip(timeline.stages, timeline.seasons, strict=True):
        when = stages.season_of(stage.start_date)
        if when is None or season not in history.seasons:
            return None
        near, place = history.row(*when), history.seasons.index(season)
        # A stage may begin a few days before its season does.
        rows.append(place + count * round((near - place) / count))
    return np.array(rows, np.int64) - rows[0]


def chosen_windows(found: dict[int, Window], source: ScenarioSource | None) -> dict[int, Window]:
    """The windows of the years that a source names; all if it names none."""
    years = source.historical_years if source else None
    if years is None:
        return found
    wanted = range(years.first, years.last + 1) if isinstance(years, YearRange) else years
    return {year: window for year, window in found.items() if year in wanted}


def usable_windows(found: dict[int, Window], order: int) -> dict[int, Window]:
    """The windows of which all inflows are known that a model with so many lags asks for."""
    return {year: one for year, one in found.items() if not np.isnan(one.before_m3s[:order]).any()}


def samples_residuals(files: CaseFiles) -> bool:
    """Return whether openings are drawn from the residuals of the history."""
    methods = {stage.sampling_method for stage in files.stages.stages} if files.stages else set()
    return RESIDUALS in methods and not files.has(OPENINGS)


def check(files: CaseFiles, config: Config, report: Report) -> None:
    """Report sources of years that the history does not have."""
    training, timeline = config.training.scenario_source, files.timeline
    sources = {"training": training, "simulation": config.simulation.scenario_source}
    wanted = {name: one for name, one in sources.items() if one and one.inflow.scheme == "historical"}
    residual = samples_residuals(files)
    if residual and not files.has(HISTORY):
        message = f"needs {HISTORY.name}, which is not there"
        remedy = "add the file, or use another sampling method"
        report.error("missing_file", "stages.json", message, remedy, field="sampling_method", value=RESIDUALS)
    if files.table(HISTORY) is None or not (wanted or residual):
        return
    found = windows(files)
    for name, source in wanted.items():
        if not chosen_windows(found, source):
            message = "in no year that may be used was every plant observed in all stages of the study"
            remedy = "complete the history, or name other years"
            report.error(
                "dimension", HISTORY.name, message, remedy, field=f"{name}.scenario_source.historical_years"
            )
    if residual:
        order = files.derived(Inflows).order
        _check_residuals(usable_windows(chosen_windows(found, training), order), timeline, report)


def _check_residuals(years: dict[int, Window], timeline: StageTimeline, report: Report) -> None:
    if not years:
        message = "in no year that may be used was every plant observed in all stages, and the lags before"
        remedy = "complete the history, or allow more years by historical_years"
        report.error("dimension", HISTORY.name, message, remedy, field="date")
    few = [s.id for s in timeline.stages if s.sampling_method == RESIDUALS and s.num_scenarios > len(years)]
    if years and few:
        message = f"there are {len(years)} years to take openings from: the stage has no more"
        remedy = "ask for as many openings as there are years, or fewer"
        report.warn(
            "dimension", "stages.json", message, remedy, entity=f"stage {few[0]}", field="num_scenarios"
        )
