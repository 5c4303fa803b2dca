"""Types that the ``outputs.py`` of element kinds are made of: columns, tables, cost components and codes.

They import nothing but the standard library, so descriptions of outputs load neither the LP nor Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cobre.elements.solved import SolvedStage


class Column(NamedTuple):
    """A column of an output table.

    Attributes:
        name: as in the file.
        type: as Arrow calls it: ``float64``, ``int32``, ...
        unit: ``$`` is the currency of the case; ``id``, ``code`` and ``count`` have no unit.
        meaning: in words.
        nullable: whether it may be null.
    """

    name: str
    type: str
    unit: str
    meaning: str
    nullable: bool = False


def given(unit: str, *columns: tuple[str, str]) -> Iterable[Column]:
    """Return columns of numbers in one unit, which are never null."""
    return (Column(name, "float64", unit, meaning) for name, meaning in columns)


STAGE = Column("stage_id", "int32", "id", "number of the stage, from 0")
BLOCK = Column("block_id", "int32", "id", "number of the block, from 0; null for the whole stage", True)
STATE = Column("operative_state_code", "int8", "code", "state: out of service, operating, or saturated")


def keys(name: str, element: str) -> tuple[Column, ...]:
    """Return the first columns of a table with a row per stage, block and element."""
    return (STAGE, BLOCK, Column(name, "int32", "id", f"id of the {element}"))


#: A number, or one for each element and block, or also for each trajectory; None is null.
Values = Mapping[str, Any]


class OutputTable(NamedTuple):
    """A table of a simulation.

    Attributes:
        columns: its columns; ``scenario_id`` comes before them.
        rows: returns the columns' values in a stage that was solved, all but ``scenario_id`` and
            ``stage_id``; ``block_id`` only if it is not the number of the block.
        exists: whether a system with these elements has the table; by default if there are any.
    """

    columns: tuple[Column, ...]
    rows: Callable[[SolvedStage, Sequence[Any]], Values]
    exists: Callable[[Sequence[Any]], bool] = bool


#: The place of cost components that the output format does not have: after those that it has.
LAST = 1000


@dataclass(frozen=True)
class CostComponent:
    """A component of a stage's cost: a column of the table ``costs``.

    Attributes:
        place: in the order of the table. Components of the output format have numbers below ``LAST`` and are
            in every table; others come after them, and only where the system has elements of the kind.
        name: of the column.
        meaning: of the column, in words.
        columns: the kinds of columns of the programme whose cost it is; the kind is the first part of a
            column's name.
        label: in figures; "" where it is shown as a part of another.
        sum_of: other components that it is the sum of, in place of columns.
        from_upper: whether it is counted from the columns' upper bounds rather than from 0.
    """

    place: int
    name: str
    meaning: str
    columns: tuple[str, ...] = ()
    label: str = ""
    sum_of: tuple[str, ...] = ()
    from_upper: bool = False


class BoundType(NamedTuple):
    """A type of bounds in ``bounds.parquet``.

    Attributes:
        code: there.
        name: in ``codes.json``; kinds that share a code share the name.
        of: returns an element's bounds: per stage a number, or one for each block.
    """

    code: int
    name: str
    of: Callable[[Any], Sequence[Any]]


class StateGroup(NamedTuple):
    """A group of states in ``state_dictionary.json``.

    Attributes:
        key: of the list of its states.
        ids: what the parts of a state's name mean after the first, which is the group's.
        unit: of the states.
        always: whether the list is there even where the system has no element of the kind.
        column: of the kind's table by element, if one has the state after the stage or block.
    """

    key: str
    ids: tuple[str, ...]
    unit: str
    always: bool = False
    column: str = ""
