"""The order of cuts in the memory that the native solver reads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cobre.lp._program import Floats, Ints


class CutLayout:
    """A block of cuts as one matrix per kind of state: see ``native/core/lp/cuts.hpp``.

    Args:
        sections: where each matrix begins, in numbers per cut, and where the last one ends.
        places: of the intercept and of each slope among the numbers of a cut.

    >>> layout = CutLayout(np.array([0, 3, 5]), np.array([0, 3, 1]))
    >>> block = np.zeros(2 * layout.width)
    >>> layout.write(block, 1, np.array([[7.0, 8.0, 9.0]]))
    >>> block.tolist()
    [0.0, 0.0, 0.0, 7.0, 9.0, 0.0, 0.0, 0.0, 8.0, 0.0]
    >>> layout.read(block, 1, 2).tolist()
    [[7.0, 8.0, 9.0]]
    """

    def __init__(self, sections: Ints, places: Ints) -> None:
        #: Numbers per cut.
        self.width = int(sections[-1])
        self._numbers = len(places)
        self._sections = []
        for begin, end in pairwise(sections.tolist()):
            which = np.flatnonzero((begin <= places) & (places < end))
            self._sections.append((begin, end, which, places[which] - begin))

    def write(self, block: Floats, first: int, cuts: Floats) -> None:
        """Write cuts, each an intercept and slopes, into a block from its ``first`` on."""
        capacity = len(block) // self.width
        for begin, end, which, places in self._sections:
            matrix = block[begin * capacity : end * capacity].reshape(capacity, end - begin)
            matrix[first : first + len(cuts), places] = cuts[:, which]

    def read(self, block: Floats, first: int, end: int) -> Floats:
        """Return some cuts of a block."""
        capacity, cuts = len(block) // self.width, np.empty((end - first, self._numbers))
        for begin, stop, which, places in self._sections:
            matrix = block[begin * capacity : stop * capacity].reshape(capacity, stop - begin)
            cuts[:, which] = matrix[first:end, places]
        return cuts
