"""Inputs of generic constraints: expressions, slacks, and right-hand sides by stage and block."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import model_validator

from cobre.elements.generic_constraint import labels
from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.generic_constraint.expressions import parse
from cobre.inputs.files import CaseFiles
from cobre.inputs.kind import JsonFile, KindInputs
from cobre.inputs.models import Document, Named, Positive, Strict
from cobre.inputs.tables import ABSENT, BLOCK, ColumnSpec, by_stage, ids


class Slack(Strict):
    """Slack of a constraint: permission to violate it, and the cost."""

    enabled: bool
    penalty: Positive | None = None

    @model_validator(mode="after")
    def _has_a_cost(self) -> Slack:
        if self.enabled and self.penalty is None:
            raise ValueError("a slack that is enabled needs a penalty")
        return self


class GenericConstraintInput(Named, title="Constraint"):
    """``expression sense bound``; the bounds are in a table of their own."""

    description: str | None = None
    expression: str
    sense: Literal["<=", ">=", "=="]
    slack: Slack


class GenericConstraints(Document):
    """The whole file."""

    constraints: list[GenericConstraintInput]


RIGHT_HAND_SIDES = by_stage(
    "constraints/generic_constraint_bounds.parquet",
    "and their right-hand sides",
    ids("constraint_id", "generic_constraint"),
    BLOCK,
    ColumnSpec("bound"),
    key="block_id",
)


def resolve(files: CaseFiles, constraint: GenericConstraintInput) -> GenericConstraint:
    """Return a constraint as resolved data; it is in force where the table has a bound."""
    table, timeline = files.table(RIGHT_HAND_SIDES), files.timeline
    bounds = tuple(np.full(len(stage.blocks), np.nan) for stage in timeline.stages)
    if table is not None:
        for row in np.flatnonzero(table["constraint_id"] == constraint.id):
            block = int(table["block_id"][row])
            where = slice(None) if block == ABSENT else block
            bounds[timeline.places[int(table["stage_id"][row])]][where] = table["bound"][row]
    cost = constraint.slack.penalty if constraint.slack.enabled else None
    terms = parse(constraint.expression)
    return GenericConstraint(constraint.id, constraint.name, terms, constraint.sense, bounds, cost)


INPUTS = KindInputs(
    rank=7,
    noun="constraint",
    element=GenericConstraintInput,
    entries="constraints",
    files=(JsonFile(labels.FILE, "constraints of your own", GenericConstraints), RIGHT_HAND_SIDES),
    resolve=resolve,
)
