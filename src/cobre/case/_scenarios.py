"""Random quantities of a case, and the data about them beyond the system's own statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.case._correlation import FILE as CORRELATION
from cobre.case._correlation import CorrelationFile, default_profile
from cobre.case._layout import OPENINGS
from cobre.case._windows import Window, windows
from cobre.elements import collect
from cobre.elements.hydro.inputs.files import HISTORY
from cobre.elements.hydro.inputs.inflow import Inflows
from cobre.elements.hydro.inputs.models import HydroInput
from cobre.inputs.config import Config, NoiseClass
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import NoiseInputs
from cobre.inputs.tables import Table
from cobre.inputs.timeline import StageTimeline
from cobre.stochastic import consistent

Array = NDArray[np.float64]
#: What a run is seeded with when the case says nothing.
DEFAULT_SEED = 42


class NoiseEntity(NamedTuple):
    """Entity with noise: the inflow of a hydro plant, the load of a bus, or a non-controllable source."""

    type: NoiseClass
    id: int


@dataclass(frozen=True, eq=False)
class CorrelationGroup:
    """Correlated noises and their correlation matrix."""

    name: str
    entities: tuple[NoiseEntity, ...]
    matrix: Array


@dataclass(frozen=True, eq=False)
class NoiseCorrelation:
    """The groups of each stage; a noise in no group is independent of all others."""

    method: Literal["spectral", "cholesky"]
    by_stage: Mapping[int, tuple[CorrelationGroup, ...]]


@dataclass(frozen=True, eq=False)
class InflowHistory:
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
    """Random quantities of a case, and the data about them beyond the statistics in its system.

    Attributes:
        entities: those with noise, in the order of all columns of noise: inflows of all hydro plants, then
            loads of the buses whose standard deviation is not 0 in all stages, then sources that have
            statistics; each by id.
        seed: of the openings.
        methods: per stage, how openings are to be drawn where none are given.
        openings: by stage id, one row for each opening, one column for each entity; None if none are given.
        correlation: that of the noises; None if they are independent.
        history: observed inflows by hydro plant.
        windows: by year, the inflows observed in the stages of the study, had it begun then; only years in
            which every plant was observed in all of them.
        external: given scenarios by class.
    """

    entities: tuple[NoiseEntity, ...]
    seed: int
    methods: tuple[str, ...]
    openings: Mapping[int, Array] | None
    correlation: NoiseCorrelation | None
    history: Mapping[int, InflowHistory]
    windows: Mapping[int, Window]
    external: Mapping[NoiseClass, External]


def noise_inputs(files: CaseFiles) -> dict[NoiseClass, NoiseInputs]:
    """Return what is random, in the order of all columns of noise."""
    classes = collect("noise", "CLASS").items()
    return {name: noise for kind, name in classes if (noise := files.kinds[kind].noise)}


def noise_entities(files: CaseFiles) -> tuple[NoiseEntity, ...] | None:
    """Return who has noise; None if the files that say so are wrong."""
    found: list[NoiseEntity] = []
    for name, noise in noise_inputs(files).items():
        random = noise.random(files)
        if random is None:
            return None
        found += [NoiseEntity(name, element) for element in random]
    return tuple(found)


def resolve_scenarios(files: CaseFiles, config: Config) -> Scenarios:
    """All of it, from files that were found to be right."""
    entities = noise_entities(files) or ()
    seed, timeline = config.training.tree_seed, files.timeline
    return Scenarios(
        entities,
        DEFAULT_SEED if seed is None else abs(seed),
        tuple(stage.sampling_method for stage in timeline.stages),
        _openings(files.table(OPENINGS), len(entities), timeline),
        _correlation(files.document(CORRELATION, CorrelationFile), timeline) or _estimated_correlation(files),
        _history(files.table(HISTORY)),
        windows(files),
        {
            name: _external(table, noise.key, noise.value)
            for name, noise in noise_inputs(files).items()
            if (table := files.table(noise.scenarios)) is not None
        },
    )


def _openings(table: Table | None, width: int, timeline: StageTimeline) -> dict[int, Array] | None:
    if table is None:
        return None
    result = {}
    for place, stage in zip(np.unique(table["stage_id"]), timeline.stages, strict=True):
        rows = table["stage_id"] == place
        values = np.empty((stage.num_scenarios, width))
        values[table["opening_index"][rows], table["entity_index"][rows]] = table["value"][rows]
        result[stage.id] = values
    return result


def _correlation(file: CorrelationFile | None, timeline: StageTimeline) -> NoiseCorrelation | None:
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
    return NoiseCorrelation(
        file.method, {stage: groups[name] if name else () for stage, name in names.items()}
    )


def _estimated_correlation(files: CaseFiles) -> NoiseCorrelation | None:
    """That of what the fitted models leave unexplained; None where none were fitted."""
    inflows = files.derived(Inflows)
    if inflows.estimation is None:
        return None
    entities = tuple(NoiseEntity("inflow", hydro.id) for hydro in files.of(HydroInput))
    matrices = inflows.estimation.correlations(inflows.coefficients, inflows.annual)
    groups = {stage: (CorrelationGroup("history", entities, own),) for stage, own in matrices.items()}
    return NoiseCorrelation("cholesky", groups)


def _history(table: Table | None) -> dict[int, InflowHistory]:
    if table is None:
        return {}
    result = {}
    for hydro in np.unique(table["hydro_id"]).tolist():
        rows = np.flatnonzero(table["hydro_id"] == hydro)
        rows = rows[np.argsort(table["date"][rows], kind="stable")]
        result[hydro] = InflowHistory(table["date"][rows], table["value_m3s"][rows])
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
