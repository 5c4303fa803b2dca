"""Bounds by stage and block: an element's own, and those that a table puts in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cobre.inputs.files import CaseFiles
from cobre.inputs.models import InService
from cobre.inputs.tables import BLOCK, TableFile
from cobre.inputs.timeline import BlockSeries, Overrides, Series


@dataclass(frozen=True)
class BoundsTable:
    """A table of bounds by stage, and the numbers of an element where it has no row.

    Attributes:
        table: its first column has the elements' ids; with ``block_id``, rows may be of one block.
        own: an element's own numbers, by the names of the table's columns.
        pairs: lower and upper bounds, which must not cross.
    """

    table: TableFile
    own: Callable[[Any], dict[str, float]]
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def has_blocks(self) -> bool:
        """True if a row may be for a single block."""
        return BLOCK in self.table.columns

    def overrides(self, files: CaseFiles) -> Overrides:
        """Return the numbers of the table."""
        return files.overrides(self.table)

    def by_stage(self, files: CaseFiles, element: Any) -> dict[str, Series]:
        """Return the bounds of an element by the names of the columns, in service or not."""
        rows = self.overrides(files)
        return {column: rows.over(element.id, column, value) for column, value in self.own(element).items()}

    def in_service(self, files: CaseFiles, element: InService) -> dict[str, Series]:
        """Return the same, and 0 while the element is not in service."""
        here = files.timeline.in_service(element)
        return {column: np.where(here, row, 0.0) for column, row in self.by_stage(files, element).items()}

    def by_block(self, files: CaseFiles, element: Any) -> dict[str, BlockSeries]:
        """Return the bounds of an element by block, in service or not."""
        rows = self.overrides(files)
        return {name: rows.by_block(element.id, name, value) for name, value in self.own(element).items()}

    def crossed(self, files: CaseFiles, element: Any) -> Iterator[tuple[str, str, Series, Series]]:
        """Yield each pair with a lower bound above the upper one in some stage: names and numbers."""
        if not self.pairs:
            return
        stages = {} if self.has_blocks else self.by_stage(files, element)
        blocks = self.by_block(files, element) if self.has_blocks else {}
        for low, high in self.pairs:
            lower, upper = _worst(blocks[low], blocks[high]) if blocks else (stages[low], stages[high])
            if np.any(lower > upper):
                yield low, high, lower, upper


def _worst(lower: BlockSeries, upper: BlockSeries) -> tuple[Series, Series]:
    """By stage, the bounds of the block in which they cross most."""
    pairs = list(zip(lower, upper, strict=True))
    blocks = [int(np.argmax(low - high)) for low, high in pairs]
    found = [(low[k], high[k]) for (low, high), k in zip(pairs, blocks, strict=True)]
    return np.array([low for low, _ in found]), np.array([high for _, high in found])
