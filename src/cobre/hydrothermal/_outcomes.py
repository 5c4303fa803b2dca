"""What solved stages mean: the tables of a simulation, made from columns and duals.

Everything is done for all trajectories of a batch at once, and in an order that does not depend on how many
they are, so a table has the same bits whoever simulates which of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.hydrothermal._cost_parts import CostParts
from cobre.hydrothermal._hydro_outcomes import hydros
from cobre.hydrothermal._power_outcomes import (
    buses,
    contracts,
    exchanges,
    pumping_stations,
    sources,
    thermals,
)
from cobre.hydrothermal._solved import Places, Solved
from cobre.results import SIMULATION, schema_of
from cobre.sddp import MultistageProblem, Visit
from cobre.system import System

#: A number, or one for each entity and block, or also for each trajectory.
Values = Mapping[str, Any]

SCENARIO = pa.field("scenario_id", pa.int32(), nullable=False)
SCHEMAS = {name: pa.schema([SCENARIO, *schema_of(columns)]) for name, columns in SIMULATION.items()}


#: Who makes the rows of each kind of entity.
ENTITIES = {
    "hydros": hydros,
    "thermals": thermals,
    "exchanges": exchanges,
    "buses": buses,
    "pumping_stations": pumping_stations,
    "contracts": contracts,
    "non_controllables": sources,
}


class Outcomes:
    """Makes tables of what a simulation of a hydrothermal system sees.

    Args:
        system: what there is.
        problem: as `cobre.hydrothermal.problem_of` made it.
    """

    def __init__(self, system: System, problem: MultistageProblem) -> None:
        self._system = system
        self._places = [Places(node, stage) for node, stage in zip(problem.nodes, system.stages, strict=True)]
        self._costs = [CostParts(places) for places in self._places]
        discounts = [stage.discount for stage in system.stages]
        self._discounts = np.cumprod([1.0, *discounts[:-1]])  # what a cost of a stage counts for

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that there are for this system."""
        system = self._system
        lags = any(len(lags) for hydro in system.hydros for lags in hydro.inflow.coefficients)
        there = {
            "costs": True,
            "hydros": system.hydros,
            "thermals": system.thermals,
            "exchanges": system.lines,
            "buses": system.buses,
            "pumping_stations": system.pumping,
            "contracts": system.contracts,
            "non_controllables": system.sources,
            "inflow_lags": lags,
            "violations/generic": system.constraints,
        }
        return tuple(name for name in SIMULATION if there[name])

    def tables(self, visits: Sequence[Visit]) -> dict[str, pa.Table]:
        """Return the tables of some whole trajectories, each sorted by ``scenario_id``, its first column."""
        parts: dict[str, list[pa.Table]] = {name: [SCHEMAS[name].empty_table()] for name in self.names}
        for visit in visits:
            for name, table in self._of_visit(visit).items():
                parts[name].append(table)
        return {name: _by_scenario(pa.concat_tables(tables)) for name, tables in parts.items()}

    def _of_visit(self, visit: Visit) -> dict[str, pa.Table]:
        solved, stage = Solved(self._places[visit.node], visit), visit.node
        own = {"costs": self._cost_rows, "inflow_lags": self._lags, "violations/generic": self._violations}
        return {
            name: _table(
                name,
                solved,
                own[name](solved) if name in own else ENTITIES[name](self._system, stage, solved),
            )
            for name in self.names
        }

    def _cost_rows(self, solved: Solved) -> Values:
        visit = solved.visit
        parts = self._costs[visit.node].of(solved)
        future = visit.objectives - visit.costs
        rows: dict[str, Any] = {
            "block_id": None,
            "total_cost": visit.objectives,
            "immediate_cost": visit.costs,
            "future_cost": future,
            **parts,
        }
        shaped = {name: value if value is None else value[:, None, None] for name, value in rows.items()}
        return {**shaped, "discount_factor": self._discounts[visit.node]}

    def _lags(self, solved: Solved) -> Values:
        cubes = [np.empty((solved.count, 0, 1))]
        hydros: list[int] = []
        lags: list[int] = []
        for hydro in self._system.hydros:
            order = max((len(coefficients) for coefficients in hydro.inflow.coefficients), default=0)
            numbers = tuple(range(1, order + 1))
            cubes.append(solved.values(f"past_inflow:{hydro.id}", numbers, "stage"))
            hydros += [hydro.id] * order
            lags += numbers
        return {
            "hydro_id": np.array(hydros, np.int32)[:, None],
            "lag_index": np.array(lags, np.int32)[:, None],
            "inflow_m3s": np.concatenate(cubes, axis=1),
        }

    def _violations(self, solved: Solved) -> Values:
        """Of all constraints that are in force, missed or not."""
        force = [
            (constraint.id, int(k), constraint.sense)
            for constraint in self._system.constraints
            for k in np.flatnonzero(~np.isnan(constraint.bounds[solved.visit.node]))
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


def _table(name: str, solved: Solved, values: Values) -> pa.Table:
    """Rows by trajectory, then entity, then block; a value that is None, or NaN where it may be, is null."""
    schema, visit = SCHEMAS[name], solved.visit
    shape = np.broadcast_shapes(*(np.shape(value) for value in values.values() if value is not None))
    shape = (solved.count, *shape[1:])
    blocks = np.arange(shape[2])
    given = {
        "scenario_id": visit.trajectories[:, None, None],
        "stage_id": visit.step,
        "block_id": blocks,
        **values,
    }
    arrays = []
    for field in schema:
        value = given[field.name]
        if value is None:
            arrays.append(pa.nulls(int(np.prod(shape)), field.type))
            continue
        flat = np.ascontiguousarray(np.broadcast_to(value, shape)).reshape(-1)
        missing = np.isnan(flat) if field.nullable and flat.dtype == np.float64 else None
        arrays.append(pa.array(flat, mask=missing).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _by_scenario(table: pa.Table) -> pa.Table:
    scenarios = table["scenario_id"].to_numpy()
    return table.take(pa.array(np.argsort(scenarios, kind="stable"))).combine_chunks()
