"""The tables of a simulation, made from the columns and duals of solved stages.

Everything is done for all trajectories of a batch at once, and in an order that does not depend on how many
they are, so a table has the same bits whoever simulates which of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.elements.registry import KINDS, collect, elements_of
from cobre.elements.solved import ProgramIndex, SolvedStage
from cobre.elements.tables import OutputTable, Values
from cobre.hydrothermal._costs import StageCosts
from cobre.hydrothermal._rows import TableRows
from cobre.lp import Floats
from cobre.results import POLICY_STAGE, SIMULATION, cost_columns, schema_of
from cobre.sddp import MultistageProblem, Visit
from cobre.system import System

SCENARIO = pa.field("scenario_id", pa.int32(), nullable=False)


class SimulationTables:
    """Makes the tables of a simulation of a hydrothermal system.

    Args:
        system: with all its elements.
        problem: as `cobre.hydrothermal.problem_of` made it.
    """

    def __init__(self, system: System, problem: MultistageProblem) -> None:
        self._places = [ProgramIndex(system, number, node) for number, node in enumerate(problem.nodes)]
        self._costs = [StageCosts(places) for places in self._places]
        self._stages = system.stages
        self._elements: dict[str, tuple[OutputTable, Sequence[Any]]] = {
            name: (table, elements_of(system, kind))
            for kind, tables in collect("outputs", "TABLES").items()
            for name, table in tables.items()
        }
        kinds = [kind for kind in KINDS if elements_of(system, kind)]
        costs = cost_columns(kinds, has_stages=not system.graph.is_chain)
        self._schemas = {
            name: pa.schema([SCENARIO, *schema_of(costs if name == "costs" else columns)])
            for name, columns in SIMULATION.items()
            if name == "costs" or self._exists(name)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that this system has."""
        return tuple(self._schemas)

    def tables(self, visits: Sequence[Visit]) -> dict[str, pa.Table]:
        """Return the tables of some whole trajectories, each sorted by ``scenario_id``, its first column."""
        solved = [SolvedStage(self._places[visit.node], visit) for visit in visits]
        factors = self._discount_factors(visits)
        return {
            name: _table(
                schema,
                visits,
                [self._values(name, one, factor) for one, factor in zip(solved, factors, strict=True)],
            )
            for name, schema in self._schemas.items()
        }

    def _discount_factors(self, visits: Sequence[Visit]) -> list[Floats]:
        """The weight of a cost of each visit at the beginning: trajectories may go different ways."""
        first = min((int(visit.trajectories.min()) for visit in visits), default=0)
        last = max((int(visit.trajectories.max()) for visit in visits), default=0)
        now, found = np.ones(last - first + 1), []
        for visit in visits:
            here = visit.trajectories - first
            found.append(now[here])
            now[here] *= self._stages[visit.node].discount
        return found

    def _exists(self, name: str) -> bool:
        table, elements = self._elements[name]
        return table.exists(elements)

    def _values(self, name: str, solved: SolvedStage, discount_factor: Floats) -> Values:
        if name == "costs":
            return self._cost_values(solved, discount_factor)
        table, elements = self._elements[name]
        return table.rows(solved, elements)

    def _cost_values(self, solved: SolvedStage, discount_factor: Floats) -> Values:
        visit = solved.visit
        components = self._costs[visit.node].of(solved)
        beyond = components[
            "future_cost"
        ]  # after the last stage, as another study has it: no cost of this one
        values: dict[str, Any] = {
            **components,
            "total_cost": visit.objectives,
            "immediate_cost": visit.costs - beyond,
            "future_cost": visit.objectives - visit.costs + beyond,
            "discount_factor": discount_factor,
        }
        shaped = {name: value[:, None, None] for name, value in values.items()}
        return {**shaped, "block_id": None, POLICY_STAGE.name: self._stages[visit.node].id}


def _table(schema: pa.Schema, visits: Sequence[Visit], values: Sequence[Values]) -> pa.Table:
    """The rows of all visits by trajectory, then as they came; by element, then block within a visit."""
    shapes = [
        np.broadcast_shapes(*(np.shape(value) for value in given.values() if value is not None))[1:]
        for given in values
    ]
    rows = TableRows(visits, shapes)
    arrays = []
    for field in schema:
        parts = [
            _known(visit, shape)[field.name] if field.name not in given else given[field.name]
            for visit, shape, given in zip(visits, shapes, values, strict=True)
        ]
        arrays.append(_array(field, rows, parts))
    return pa.Table.from_arrays(arrays, schema=schema)


def _known(visit: Visit, shape: tuple[int, ...]) -> Values:
    """The columns that no kind of element gives."""
    return {
        "scenario_id": visit.trajectories[:, None, None],
        "stage_id": visit.step,
        "block_id": np.arange(shape[1]),
    }


def _array(field: pa.Field, rows: TableRows, parts: Sequence[Any]) -> pa.Array:
    """A column: null where it is NaN and may be, and in all rows if a part of it is None."""
    if any(part is None for part in parts):
        return pa.nulls(rows.count, field.type)
    column = rows.column(field.type.to_pandas_dtype(), parts)
    missing = np.isnan(column) if field.nullable and column.dtype == np.float64 else None
    return pa.array(column, field.type, mask=missing if missing is not None and missing.any() else None)
