"""Parquet files of a case: their columns, and their contents once read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: Stands for a missing value in an optional column of ids; a missing number is NaN.
ABSENT = -1
#: What a column of stage ids names: a stage of the study, or of the study or before it.
STAGE, ANY_STAGE = "stage", "any stage"


@dataclass(frozen=True)
class ColumnSpec:
    """A column: its type, whether it may be absent or null, its range, and the kind that its ids name."""

    name: str
    type: Literal["id", "number", "date"] = "number"
    required: bool = True
    low: float = -np.inf
    high: float = np.inf
    above: float = -np.inf
    of: str = ""


@dataclass(frozen=True)
class TableFile:
    """A Parquet file: its description in a line, its columns, and those that tell its rows apart."""

    name: str
    description: str
    columns: tuple[ColumnSpec, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Contents of a file, column by column; optional columns are always there."""

    columns: dict[str, NDArray[Any]]
    rows: int
    _orders: dict[str, tuple[NDArray[np.int64], NDArray[Any]]] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def rows_of(self, key: str, entity: int) -> NDArray[np.int64]:
        """Return the rows of an element, in their order."""
        if key not in self._orders:
            order = np.argsort(self.columns[key], kind="stable")
            self._orders[key] = order, self.columns[key][order]
        order, entities = self._orders[key]
        first, end = np.searchsorted(entities, [entity, entity + 1])
        return order[first:end]

    def pairs(self, key: str) -> set[tuple[int, int]]:
        """Return the elements and stages that have a row."""
        return set(zip(self[key].tolist(), self["stage_id"].tolist(), strict=True))


def ids(name: str, of: str, *, required: bool = True) -> ColumnSpec:
    """Return a column of ids of a kind."""
    return ColumnSpec(name, "id", required, of=of)


def by_stage(
    name: str, description: str, element: ColumnSpec, *columns: ColumnSpec, key: str = ""
) -> TableFile:
    """Return a table with a row for each element and stage, and for each value of one more key column."""
    keys = (element.name, "stage_id", *([key] if key else []))
    return TableFile(name, description, (element, ids("stage_id", STAGE), *columns), keys)


def bounds(*names: str) -> list[ColumnSpec]:
    """Return optional columns of numbers that are not negative."""
    return [ColumnSpec(name, required=False, low=0) for name in names]


def costs(*names: str) -> list[ColumnSpec]:
    """Return optional columns of positive numbers."""
    return [ColumnSpec(name, required=False, above=0) for name in names]


#: The block of a row; a row without one holds for all blocks that have none of their own.
BLOCK = ColumnSpec("block_id", "id", required=False, low=0)
#: The number of a given scenario.
SCENARIO = ColumnSpec("scenario_id", "id", low=0)
