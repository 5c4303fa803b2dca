"""The stages of a study in order, and numbers by stage and block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.inputs.models import InService
from cobre.inputs.stages import StageInput, Stages
from cobre.inputs.tables import ABSENT, Table

Series = NDArray[np.float64]
Indices = NDArray[np.int64]
#: By stage, a factor for each block.
BlockSeries = tuple[Series, ...]
#: By entity and stage, the factors of some blocks.
Factors = Mapping[tuple[int, int], Mapping[int, float]]


@dataclass(frozen=True, eq=False)
class StageTimeline:
    """The stages of a study in their order."""

    stages: tuple[StageInput, ...]
    seasons: tuple[int, ...]
    following: tuple[frozenset[int], ...]  # by place, those of the stages that may follow

    @staticmethod
    def of(file: Stages) -> StageTimeline:
        """The stages of a file."""
        ordered, ways = file.ordered, file.following
        places = {stage.id: place for place, stage in enumerate(ordered)}
        return StageTimeline(
            tuple(ordered),
            tuple(file.season(stage) for stage in ordered),
            tuple(frozenset(places[target] for target in ways[stage.id]) for stage in ordered),
        )

    def __len__(self) -> int:
        return len(self.stages)

    @property
    def ids(self) -> list[int]:
        """In order."""
        return [stage.id for stage in self.stages]

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each stage, by its id."""
        return {stage.id: place for place, stage in enumerate(self.stages)}

    def ahead(self, place: int, steps: int) -> frozenset[int]:
        """Return the places of the stages that may come so many steps after one; none beyond the end."""
        found = frozenset({place})
        for _ in range(steps):
            found = frozenset(later for here in found for later in self.following[here])
        return found

    @cached_property
    def block_counts(self) -> dict[int, int]:
        """Number of blocks, by stage id."""
        return {stage.id: len(stage.blocks) for stage in self.stages}

    @property
    def always(self) -> NDArray[np.bool_]:
        """True in all stages."""
        return np.ones(len(self), dtype=bool)

    def constant(self, value: float) -> Series:
        """The same number in all stages."""
        return np.full(len(self), value, dtype=np.float64)

    def in_service(self, entity: InService) -> NDArray[np.bool_]:
        """Stages in which an entity is in service."""
        return np.array([entity.serves(stage.id) for stage in self.stages], dtype=bool)

    def factors(self, entity: int, given: Factors) -> BlockSeries:
        """The factors of an entity: 1 where none is given."""
        return tuple(
            np.array(
                [given.get((entity, stage.id), {}).get(block, 1.0) for block in range(len(stage.blocks))]
            )
            for stage in self.stages
        )

    def names(self, where: NDArray[np.bool_]) -> str:
        """The stages for which something holds, in words."""
        found = [stage.id for stage, holds in zip(self.stages, where, strict=True) if holds]
        if len(found) == len(self) > 1:
            return "in all stages"
        shown = ", ".join(str(stage) for stage in found[:6])
        more = f" and {len(found) - 6} others" if len(found) > 6 else ""
        return f"in stage{'s'[: len(found) != 1]} {shown}{more}"


@dataclass(frozen=True, eq=False)
class Overrides:
    """Numbers that a table has for some stages of some entities."""

    timeline: StageTimeline
    table: Table | None
    key: str

    def given(self, entity: int, column: str) -> Series:
        """Values of the table for an entity, by stage; NaN where it has none."""
        found = self.timeline.constant(np.nan)
        places, blocks, values = self._rows(entity, column)
        whole = blocks == ABSENT
        found[places[whole]] = values[whole]
        return found

    def _rows(self, entity: int, column: str) -> tuple[Indices, Indices, Series]:
        """Place of the stage, block and value of each row that has one."""
        rows = np.empty(0, np.int64) if self.table is None else self.table.rows_of(self.key, entity)
        if self.table is None or not len(rows):
            return rows, rows, np.empty(0)
        number = self.timeline.places
        places = np.array([number.get(stage, -1) for stage in self.table["stage_id"][rows].tolist()])
        values = self.table[column][rows]
        blocks = self.table.columns.get("block_id")
        known = (places >= 0) & ~np.isnan(values)
        return (
            places[known],
            (np.full(len(rows), ABSENT) if blocks is None else blocks[rows])[known],
            values[known],
        )

    def over(self, entity: int, column: str, base: float) -> Series:
        """Values of the table, and the entity's own value elsewhere."""
        return first_given([self.given(entity, column), self.timeline.constant(base)])

    def by_block(self, entity: int, column: str, base: float) -> BlockSeries:
        """The same by block, where a row for one block counts for more than one for all."""
        whole = self.over(entity, column, base)
        found = tuple(
            np.full(len(stage.blocks), value)
            for stage, value in zip(self.timeline.stages, whole, strict=True)
        )
        for place, block, value in zip(*self._rows(entity, column), strict=True):
            if ABSENT != block < len(found[place]):  # one beyond them is reported where dimensions are
                found[place][block] = value
        return found


def first_given(levels: Iterable[Series]) -> Series:
    """By stage, the first number that is one: later levels are the more general ones."""
    result: Series | None = None
    for level in levels:
        result = level.copy() if result is None else np.where(np.isnan(result), level, result)
    if result is None:
        raise ValueError("there are no levels")
    return result


def scaled(values: Series, factors: BlockSeries) -> BlockSeries:
    """Return the number of each stage times the factors of its blocks."""
    return tuple(value * blocks for value, blocks in zip(values, factors, strict=True))


def while_in_service(values: BlockSeries, here: NDArray[np.bool_]) -> BlockSeries:
    """Return the numbers of all blocks, 0 in stages without the element."""
    return tuple(blocks * serves for blocks, serves in zip(values, here, strict=True))
