"""A solved stage, read by kind of column, element and block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cobre.system import System

if TYPE_CHECKING:
    from cobre.sddp import Node, Visit

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
#: Trajectories by elements by blocks; by 1 for what is the same in all blocks.
Cube = NDArray[np.float64]

#: How close to a limit is at it, relatively.
AT_LIMIT = 1e-6

#: Of ``operative_state_code``. The format also has 1, maintenance, which no case tells.
OUT_OF_SERVICE, OPERATING, SATURATED = np.int8(0), np.int8(2), np.int8(3)


def ids_of(elements: Sequence[Any]) -> tuple[int, ...]:
    """Return the ids of elements."""
    return tuple(element.id for element in elements)


def series(elements: Sequence[Any], name: str, stage: int) -> Floats:
    """Return a number of each element in a stage, as a column."""
    return np.array([float(getattr(element, name)[stage]) for element in elements]).reshape(-1, 1)


def block_series(elements: Sequence[Any], name: str, stage: int, blocks: int) -> Floats:
    """Return a number of each element in each block of a stage."""
    return np.array([getattr(element, name)[stage] for element in elements]).reshape(len(elements), blocks)


def operative_state(value: Cube, limit: Floats) -> NDArray[np.int8]:
    """Return the code of elements that are out of service, operating, or operating at their limit."""
    saturated = value >= limit - AT_LIMIT * np.maximum(limit, 1.0)
    return np.where(limit == 0, OUT_OF_SERVICE, np.where(saturated, SATURATED, OPERATING))


class ProgramIndex:
    """The columns and rows of a stage's programme by name; what is missing reads as 0.

    Args:
        system: with the stage.
        number: of the stage.
        node: with the stage's programme.
    """

    def __init__(self, system: System, number: int, node: Node) -> None:
        program = node.program
        self.system, self.number, self.stage = system, number, system.stages[number]
        self.costs = program.costs
        self.prices = np.append(program.costs, 0.0)  # what is missing, -1, has none
        self.column_names = program.column_names
        self._columns = {name: i for i, name in enumerate(program.column_names)}
        self._rows = {name: i for i, name in enumerate(program.row_names)}
        self._noise = {place: i for i, place in enumerate(node.noise.places)}
        self._rhs, self._upper = program.row_lower, program.column_upper
        self._known: dict[tuple[str, tuple[int, ...], str], Ints] = {}

    def columns(self, kind: str, ids: tuple[int, ...], by: str) -> Ints:
        """Return columns of a kind, elements by blocks; -1 where there is none."""
        return self._found(self._columns, kind, ids, by)

    def rows(self, kind: str, ids: tuple[int, ...], by: str) -> Ints:
        """Return rows likewise."""
        return self._found(self._rows, kind, ids, by)

    def changes(self, target: str, place: int) -> int | None:
        """Return the position of a place in a realisation, or None if it is certain."""
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

    def _names(self, kind: str, element: int, by: str) -> Sequence[str]:
        """The names of columns of an element: by ``"stage"``, ``"block"`` or ``"period"`` of a balance."""
        name, blocks = f"{kind}:{element}", len(self.stage.blocks)
        if by == "block":
            return [f"{name}:{k}" for k in range(blocks)]
        if by == "period" and self.stage.chronological:  # what is stored at the end is the stage's
            return [*(f"{name}:{k}" for k in range(blocks - 1)), name]
        return [name]


class SolvedStage:
    """A stage as solved on some trajectories: columns, duals and random numbers by kind, element and block.

    Args:
        places: of the stage's programme.
        visit: with all its columns and duals.

    Attributes:
        system: the whole system.
        number: of the stage.
        stage: the stage itself.
        count: the number of trajectories.
    """

    def __init__(self, places: ProgramIndex, visit: Visit) -> None:
        self.places, self.visit = places, visit
        self.system, self.number, self.stage = places.system, places.number, places.stage
        self.count = len(visit.trajectories)
        nothing = np.zeros((self.count, 1))  # what the number -1 reads
        self._columns = np.concatenate([visit.columns, nothing], axis=1)
        self._duals = np.concatenate([visit.duals, nothing], axis=1)

    def values(self, kind: str, ids: tuple[int, ...], by: str = "block") -> Cube:
        """Return the values of columns."""
        return np.take(self._columns, self.places.columns(kind, ids, by), axis=1, mode="wrap")

    def stored(self, state: str, ids: tuple[int, ...]) -> tuple[Cube, Cube]:
        """Return what is stored before and after the stage, or each block of a chronological one."""
        first, final = self.values(f"{state}_in", ids, "stage"), self.values(state, ids, "period")
        there = self.places.columns(state, ids, "period") >= 0  # an absent element has one value for all
        final = np.where(there, final, final[:, :, -1:])
        return np.concatenate([first, final[:, :, :-1]], axis=2), final

    def duals(self, kind: str, ids: tuple[int, ...], by: str = "block") -> Cube:
        """Return the duals of rows."""
        return np.take(self._duals, self.places.rows(kind, ids, by), axis=1, mode="wrap")

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
        """Return the costs of columns."""
        prices: Floats = self.places.prices[self.places.columns(kind, ids, by)]
        return self.values(kind, ids, by) * prices

    def _realised(self, target: str, places: Ints) -> Cube:
        cube = np.zeros((self.count, *places.shape))
        for i, place in np.ndenumerate(places):
            if place >= 0:
                change = self.places.changes(target, int(place))
                certain = self.places.certain(target)[place]
                cube[:, *i] = certain if change is None else self.visit.noise[:, change]
        return cube
