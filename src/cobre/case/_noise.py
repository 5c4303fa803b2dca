"""What is random, and all that is given about it beyond the system's own statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.case._config import Config
from cobre.case._inflows import Inflows
from cobre.case._raw import Raw
from cobre.case._report import Report
from cobre.case._scenario_files import CorrelationFile
from cobre.case._series import Timeline
from cobre.case._tables import Table
from cobre.case._windows import Window, windows
from cobre.stochastic import consistent

Array = NDArray[np.float64]
#: What a run is seeded with when the case says nothing.
DEFAULT_SEED = 42

_LOADS = "scenarios/load_seasonal_stats.parquet"
_SOURCES = "scenarios/non_controllable_stats.parquet"
_EXTERNAL: dict[Literal["inflow", "load", "ncs"], tuple[str, str, str]] = {
    "inflow": ("scenarios/external_inflow_scenarios.parquet", "hydro_id", "value_m3s"),
    "load": ("scenarios/external_load_scenarios.parquet", "bus_id", "value_mw"),
    "ncs": ("scenarios/external_ncs_scenarios.parquet", "ncs_id", "value"),
}


class NoiseEntity(NamedTuple):
    """Who has noise: the inflow of a hydro plant, the load of a bus, or a non-controllable source."""

    type: Literal["inflow", "load", "ncs"]
    id: int


@dataclass(frozen=True, eq=False)
class CorrelationGroup:
    """Noises that go together, and how closely."""

    name: str
    entities: tuple[NoiseEntity, ...]
    matrix: Array


@dataclass(frozen=True, eq=False)
class Correlation:
    """The groups of each stage; a noise in no group is independent of all others."""

    method: Literal["spectral", "cholesky"]
    by_stage: Mapping[int, tuple[CorrelationGroup, ...]]


@dataclass(frozen=True, eq=False)
class History:
    """Inflows that were observed."""

    dates: NDArray[np.datetime64]
    values_m3s: Array


@dataclass(frozen=True, eq=False)
class External:
    """Given scenarios: by stage id, one row for each scenario and one column for each entity."""

    entities: tuple[int, ...]
    values: Mapping[int, Array]


@dataclass(frozen=True, eq=False)
class Scenarios:
    """What is random, and all that the case says of it beyond the statistics in its system.

    Attributes:
        entities: who has noise, in the order of all columns of noise: inflows of all hydro plants, then loads
            of the buses whose standard deviation is not 0 in all stages, then sources that have statistics;
            each by id.
        seed: of the openings.
        methods: per stage, how openings are to be drawn where none are given.
        openings: by stage id, one row for each opening, one column for each entity; None if none are given.
        correlation: how noises go together; None if they are independent.
        history: observed inflows by hydro plant.
        windows: by year, the inflows observed in the stages of the study, had it begun then; only years in
            which every plant was observed in all of them.
        external: given scenarios by class.
    """

    entities: tuple[NoiseEntity, ...]
    seed: int
    methods: tuple[str, ...]
    openings: Mapping[int, Array] | None
    correlation: Correlation | None
    history: Mapping[int, History]
    windows: Mapping[int, Window]
    external: Mapping[Literal["inflow", "load", "ncs"], External]


def noise_entities(raw: Raw) -> tuple[NoiseEntity, ...] | None:
    """Who has noise; None if the files that say so are wrong."""
    loads, sources = raw.table(_LOADS), raw.table(_SOURCES)
    unknown = (loads is None and _LOADS in raw.tables) or (sources is None and _SOURCES in raw.tables)
    hydros = raw.ids("hydros")
    if unknown or hydros is None:
        return None
    random_loads = [] if loads is None else np.unique(loads["bus_id"][loads["std_mw"] > 0]).tolist()
    random_sources = [] if sources is None else np.unique(sources["ncs_id"]).tolist()
    return (
        *(NoiseEntity("inflow", hydro) for hydro in sorted(hydros)),
        *(NoiseEntity("load", bus) for bus in random_loads),
        *(NoiseEntity("ncs", source) for source in random_sources),
    )


def resolve_scenarios(raw: Raw, config: Config, timeline: Timeline, inflows: Inflows) -> Scenarios:
    """All of it, from files that were found to be right."""
    entities = noise_entities(raw) or ()
    seed = config.training.tree_seed
    return Scenarios(
        entities,
        DEFAULT_SEED if seed is None else abs(seed),
        tuple(stage.sampling_method for stage in timeline.stages),
        _openings(raw.table("scenarios/noise_openings.parquet"), len(entities), timeline),
        _correlation(raw.document("scenarios/correlation.json", CorrelationFile), timeline)
        or _estimated_correlation(raw, inflows),
        _history(raw.table("scenarios/inflow_history.parquet")),
        windows(raw, inflows.stages, timeline),
        {
            name: _external(table, key, value)
            for name, (file, key, value) in _EXTERNAL.items()
            if (table := raw.table(file)) is not None
        },
    )


def _openings(table: Table | None, width: int, timeline: Timeline) -> dict[int, Array] | None:
    if table is None:
        return None
    result = {}
    for place, stage in zip(np.unique(table["stage_id"]), timeline.stages, strict=True):
        rows = table["stage_id"] == place
        values = np.empty((stage.num_scenarios, width))
        values[table["opening_index"][rows], table["entity_index"][rows]] = table["value"][rows]
        result[stage.id] = values
    return result


def _correlation(file: CorrelationFile | None, timeline: Timeline) -> Correlation | None:
    if file is None:
        return None
    groups = {
        name: tuple(
            CorrelationGroup(
                group.name,
                tuple(NoiseEntity(entity.type, entity.id) for entity in group.entities),
                consistent(np.array(group.matrix, dtype=np.float64)),
            )
            for group in profile.correlation_groups
        )
        for name, profile in file.profiles.items()
    }
    scheduled = {entry.stage_id: entry.profile_name for entry in file.schedule or ()}
    usual = default_profile(file)
    names = {stage: scheduled.get(stage, usual) for stage in timeline.ids}
    return Correlation(file.method, {stage: groups[name] if name else () for stage, name in names.items()})


def _estimated_correlation(raw: Raw, inflows: Inflows) -> Correlation | None:
    """That of what the fitted models leave unexplained; None where none were fitted."""
    if inflows.estimation is None:
        return None
    entities = tuple(NoiseEntity("inflow", hydro.id) for hydro in raw.hydros)
    matrices = inflows.estimation.correlations(inflows.coefficients)
    groups = {stage: (CorrelationGroup("history", entities, own),) for stage, own in matrices.items()}
    return Correlation("cholesky", groups)


def default_profile(file: CorrelationFile) -> str | None:
    """The profile of stages without one in the schedule: ``default``, or the only one there is."""
    if "default" in file.profiles:
        return "default"
    return next(iter(file.profiles)) if len(file.profiles) == 1 else None


def _history(table: Table | None) -> dict[int, History]:
    result = {}
    for hydro in [] if table is None else np.unique(table["hydro_id"]).tolist():
        assert table is not None  # noqa: S101 - for the type checker
        rows = np.flatnonzero(table["hydro_id"] == hydro)
        rows = rows[np.argsort(table["date"][rows], kind="stable")]
        result[hydro] = History(table["date"][rows], table["value_m3s"][rows])
    return result


def _external(table: Table, key: str, value: str) -> External:
    entities, columns = np.unique(table[key], return_inverse=True)
    values = {}
    for stage in np.unique(table["stage_id"]).tolist():
        rows = table["stage_id"] == stage
        scenarios = table["scenario_id"][rows]
        array = np.empty((int(scenarios.max()) + 1, len(entities)))
        array[scenarios, columns[rows]] = table[value][rows]
        values[stage] = array
    return External(tuple(entities.tolist()), values)


def check_external(raw: Raw, timeline: Timeline, report: Report) -> None:
    """Report given scenarios that do not cover all stages, or have gaps."""
    _check_external_entities(raw, report)
    for file, key, _ in _EXTERNAL.values():
        table = raw.table(file)
        if table is None:
            continue
        entities = np.unique(table[key])
        if not set(timeline.ids) <= set(table["stage_id"].tolist()):
            report.error("dimension", file, "there must be scenarios for all stages", field="stage_id")
        for stage in np.unique(table["stage_id"]).tolist():
            scenarios = table["scenario_id"][table["stage_id"] == stage]
            count = int(scenarios.max()) + 1
            if len(scenarios) != count * len(entities):
                message = f"there must be scenarios 0 to {count - 1} for each of the {len(entities)} entities"
                report.error("dimension", file, message, entity=f"stage {stage}", field="scenario_id")


def _check_external_entities(raw: Raw, report: Report) -> None:
    """Report given scenarios, where they are to be used, of others than those that have noise."""
    sections = (raw.config.training, raw.config.simulation) if raw.config else ()
    random = noise_entities(raw)
    for name, (file, key, _) in _EXTERNAL.items():
        used = any(
            s.scenario_source and getattr(s.scenario_source, name).scheme == "external" for s in sections
        )
        table = raw.table(file)
        if not used or table is None or random is None:
            continue
        wanted = {entity.id for entity in random if entity.type == name}
        given = set(table[key].tolist())
        if missing := sorted(wanted - given):
            message = f"there are no scenarios for {missing[0]}, which is random"
            report.error("dimension", file, message, field=key, value=missing[0])
        if more := sorted(given - wanted):
            message = f"there are scenarios for {more[0]}, of which nothing is random"
            suggestion = "give statistics with a standard deviation, or remove the rows"
            report.error("dimension", file, message, field=key, value=more[0], suggestion=suggestion)
