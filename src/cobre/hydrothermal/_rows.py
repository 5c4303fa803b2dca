"""The order of rows in a table of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cobre.sddp import Visit


class TableRows:
    """The rows of a table by trajectory, then in the order of visits, then by element and block.

    Args:
        visits: of whole trajectories.
        shapes: the number of elements and of blocks in each of them.
    """

    def __init__(self, visits: Sequence[Visit], shapes: Sequence[tuple[int, ...]]) -> None:
        numbers = [visit.trajectories for visit in visits]
        known, which = np.unique(np.concatenate(numbers), return_inverse=True)
        here = np.split(which, np.cumsum([len(some) for some in numbers])[:-1])
        ends = np.zeros(len(known), np.intp)
        everybody = np.arange(len(known))
        self._together = all(np.array_equal(some, everybody) for some in here)  # where stages just follow
        self._places: list[tuple[Any, Any]] = []
        for some, (elements, blocks) in zip(here, shapes, strict=True):
            self._places.append(self._place(some, ends[some], elements * blocks))
            ends[some] += elements * blocks
        self._shapes = [(len(some), *shape) for some, shape in zip(here, shapes, strict=True)]
        self._size = (len(known), int(ends.max(initial=0)))
        self._used = np.arange(self._size[1]) < ends[:, None]
        self.count = int(ends.sum())

    def column(self, dtype: DTypeLike, parts: Sequence[Any]) -> NDArray[Any]:
        """Return a column from the values in each visit, by trajectory, element and block or some of them."""
        column = np.empty(self._size, dtype)
        for place, shape, part in zip(self._places, self._shapes, parts, strict=True):
            if self._together:  # slices are views, into which values are copied several times faster
                column[place].reshape(shape)[...] = part
            else:
                column[place] = np.broadcast_to(part, shape).reshape(shape[0], -1)
        return column.reshape(-1) if self._together else column[self._used]

    def _place(self, which: NDArray[np.intp], begins: NDArray[np.intp], width: int) -> tuple[Any, Any]:
        """The place of the rows of a visit, in an array with a row for each trajectory."""
        if self._together:
            return slice(None), slice(begins[0], begins[0] + width)
        return which[:, None], begins[:, None] + np.arange(width)
