"""The cuts of one node, once per machine.

Memory comes in blocks that all ranks of a machine share, so a cut is stored once per machine, whatever the
number of ranks and threads. Blocks are never moved: solvers refer to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from cobre import _lp
from cobre.comm import BackendCommunicator, SharedRegion
from cobre.lp import Floats, Ints, StageSolver

#: How many cuts the first block holds at least. Each further block doubles the memory.
FIRST_BLOCK = 64


class _Block(NamedTuple):
    region: SharedRegion
    readable: Floats
    writable: Floats


class CutPool:
    """Cuts: rows of an intercept and one slope per state. All ranks make the same calls in the same order."""

    def __init__(self, comm: BackendCommunicator, solver: StageSolver) -> None:
        self._comm = comm
        self._solver = solver
        self._numbers = solver.states + 1
        self._width = _lp.cut_width(solver.states)  # with zeros at the end
        self._open = ExitStack()
        self._blocks: list[_Block] = []
        #: Which value of what follows each cut bounds.
        self.families: Ints = np.empty(0, np.int32)
        #: The iteration that made each cut.
        self.born: Ints = np.empty(0, np.int32)
        #: Combinations of families that bound the first, for multi cut.
        self.mixtures: list[Floats] = []

    def __len__(self) -> int:
        """How many cuts there are, active or not."""
        return len(self.families)

    @property
    def active(self) -> Ints:
        """The cuts that solves look at, ascending."""
        return self._solver.native.active()

    def append(self, cuts: Floats, families: Ints, iteration: int) -> None:
        """Add cuts. A collective of the ranks that share the memory."""
        if not len(cuts):
            return
        self._reserve(len(self) + len(cuts))
        self._write(cuts)
        self.families = np.concatenate([self.families, families])
        self.born = np.concatenate([self.born, np.full(len(cuts), iteration, np.int32)])
        self._solver.native.extend_cuts(families)

    def add_mixtures(self, weights: Sequence[Floats]) -> None:
        """Add those combinations of families that are not there yet."""
        known = {mixture.tobytes() for mixture in self.mixtures}
        for mixture in weights:
            if mixture.tobytes() not in known:
                known.add(mixture.tobytes())
                self.mixtures.append(mixture.copy())
                self._solver.native.add_mixture(mixture)

    def rows(self, count: int | None = None) -> Floats:
        """Return a copy of the first cuts, of all unless a number is given."""
        count = len(self) if count is None else count
        parts = [block.readable[:, : self._numbers] for block in self._blocks]
        return np.concatenate([*parts, np.empty((0, self._numbers))])[:count]

    def close(self) -> None:
        """Give the memory back."""
        self._open.close()

    def _reserve(self, count: int) -> None:
        capacity = sum(len(block.readable) for block in self._blocks)
        if count <= capacity:
            return
        more = max(FIRST_BLOCK, capacity, count - capacity)
        region = self._open.enter_context(self._comm.create_shared_region(more * self._width, np.float64))
        shape = more, self._width
        self._blocks.append(
            _Block(region, region.as_array().reshape(shape), region.as_mut_array().reshape(shape))
        )
        self._solver.native.add_block(self._blocks[-1].readable)

    def _write(self, cuts: Floats) -> None:
        first, before = len(self), 0
        for block in self._blocks:
            begin, end = max(first - before, 0), min(first + len(cuts) - before, len(block.readable))
            if begin < end:
                if self._comm.is_leader:
                    part = cuts[begin + before - first : end + before - first]
                    block.writable[begin:end, : self._numbers] = part
                block.region.fence()
            before += len(block.readable)
