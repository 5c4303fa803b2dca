"""Memory of the ranks of one machine, through which they share out the solves of a backward pass.

Each rank computes its own trajectories forward. Backward, a unit of work is a trial state with a block of the
openings of one node. It depends on nothing but what all ranks of the machine have, so whoever is free takes
the next one, and the bits are the same. Where ranks share no memory, each is a machine of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Ints, TrialBatch
from cobre.sddp._engine import Engine, NodeBatch


class Machine:
    """Memory that the ranks of a machine share in an iteration. A context manager.

    All ranks make the same calls in the same order.
    """

    def __init__(self, engine: Engine) -> None:
        comm, count = engine.comm, engine.method.trajectories
        blocks = [engine.block(count, rank) for rank in _members(engine)]
        self._engine = engine
        self._places = {
            trajectory: place
            for place, trajectory in enumerate(trajectory for block in blocks for trajectory in block)
        }
        self._open = ExitStack()
        self._passes = self._taken = 0
        outcomes = max(follows.outcomes for follows in engine.next_stages)
        size = max(solver.native.slot_size for solver in engine.solvers)
        # For all trajectories, although a machine may have some of them only: memory that is never written is
        # never taken, and all ranks must ask for the same.
        results = self._open.enter_context(
            comm.create_shared_region(count * outcomes * (1 + engine.states), np.float64)
        )
        ends = self._open.enter_context(comm.create_shared_region(count * engine.depth * size, np.int32))
        counters = self._open.enter_context(comm.create_shared_region(2 * (engine.depth + 1), np.int64))
        self._ends_fence, self._results_fence = ends.fence, results.fence
        self._results: Floats = results.as_mut_array()
        #: Slots for the ends of solves, for each trajectory of this machine one per step.
        self.ends: Ints = ends.as_mut_array().reshape(count * engine.depth, size)
        self._counters: NDArray[np.int64] = counters.as_mut_array().reshape(2, engine.depth + 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def own_ends(self) -> Ints:
        """The slots of this rank's trajectories."""
        own, depth = self._engine.block(self._engine.method.trajectories), self._engine.depth
        first = self._places[own.start] if own else 0
        return self.ends[first * depth : (first + len(own)) * depth]

    def slot(self, trajectory: int, step: int) -> int:
        """Return the slot for the end of a solve of a trajectory of this machine."""
        return self._places[trajectory] * self._engine.depth + step

    def here(self, trajectories: Sequence[int]) -> list[int]:
        """Return those of some trajectories that belong to this machine."""
        return [trajectory for trajectory in trajectories if trajectory in self._places]

    def begin_pass(self) -> None:
        """Begin a backward pass: the ends of all solves forward can be read from here on. A collective."""
        with self._engine.communicating():
            self._ends_fence()
        self._passes += 1
        if self._engine.comm.is_leader:  # nobody counts by these until the next pass
            self._counters[(self._passes + 1) % 2] = 0

    def results(self, tasks: int, outcomes: int) -> tuple[Floats, NDArray[np.float64]]:
        """Return memory for the values and slopes of a batch, side by side with those of the same step."""
        states = self._engine.states
        ends = self._taken + np.cumsum([tasks * outcomes, tasks * outcomes * states])
        values, slopes = np.split(self._results[self._taken : ends[1]], [tasks * outcomes])
        self._taken = int(ends[1])
        return values.reshape(tasks, outcomes), slopes.reshape(tasks, outcomes, states)

    def solve(self, step: int, batches: Sequence[NodeBatch[TrialBatch]]) -> None:
        """Solve batches that all ranks of the machine give alike; all then read all results. A collective."""
        self._engine.solve(batches, self._counters[self._passes % 2, step : step + 1])
        self._taken = 0
        with self._engine.communicating():
            self._results_fence()


def _members(engine: Engine) -> list[int]:
    """The ranks that share memory with this one, ascending. A collective."""
    with engine.comm.split_local() as local:
        members = np.empty(local.size, np.int64)
        local.allgatherv(np.array([engine.comm.rank]), members, [1] * local.size)
    return sorted(members.tolist())
