"""The numbers of a solved stage by kind, entity and block: the one place that knows names of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Ints
from cobre.sddp import Node, Visit
from cobre.system import Stage

#: Trajectories by entities by blocks; by 1 for what is the same in all blocks.
Cube = NDArray[np.float64]


class Places:
    """Where the columns and rows of a stage's programme are, by name. What is not there reads as 0.

    Args:
        node: with the programme.
        stage: whose programme it is.
    """

    def __init__(self, node: Node, stage: Stage) -> None:
        program = node.program
        self.stage, self.costs = stage, program.costs
        self.column_names = program.column_names
        self._columns = {name: i for i, name in enumerate(program.column_names)}
        self._rows = {name: i for i, name in enumerate(program.row_names)}
        self._noise = {place: i for i, place in enumerate(node.noise.places)}
        self._rhs, self._upper = program.row_lower, program.column_upper
        self._known: dict[tuple[str, tuple[int, ...], str], Ints] = {}

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self._columns

    def columns(self, kind: str, ids: tuple[int, ...], by: str) -> Ints:
        """Return columns of a kind, entities by blocks; -1 where there is none."""
        return self._found(self._columns, kind, ids, by)

    def rows(self, kind: str, ids: tuple[int, ...], by: str) -> Ints:
        """Return rows likewise."""
        return self._found(self._rows, kind, ids, by)

    def changes(self, target: str, place: int) -> int | None:
        """Return which of the numbers of a realisation a place has, or None if it is certain."""
        return self._noise.get((target, place))

    def certain(self, target: str) -> Floats:
        """Return right-hand sides or upper bounds of what is certain."""
        return self._rhs if target == "rhs" else self._upper

    def _found(self, among: dict[str, int], kind: str, ids: tuple[int, ...], by: str) -> Ints:
        key = (("row " if among is self._rows else "") + kind, ids, by)
        if key not in self._known:
            found = [[among.get(name, -1) for name in self._names(kind, i, by)] for i in ids]
            width = len(self._names(kind, 0, by))
            self._known[key] = np.array(found, np.int32).reshape(len(ids), width)
        return self._known[key]

    def _names(self, kind: str, entity: int, by: str) -> Sequence[str]:
        """What something of an entity is called: by ``"stage"``, ``"block"`` or ``"period"`` of the water."""
        name, blocks = f"{kind}:{entity}", len(self.stage.blocks)
        if by == "block":
            return [f"{name}:{k}" for k in range(blocks)]
        if by == "period" and self.stage.chronological:  # the last volume is the stage's
            return [*(f"{name}:{k}" for k in range(blocks - 1)), name]
        return [name]


class Solved:
    """One visit, read by name.

    Args:
        places: of the node's programme.
        visit: with all its columns and duals.
    """

    def __init__(self, places: Places, visit: Visit) -> None:
        self.places, self.visit = places, visit
        self.count = len(visit.trajectories)
        nothing = np.zeros((self.count, 1))  # what the number -1 reads
        self._columns = np.concatenate([visit.columns, nothing], axis=1)
        self._duals = np.concatenate([visit.duals, nothing], axis=1)

    def values(self, kind: str, ids: tuple[int, ...], by: str = "block") -> Cube:
        """Return the values of columns."""
        return np.ascontiguousarray(self._columns[:, self.places.columns(kind, ids, by)])

    def duals(self, kind: str, ids: tuple[int, ...], by: str = "block") -> Cube:
        """Return the duals of rows."""
        return np.ascontiguousarray(self._duals[:, self.places.rows(kind, ids, by)])

    def rhs(self, kind: str, ids: tuple[int, ...], by: str = "block") -> Cube:
        """Return the right-hand sides of equations, as realised."""
        return self._realised("rhs", self.places.rows(kind, ids, by))

    def uppers(self, kind: str, ids: tuple[int, ...]) -> Cube:
        """Return the upper bounds of columns, as realised."""
        return self._realised("column_upper", self.places.columns(kind, ids, "block"))

    def upper(self, column: int) -> Floats:
        """Return the upper bound of one column, as realised."""
        return self._realised("column_upper", np.array([column], np.int32))[:, 0]

    def costs(self, kind: str, ids: tuple[int, ...], by: str = "block") -> Cube:
        """Return what columns cost."""
        prices: Floats = np.append(self.places.costs, 0.0)[self.places.columns(kind, ids, by)]
        return self.values(kind, ids, by) * prices

    def _realised(self, target: str, places: Ints) -> Cube:
        cube = np.zeros((self.count, *places.shape))
        for i, place in np.ndenumerate(places):
            if place >= 0:
                change = self.places.changes(target, int(place))
                certain = self.places.certain(target)[place]
                cube[:, *i] = certain if change is None else self.visit.noise[:, change]
        return cube
