"""What solved stages mean: the tables of a simulation, made from columns and duals.

Everything is done for all trajectories of a batch at once, and in an order that does not depend on how many
they are, so a table has the same bits whoever simulates which of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.generic_constraint.data import GenericConstraint
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.thermal.data import Thermal
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
        lags = any(len(lags) for hydro in system.of(Hydro) for lags in hydro.inflow.coefficients)
        there = {
            "costs": True,
            "hydros": system.of(Hydro),
            "thermals": system.of(Thermal),
            "exchanges": system.of(Line),
            "buses": system.of(Bus),
            "pumping_stations": system.of(PumpingStation),
            "contracts": system.of(Contract),
            "non_controllables": system.of(NonControllableSource),
            "inflow_lags": lags,
            "violations/generic": system.of(GenericConstraint),
        }
        return tuple(name for name in SIMULATION if there[name])

    def tables(self, visits: Sequence[Visit]) -> dict[str, pa.Table]:
        """Return the tables of some whole trajectories, each sorted by ``scenario_id``, its first column."""
        solved = [Solved(self._places[visit.node], visit) for visit in visits]
        return {
            name: _table(name, [_rows(one, self._values(name, one)) for one in solved]) for name in self.names
        }

    def _values(self, name: str, solved: Solved) -> Values:
        own = {"costs": self._cost_rows, "inflow_lags": self._lags, "violations/generic": self._violations}
        if name in own:
            return own[name](solved)
        return ENTITIES[name](self._system, solved.visit.node, solved)

    def _cost_rows(self, solved: Solved) -> Values:
        visit = solved.visit
        parts = self._costs[visit.node].of(solved)
        beyond = parts["future_cost"]  # after the last stage, as another study has it: no cost of this one
        rows: dict[str, Any] = {
            **parts,
            "block_id": None,
            "total_cost": visit.objectives,
            "immediate_cost": visit.costs - beyond,
            "future_cost": visit.objectives - visit.costs + beyond,
        }
        shaped = {name: value if value is None else value[:, None, None] for name, value in rows.items()}
        return {**shaped, "discount_factor": self._discounts[visit.node]}

    def _lags(self, solved: Solved) -> Values:
        cubes = [np.empty((solved.count, 0, 1))]
        hydros: list[int] = []
        lags: list[int] = []
        for hydro in self._system.of(Hydro):
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
            for constraint in self._system.of(GenericConstraint)
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


def _rows(solved: Solved, values: Values) -> Values:
    """The rows of a visit, column by column: by trajectory, then entity, then block; None is null."""
    visit = solved.visit
    shape = np.broadcast_shapes(*(np.shape(value) for value in values.values() if value is not None))
    shape = (solved.count, *shape[1:])
    given = {
        "scenario_id": visit.trajectories[:, None, None],
        "stage_id": visit.step,
        "block_id": np.arange(shape[2]),
        **values,
    }
    return {
        name: value if value is None else np.broadcast_to(value, shape).reshape(-1)
        for name, value in given.items()
    }


def _table(name: str, visits: Sequence[Values]) -> pa.Table:
    """The rows of all visits by trajectory, then as they came; what may be null is so where it is NaN."""
    schema = SCHEMAS[name]
    scenarios = np.concatenate([visit["scenario_id"] for visit in visits])
    order = np.argsort(scenarios, kind="stable")
    arrays = []
    for field in schema:
        parts = [visit[field.name] for visit in visits]
        if any(part is None for part in parts):
            arrays.append(pa.nulls(len(order), field.type))
            continue
        column = np.concatenate(parts)[order]
        missing = np.isnan(column) if field.nullable and column.dtype == np.float64 else None
        arrays.append(pa.array(column, mask=missing).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
