"""``scenarios/correlation.json``: how noises go together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from cobre.elements import collect
from cobre.inputs.config import NoiseClass
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.kind import Reference
from cobre.inputs.models import Document, Id, Strict
from cobre.inputs.tables import STAGE

FILE = "scenarios/correlation.json"


class CorrelatedEntity(Strict):
    """Whose noise."""

    type: NoiseClass
    id: Id


class CorrelationGroupInput(Strict, title="CorrelationGroup"):
    """Noises that go together."""

    name: str
    entities: list[CorrelatedEntity]
    matrix: list[list[Annotated[float, Field(ge=-1, le=1)]]]


class CorrelationProfile(Strict):
    """All groups of a stage; noises in none are independent."""

    correlation_groups: list[CorrelationGroupInput]


class CorrelationSchedule(Strict):
    """The profile of a stage."""

    stage_id: Id
    profile_name: str


class CorrelationFile(Document):
    """The whole file."""

    method: Literal["spectral", "cholesky"]
    profiles: dict[str, CorrelationProfile]
    schedule: list[CorrelationSchedule] | None = None


def default_profile(file: CorrelationFile) -> str | None:
    """The profile of stages without one in the schedule: ``default``, or the only one there is."""
    if "default" in file.profiles:
        return "default"
    return next(iter(file.profiles)) if len(file.profiles) == 1 else None


def references(files: CaseFiles) -> Iterator[Reference]:
    """Yield the elements of all groups, and the stages of the schedule."""
    found = files.document(FILE, CorrelationFile)
    if not found:
        return
    kinds = {name: kind for kind, name in collect("noise", "CLASS").items()}
    for name, profile in found.profiles.items():
        for group in profile.correlation_groups:
            for entity in group.entities:
                where = f"profiles.{name}.correlation_groups"
                yield Reference(FILE, f"group {group.name}", where, kinds[entity.type], entity.id)
    for index, entry in enumerate(found.schedule or ()):
        yield Reference(FILE, "", f"schedule[{index}].stage_id", STAGE, entry.stage_id)


def check_amounts(files: CaseFiles, report: Report) -> None:
    """Report matrices that do not fit their groups."""
    found = files.document(FILE, CorrelationFile)
    for name, profile in found.profiles.items() if found else ():
        for group in profile.correlation_groups:
            size = len(group.entities)
            if [len(row) for row in group.matrix] != [size] * size:
                message = f"the matrix must be {size} by {size}, one row for each entity"
                owner = f"profile {name}, group {group.name}"
                remedy = "list the entities in the order of rows and columns"
                report.error("dimension", FILE, message, remedy, entity=owner, field="matrix")


def check_meaning(files: CaseFiles, report: Report) -> None:
    """Report groups, matrices and schedules that make no sense."""
    file = files.document(FILE, CorrelationFile)
    if file is None:
        return
    for name, profile in file.profiles.items():
        seen: set[tuple[str, int]] = set()
        for group in profile.correlation_groups:
            owner = f"profile {name}, group {group.name}"
            _check_group(group, owner, report)
            members = {(entity.type, entity.id) for entity in group.entities}
            if len(members) < len(group.entities) or members & seen:
                message = "an entity may be in one group only, and once"
                remedy = "keep it in one group"
                report.error("duplicate", FILE, message, remedy, entity=owner, field="entities")
            seen |= members
    for index, entry in enumerate(file.schedule or ()):
        if entry.profile_name not in file.profiles:
            where = f"schedule[{index}].profile_name"
            message = f"there is no profile {entry.profile_name!r}"
            remedy = f"use one of: {', '.join(file.profiles)}"
            report.error("reference", FILE, message, remedy, field=where, value=entry.profile_name)
    scheduled = {entry.stage_id for entry in file.schedule or ()}
    if file.profiles and default_profile(file) is None and not (files.ids(STAGE) or set()) <= scheduled:
        message = "of several profiles, one must be called 'default', for stages that are not in the schedule"
        remedy = "call one profile default, or schedule a profile for every stage"
        report.error("meaning", FILE, message, remedy, field="profiles")


def _check_group(group: CorrelationGroupInput, owner: str, report: Report) -> None:
    if len({entity.type for entity in group.entities}) > 1:
        message = "all entities of a group must have the same type"
        remedy = "make a group for each type"
        report.error("meaning", FILE, message, remedy, entity=owner, field="entities")
    size = len(group.entities)
    if [len(row) for row in group.matrix] != [size] * size:
        return  # reported where dimensions are
    matrix = np.array(group.matrix).reshape(size, size)
    if np.any(np.abs(matrix - matrix.T) > 1e-9):
        remedy = "give entry i, j and entry j, i the same value"
        report.error("meaning", FILE, "the matrix is not symmetric", remedy, entity=owner, field="matrix")
    elif np.any(np.abs(np.diag(matrix) - 1) > 1e-9):
        remedy = "correlate every entity with itself by 1"
        report.error(
            "meaning", FILE, "the diagonal of the matrix must be 1", remedy, entity=owner, field="matrix"
        )
    elif size and np.linalg.eigvalsh(matrix)[0] < -1e-9:
        message = "the matrix is not positive semidefinite; the nearest one that is has to be used"
        remedy = "correct the correlations, if the nearest matrix is not meant"
        report.warn("meaning", FILE, message, remedy, entity=owner, field="matrix")
