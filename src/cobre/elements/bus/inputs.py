"""Inputs of buses: ``system/buses.json``, loads, deficits and the cost of excess."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from cobre.elements.bus import labels
from cobre.elements.bus.data import Bus, DeficitSegment
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import FactorsFile, JsonFile, KindInputs, NoiseInputs
from cobre.inputs.models import Document, Id, Index, Named, Positive, Strict
from cobre.inputs.tables import SCENARIO, ColumnSpec, by_stage, costs, ids


class DeficitSegmentInput(Strict, title="DeficitSegment"):
    """A part of the load that may go unserved; the last one has no depth."""

    depth_mw: Positive | None = None
    cost: Positive


class BusPenalties(Strict):
    """At a bus."""

    deficit_segments: Annotated[list[DeficitSegmentInput], Field(min_length=1)]
    excess_cost: Positive


class BusInput(Named, title="Bus"):
    """Electrical bus and its deficit segments."""

    deficit_segments: Annotated[list[DeficitSegmentInput], Field(min_length=1)] | None = None


class Buses(Document):
    """The whole file."""

    buses: list[BusInput]


class LoadBlockFactor(Strict):
    """For a block."""

    block_id: Index
    factor: Positive


class LoadFactor(Strict):
    """For a bus in a stage."""

    bus_id: Id
    stage_id: Id
    block_factors: list[LoadBlockFactor]


class LoadFactors(Document):
    """The whole file."""

    load_factors: list[LoadFactor]


_BUS = ids("bus_id", "bus")
FACTORS = FactorsFile(
    JsonFile("scenarios/load_factors.json", "the load of each block", LoadFactors), "load_factors", "bus_id"
)
STATISTICS = by_stage(
    "scenarios/load_seasonal_stats.parquet",
    "mean and deviation of the load by stage",
    _BUS,
    ColumnSpec("mean_mw"),
    ColumnSpec("std_mw", low=0),
)
SCENARIOS = by_stage(
    "scenarios/external_load_scenarios.parquet",
    "load scenarios of your own",
    _BUS,
    SCENARIO,
    ColumnSpec("value_mw"),
    key="scenario_id",
)
PENALTIES = by_stage(
    "constraints/penalty_overrides_bus.parquet", "penalties of buses by stage", _BUS, *costs("excess_cost")
)


def resolve(files: CaseFiles, bus: BusInput) -> Bus:
    """Return a bus as resolved data."""
    penalties, loads = files.penalties(BusPenalties), files.overrides(STATISTICS)
    return Bus(
        bus.id,
        bus.name,
        _segments(bus.deficit_segments or penalties.deficit_segments),
        files.overrides(PENALTIES).over(bus.id, "excess_cost", penalties.excess_cost),
        loads.over(bus.id, "mean_mw", 0.0),
        loads.over(bus.id, "std_mw", 0.0),
        files.timeline.factors(bus.id, files.factors(FACTORS)),
    )


def _segments(segments: list[DeficitSegmentInput]) -> tuple[DeficitSegment, ...]:
    return tuple(
        DeficitSegment(np.inf if one.depth_mw is None else one.depth_mw, one.cost) for one in segments
    )


def random_loads(files: CaseFiles) -> list[int] | None:
    """Return the buses whose load is random; None if the file that says so is wrong."""
    table = files.table(STATISTICS)
    if table is None:
        return None if files.has(STATISTICS) else []
    found: list[int] = np.unique(table["bus_id"][table["std_mw"] > 0]).tolist()
    return found


INPUTS = KindInputs(
    rank=0,
    noun="bus",
    element=BusInput,
    entries="buses",
    files=(JsonFile(labels.FILE, "where power is needed", Buses, required=True), STATISTICS, PENALTIES),
    resolve=resolve,
    factors=FACTORS,
    noise=NoiseInputs(SCENARIOS, "value_mw", random_loads),
    penalties=BusPenalties,
)
