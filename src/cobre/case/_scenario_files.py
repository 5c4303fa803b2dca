"""``scenarios/*.json``: block factors, and how noises go together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cobre.case._base import Document, Id, Index, NonNegative, Positive, Strict


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


class CorrelatedEntity(Strict):
    """Whose noise."""

    type: Literal["inflow", "load", "ncs"]
    id: Id


class CorrelationGroup(Strict):
    """Noises that go together."""

    name: str
    entities: list[CorrelatedEntity]
    matrix: list[list[Annotated[float, Field(ge=-1, le=1)]]]


class CorrelationProfile(Strict):
    """All groups of a stage; noises in none are independent."""

    correlation_groups: list[CorrelationGroup]


class CorrelationSchedule(Strict):
    """The profile of a stage."""

    stage_id: Id
    profile_name: str


class CorrelationFile(Document):
    """The whole file."""

    method: Literal["spectral", "cholesky"]
    profiles: Annotated[dict[str, CorrelationProfile], Field(min_length=1)]
    schedule: list[CorrelationSchedule] | None = None
