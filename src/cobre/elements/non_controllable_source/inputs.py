"""Inputs of non-controllable sources: their file, availability by stage and block, curtailment costs."""

from __future__ import annotations

import numpy as np

from cobre.elements.non_controllable_source import labels
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.inputs.bounds import BoundsTable
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import FactorsFile, JsonFile, KindInputs, NoiseInputs
from cobre.inputs.models import Document, Id, Index, InService, NonNegative, Positive, Strict
from cobre.inputs.tables import SCENARIO, ColumnSpec, by_stage, costs, ids


class SourceInput(InService, title="Source"):
    """Wind or sun."""

    bus_id: Id
    max_generation_mw: NonNegative
    curtailment_cost: Positive | None = None


class Sources(Document):
    """The whole file."""

    non_controllable_sources: list[SourceInput]


class SourcePenalties(Strict):
    """Of a non-controllable source."""

    curtailment_cost: Positive


class SourceBlockFactor(Strict):
    """For a block."""

    block_id: Index
    factor: NonNegative


class SourceFactor(Strict):
    """For a source in a stage."""

    ncs_id: Id
    stage_id: Id
    block_factors: list[SourceBlockFactor]


class SourceFactors(Document):
    """The whole file."""

    non_controllable_factors: list[SourceFactor]


_SOURCE = ids("ncs_id", "non_controllable_source")
STATISTICS = by_stage(
    "scenarios/non_controllable_stats.parquet",
    "mean and deviation of wind and sun",
    _SOURCE,
    ColumnSpec("mean", low=0, high=1),
    ColumnSpec("std", low=0),
)
FACTORS = FactorsFile(
    JsonFile("scenarios/non_controllable_factors.json", "wind and sun of each block", SourceFactors),
    "non_controllable_factors",
    "ncs_id",
)
SCENARIOS = by_stage(
    "scenarios/external_ncs_scenarios.parquet",
    "scenarios of wind and sun of your own",
    _SOURCE,
    SCENARIO,
    ColumnSpec("value"),
    key="scenario_id",
)
BOUNDS = BoundsTable(
    by_stage(
        "constraints/ncs_bounds.parquet",
        "capacities of wind and sun by stage",
        _SOURCE,
        ColumnSpec("available_generation_mw", low=0),
    ),
    lambda source: {"available_generation_mw": source.max_generation_mw},
)
PENALTIES = by_stage(
    "constraints/penalty_overrides_ncs.parquet",
    "penalties of wind and sun by stage",
    ids("source_id", "non_controllable_source"),
    *costs("curtailment_cost"),
)


def resolve(files: CaseFiles, source: SourceInput) -> NonControllableSource:
    """Return a source as resolved data; one without statistics is always fully available."""
    statistics, general = files.overrides(STATISTICS), files.penalties(SourcePenalties).curtailment_cost
    cost = general if source.curtailment_cost is None else source.curtailment_cost
    return NonControllableSource(
        source.id,
        source.name,
        source.bus_id,
        BOUNDS.in_service(files, source)["available_generation_mw"],
        statistics.over(source.id, "mean", 1.0),
        statistics.over(source.id, "std", 0.0),
        files.timeline.factors(source.id, files.factors(FACTORS)),
        files.overrides(PENALTIES).over(source.id, "curtailment_cost", cost),
    )


def random_sources(files: CaseFiles) -> list[int] | None:
    """Return the sources that have statistics; None if the file is wrong."""
    table = files.table(STATISTICS)
    if table is None:
        return None if files.has(STATISTICS) else []
    found: list[int] = np.unique(table["ncs_id"]).tolist()
    return found


INPUTS = KindInputs(
    rank=4,
    noun="source",
    element=SourceInput,
    entries="non_controllable_sources",
    files=(JsonFile(labels.FILE, "wind, sun: what they can give", Sources), STATISTICS, PENALTIES),
    resolve=resolve,
    references={"bus_id": "bus"},
    bounds=BOUNDS,
    factors=FACTORS,
    noise=NoiseInputs(SCENARIOS, "value", random_sources),
    penalties=SourcePenalties,
)
