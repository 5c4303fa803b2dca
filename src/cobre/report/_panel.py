"""Simulated numbers as arrays, scenarios by rows.

All scenarios of a table have the same rows: stages, entities and blocks in one order. So the keys are read
once, from the first scenario, and every column is a matrix. It is read some scenarios at a time and reduced
at once, so what is held is what is asked for.
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

#: How many numbers of a column are held at a time, before they are reduced: 64 MB.
AT_ONCE = 8_000_000

#: The column of each table that tells the element.
ID_OF = {"costs": None} | {
    table: labels(kind).ID_COLUMN for kind, tables in collect("outputs", "TABLES").items() for table in tables
}


@dataclass(frozen=True, eq=False)
class Panel:
    """A table of a simulation.

    Attributes:
        results: of which.
        name: of the table.
        scenarios: how many there are.
        stage: the stage of each row of a scenario.
        block: the block of each, or the lag of an inflow; -1 for the whole stage.
        entity: the id of each row's entity; -1 where there is none.
    """

    results: Results
    name: str
    scenarios: int
    stage: Ints
    block: Ints
    entity: Ints

    @property
    def stages(self) -> int:
        """How many stages there are."""
        return int(self.stage.max()) + 1 if self.stage.size else 0

    @cached_property
    def ids(self) -> list[int]:
        """The entities, in the order of their ids."""
        return [int(number) for number in np.unique(self.entity)]

    @property
    def first_rows(self) -> Ints:
        """Which row is of the first block of each entity and stage: entities by stages."""
        order, starts = self._groups
        return np.asarray(order[starts].reshape(len(self.ids), -1))

    @property
    def last_rows(self) -> Ints:
        """Likewise, of the last block."""
        order, starts = self._groups
        return np.asarray(order[np.r_[starts[1:], len(order)] - 1].reshape(len(self.ids), -1))

    def by_stage(self, values: Floats) -> Floats:
        """Sums over blocks: from anything by rows, to the same by entities by stages."""
        order, starts = self._groups
        sums = np.add.reduceat(values[..., order], starts, axis=-1)
        return np.asarray(sums.reshape(*values.shape[:-1], len(self.ids), -1))

    @cached_property
    def _groups(self) -> tuple[Ints, Ints]:
        """All rows by entity, stage and block, and where among these an entity's stage begins."""
        order = np.lexsort((self.block, self.stage, self.entity))
        new = (np.diff(self.stage[order]) != 0) | (np.diff(self.entity[order]) != 0)
        return order, np.flatnonzero(np.r_[True, new])

    def chunks(self, *columns: str) -> Iterator[tuple[Floats, ...]]:
        """Columns of some scenarios at a time, each scenarios by rows."""
        rows = len(self.stage)
        step = max(1, AT_ONCE // max(rows, 1))
        for first in range(0, self.scenarios, step):
            some = range(first, min(first + step, self.scenarios))
            table = self.results.simulation(self.name, columns, None if len(some) == self.scenarios else some)
            if table.num_rows != rows * len(some):
                reason = "its scenarios do not have the same rows; run the simulation again"
                place = self.results.folder / "simulation" / self.name
                raise ResultsError(str(place), "damaged", reason)
            yield tuple(
                table[name].to_numpy().astype(np.float64, copy=False).reshape(-1, rows) for name in columns
            )

    def gather(self, columns: tuple[str, ...], reduce: Callable[..., Floats]) -> Floats:
        """Columns of all scenarios, each scenario's rows reduced to fewer."""
        return np.concatenate([reduce(*chunk) for chunk in self.chunks(*columns)])

    def means(self, *columns: str) -> tuple[Floats, ...]:
        """The mean of each row over the scenarios."""
        sums = np.zeros((len(columns), len(self.stage)))
        for chunk in self.chunks(*columns):
            sums += [values.sum(axis=0) for values in chunk]
        return tuple(sums / self.scenarios)


@remembered
def panel(results: Results, name: str) -> Panel:
    """Return a table of the simulation.

    Raises:
        ResultsError: there is no simulation, it has not finished, or the case has no such entities.
    """
    require_simulation(results)
    id_, part = ID_OF[name], "lag_index" if name == "inflow_lags" else "block_id"
    keys = results.simulation(name, ["stage_id", part, *([id_] if id_ else [])], [0])
    stage = keys["stage_id"].to_numpy().astype(np.int64)
    block = keys[part].fill_null(-1).to_numpy().astype(np.int64)
    entity = keys[id_].to_numpy().astype(np.int64) if id_ else np.full(len(stage), -1)
    return Panel(results, name, _scenarios(results), stage, block, entity)


def require_simulation(results: Results) -> None:
    """Refuse results without a simulation.

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
