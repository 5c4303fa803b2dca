"""Simulation tables as matrices, scenarios by rows.

All scenarios of a table have the same rows: stages, entities and blocks in one order. So the keys are read
once, from the first scenario, and every column is a matrix. It is read and reduced a few scenarios at a time,
so memory holds the reduced values only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.elements import collect, labels
from cobre.errors import ResultsError
from cobre.report._source import remembered
from cobre.results import Results

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Most numbers of a column in memory before they are reduced: 64 MB.
AT_ONCE = 8_000_000

#: The column of each table that identifies the element.
ID_OF = {"costs": None} | {
    table: labels(kind).ID_COLUMN for kind, tables in collect("outputs", "TABLES").items() for table in tables
}

#: Tables of past inflows that are states: the kind of state, and the column of its number.
INFLOW_STATES = {"inflow_lags": ("inflow", "lag_index"), "inflow_means": ("inflow_mean", "mean_index")}


@dataclass(frozen=True, eq=False)
class Panel:
    """Table of a simulation.

    Attributes:
        results: results it belongs to.
        name: name of the table.
        scenarios: number of scenarios.
        stage: stage of each row of a scenario.
        block: block of each row, or lag of an inflow; -1 for the whole stage.
        entity: id of each row's entity; -1 where there is none.
    """

    results: Results
    name: str
    scenarios: int
    stage: Ints
    block: Ints
    entity: Ints

    @property
    def stages(self) -> int:
        """Number of stages."""
        return int(self.stage.max()) + 1 if self.stage.size else 0

    @cached_property
    def ids(self) -> list[int]:
        """Ids of the entities, sorted."""
        return [int(number) for number in np.unique(self.entity)]

    @property
    def first_rows(self) -> Ints:
        """Row of the first block of each entity and stage: entities by stages."""
        order, starts = self._groups
        return np.asarray(order[starts].reshape(len(self.ids), -1))

    @property
    def last_rows(self) -> Ints:
        """Row of the last block of each entity and stage: entities by stages."""
        order, starts = self._groups
        return np.asarray(order[np.r_[starts[1:], len(order)] - 1].reshape(len(self.ids), -1))

    def by_stage(self, values: Floats) -> Floats:
        """Sums over blocks; the last axis, rows, becomes entities by stages."""
        order, starts = self._groups
        sums = np.add.reduceat(values[..., order], starts, axis=-1)
        return np.asarray(sums.reshape(*values.shape[:-1], len(self.ids), -1))

    @cached_property
    def _groups(self) -> tuple[Ints, Ints]:
        """Rows sorted by entity, stage and block, and the first position of each entity and stage."""
        order = np.lexsort((self.block, self.stage, self.entity))
        new = (np.diff(self.stage[order]) != 0) | (np.diff(self.entity[order]) != 0)
        return order, np.flatnonzero(np.r_[True, new])

    def chunks(self, *columns: str) -> Iterator[tuple[Floats, ...]]:
        """Columns as matrices of scenarios by rows, a few scenarios at a time."""
        rows = len(self.stage)
        step = max(1, AT_ONCE // max(rows, 1))
        for first in range(0, self.scenarios, step):
            some = range(first, min(first + step, self.scenarios))
            table = self.results.simulation(self.name, columns, None if len(some) == self.scenarios else some)
            if table.num_rows != rows * len(some):
                reason = (
                    "its scenarios do not have the same rows: they are of stages with different blocks, "
                    "which figures cannot show, or damaged, and the simulation must be run again"
                )
                place = self.results.folder / "simulation" / self.name
                raise ResultsError(str(place), "damaged", reason)
            yield tuple(
                table[name].to_numpy().astype(np.float64, copy=False).reshape(-1, rows) for name in columns
            )

    def gather(self, columns: tuple[str, ...], reduce: Callable[..., Floats]) -> Floats:
        """Concatenate over all scenarios what ``reduce`` returns for some of them."""
        return np.concatenate([reduce(*chunk) for chunk in self.chunks(*columns)])

    def means(self, *columns: str) -> tuple[Floats, ...]:
        """Mean of each row over the scenarios."""
        sums = np.zeros((len(columns), len(self.stage)))
        for chunk in self.chunks(*columns):
            sums += [values.sum(axis=0) for values in chunk]
        return tuple(sums / self.scenarios)


@remembered
def panel(results: Results, name: str) -> Panel:
    """Return a simulation table.

    Raises:
        ResultsError: there is no simulation, it has not finished, or the case has no such entities.
    """
    require_simulation(results)
    id_, part = ID_OF[name], INFLOW_STATES[name][1] if name in INFLOW_STATES else "block_id"
    keys = results.simulation(name, ["stage_id", part, *([id_] if id_ else [])], [0])
    stage = keys["stage_id"].to_numpy().astype(np.int64)
    block = keys[part].fill_null(-1).to_numpy().astype(np.int64)
    entity = keys[id_].to_numpy().astype(np.int64) if id_ else np.full(len(stage), -1)
    return Panel(results, name, _scenarios(results), stage, block, entity)


def require_simulation(results: Results) -> None:
    """Require a finished simulation.

    Raises:
        ResultsError: there is none, or it has not finished.
    """
    place = str(results.folder / "simulation")
    if results.simulation_manifest is None:
        reason = "there is no simulation; set simulation.enabled in config.json to true and run the case"
        raise ResultsError(place, "missing", reason)
    if not _scenarios(results) or "costs" not in results.tables:
        reason = "the simulation has not finished; wait for it, or run the case again"
        raise ResultsError(place, "incomplete", reason)


def _scenarios(results: Results) -> int:
    return int((results.simulation_manifest or {}).get("scenarios", {}).get("completed", 0))
