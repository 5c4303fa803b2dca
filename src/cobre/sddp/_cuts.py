"""The cuts of a node: batches of new ones, and the pool of all, which is stored once per machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cobre.comm import BackendCommunicator, SharedRegion
from cobre.lp import Floats, Ints, StageSolver, aggregate_cuts
from cobre.sddp.risk import Expectation

if TYPE_CHECKING:
    from cobre.sddp._engine import Engine

#: The least number of cuts in the first block of a pool. Each further block doubles the memory.
FIRST_BLOCK = 64


@dataclass(frozen=True, eq=False)
class CutBatch:
    """New cuts of one node, and what they were made of. All arrays have one element per trial state.

    Attributes:
        states: the trial states.
        cuts: trial states by cuts by an intercept and the slopes. One cut each, or one per outcome.
        values: trial states by cuts: the value that each cut bounds, as computed at the trial state.
        weights: trial states by outcomes, if cuts are by outcome: those of the outcomes in the total.
        totals: the value of all that follows.
        expected: the policy's estimate of that on the way forward, discounted; -inf if there was none.
    """

    states: Floats
    cuts: NDArray[np.float64]
    values: Floats
    weights: Floats
    totals: Floats
    expected: Floats

    @property
    def packed_width(self) -> int:
        """The numbers in a row of `packed`."""
        _, each, numbers = self.cuts.shape
        return int(each * (numbers + 1) + self.weights.shape[1] + 2)

    def packed(self) -> Floats:
        """Return all but the states, one row of numbers per trial state."""
        flat = self.cuts.reshape(len(self.cuts), self.cuts.shape[1] * self.cuts.shape[2])
        ends = np.column_stack([self.totals, self.expected])
        return np.concatenate([flat, self.values, self.weights, ends], axis=1)

    def unpacked(self, states: Floats, rows: Floats) -> Self:
        """Return what was `packed` in the same shape, for any number of states."""
        _, each, width = self.cuts.shape
        ends = np.cumsum([each * width, each, self.weights.shape[1], 1])
        flat, values, weights, totals, expected = np.split(rows, ends, axis=1)
        cuts = np.ascontiguousarray(flat).reshape(len(rows), each, width)
        return type(self)(states, cuts, values, weights, totals[:, 0], expected[:, 0])

    def replacing(self, which: NDArray[np.intp], others: CutBatch) -> CutBatch:
        """Return these with other cuts for some of the states; what was expected of them remains."""
        changed = {name: getattr(self, name).copy() for name in ("cuts", "values", "weights", "totals")}
        for name, array in changed.items():
            array[which] = getattr(others, name)
        return replace(self, **changed)


def make_cuts(
    engine: Engine, node: int, states: Floats, values: Floats, slopes: NDArray[np.float64]
) -> CutBatch:
    """Make cuts from the values and slopes of all outcomes, at trial states of a node."""
    by_outcome = node != engine.ROOT and engine.method.cuts == "multi"
    # The end, which comes last, needs no cut of its own: its value is 0.
    each = engine.outcomes[node].count if by_outcome else 1
    weights = _weights(engine, node, values)
    count, width = len(states), engine.states
    if by_outcome:
        cuts = aggregate_cuts(
            weights=np.ones((count * each, 1)),
            values=np.ascontiguousarray(values[:, :each]).reshape(-1, 1),
            slopes=np.ascontiguousarray(slopes[:, :each]).reshape(count * each, 1, width),
            states=np.repeat(states, each, axis=0),
        )
    else:
        cuts = aggregate_cuts(weights=weights, values=values, slopes=slopes, states=states)
    totals = np.sum(weights * values, axis=1)
    return CutBatch(
        states,
        cuts.reshape(count, each, width + 1),
        values[:, :each] if by_outcome else totals[:, None],
        weights[:, : each if by_outcome else 0],
        totals,
        np.full(count, -np.inf),
    )


def _weights(engine: Engine, node: int, values: Floats) -> Floats:
    measure, probabilities = engine.risks[node], engine.outcomes[node].probabilities
    if not len(values) or isinstance(measure, Expectation):  # values are finite, since each is proved
        return np.tile(probabilities, (len(values), 1))
    return np.ascontiguousarray(measure.weights(values, probabilities))


class _Block(NamedTuple):
    region: SharedRegion
    capacity: int


class CutPool:
    """All cuts of a node: an intercept and one slope per state, arranged as its solver reads them.

    Memory comes in blocks that all ranks of a machine share, so a cut is stored once per machine, whatever
    the number of ranks and threads. Blocks are never moved: solvers refer to them. All ranks make the same
    calls in the same order.
    """

    def __init__(self, comm: BackendCommunicator, solver: StageSolver) -> None:
        self._comm = comm
        self._solver = solver
        self._layout = solver.cut_layout
        self._open = ExitStack()
        self._blocks: list[_Block] = []
        #: Which value of what follows each cut bounds.
        self.families: Ints = np.empty(0, np.int32)
        #: The last iteration that made each cut.
        self.born: Ints = np.empty(0, np.int32)
        #: Combinations of families that bound the first, for multi cut.
        self.mixtures: list[Floats] = []

    def __len__(self) -> int:
        """Return the number of cuts, active or not."""
        return len(self.families)

    @property
    def active_count(self) -> int:
        """The number of cuts that solves consider."""
        return self._solver.native.active_count

    @property
    def active(self) -> Ints:
        """The cuts that solves consider, ascending."""
        return self._solver.native.active()

    def add(self, cuts: Floats, families: Ints, iteration: int) -> int:
        """Add cuts, but none that is there: that one is made young again. A collective, as `append`.

        Returns:
            How many were added.
        """
        new, known = self._solver.native.find_cuts(cuts, families)
        if known.size:
            self.born = self.born.copy()  # a snapshot may refer to it
            self.born[known] = iteration
            self._solver.native.activate(np.union1d(self.active, known))
        if len(new) < len(cuts):
            cuts, families = cuts[new], families[new]
        self.append(cuts, families, iteration)
        return len(new)

    def append(self, cuts: Floats, families: Ints, iteration: int) -> None:
        """Add cuts, whatever is there. A collective of the ranks that share the memory."""
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
        parts, left = [np.empty((0, self._solver.states + 1))], count
        for block in self._blocks:
            parts.append(self._layout.read(block.region.as_array(), 0, min(left, block.capacity)))
            left -= len(parts[-1])
        return np.concatenate(parts)

    def close(self) -> None:
        """Release the memory."""
        self._open.close()

    def _reserve(self, count: int) -> None:
        capacity = sum(block.capacity for block in self._blocks)
        if count <= capacity:
            return
        more = max(FIRST_BLOCK, capacity, count - capacity)
        size = more * self._layout.width
        region = self._open.enter_context(self._comm.create_shared_region(size, np.float64))
        self._blocks.append(_Block(region, more))
        self._solver.native.add_block(region.as_array())

    def _write(self, cuts: Floats) -> None:
        first, before = len(self), 0
        for block in self._blocks:
            begin, end = max(first - before, 0), min(first + len(cuts) - before, block.capacity)
            if begin < end:
                # All ranks have the same cuts. The leader alone writes them, so that no two processes write
                # to the same memory; the others must not read before the fence.
                if self._comm.is_leader:
                    part = cuts[begin + before - first : end + before - first]
                    self._layout.write(block.region.as_mut_array(), begin, part)
                block.region.fence()
            before += block.capacity
