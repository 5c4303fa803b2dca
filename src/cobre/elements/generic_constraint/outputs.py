"""Outputs of generic constraints: the table of their violations, and its cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.solved import SolvedStage
from cobre.elements.tables import BLOCK, STAGE, Column, CostComponent, OutputTable, Values, given

COLUMNS = (
    STAGE,
    BLOCK,
    Column("constraint_id", "int32", "id", "id of the constraint"),
    *given(
        "unit of the constraint",
        ("slack_value", "violation; negative if an equation is exceeded"),
    ),
    *given("$", ("slack_cost", "cost of the violation")),
)


def rows(solved: SolvedStage, constraints: Sequence[GenericConstraint]) -> Values:
    """Return the values of the table ``violations/generic``: of all constraints in force, violated or not."""
    force = [
        (constraint.id, int(k), constraint.sense)
        for constraint in constraints
        for k in np.flatnonzero(~np.isnan(constraint.bounds[solved.number]))
    ]
    ids = tuple(dict.fromkeys(number for number, _, _ in force))
    where = np.array([ids.index(number) for number, _, _ in force], np.int64)
    blocks = np.array([k for _, k, _ in force], np.int64)
    short, over = (solved.values(f"{side}:constraint", ids) for side in ("short", "over"))
    costs = sum(solved.costs(f"{side}:constraint", ids) for side in ("short", "over"))
    signs = np.array([-1.0 if sense == "==" else 1.0 for _, _, sense in force])
    shape = (1, len(force), 1)
    missed = short[:, where, blocks] + signs * over[:, where, blocks]
    return {
        "block_id": blocks.reshape(shape),
        "constraint_id": np.array([number for number, _, _ in force], np.int64).reshape(shape),
        "slack_value": missed[:, :, None],
        "slack_cost": np.asarray(costs)[:, where, blocks][:, :, None],
    }


TABLES = {"violations/generic": OutputTable(COLUMNS, rows)}

COSTS = (
    CostComponent(
        14,
        "generic_violation_cost",
        "violations of generic constraints",
        ("short", "over"),
        label="constraints",
    ),
)
