"""The backward pass: values of trial states, from the last step to the root, as cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Ints
from cobre.sddp._cuts import CutBatch, make_cuts
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Paths
from cobre.sddp._guards import CutOrigin, Guards

#: In place of a node, where a trajectory has ended before.
ENDED = -2


@dataclass(frozen=True, eq=False)
class Trials:
    """The nodes and outgoing states that all trajectories, of all ranks, have visited.

    Attributes:
        nodes: steps by trajectories. Step 0 is the beginning; `ENDED` after a trajectory's end.
        states: steps by trajectories by states.
    """

    nodes: Ints
    states: Floats


def trials_of(nodes: Ints, states: Floats) -> Trials:
    """Make trials of nodes and states as in `Paths`, of all trajectories."""
    shifted = np.full((nodes.shape[0] + 1, nodes.shape[1]), Engine.ROOT, np.int32)
    shifted[1:] = np.where(nodes < 0, ENDED, nodes)
    return Trials(shifted, states)


class BackwardPass:
    """One backward pass: cuts for all trial states, each rank making those of its own trajectories.

    Args:
        engine: the problem and its cuts.
        trials: of all trajectories.
        paths: of this rank's trajectories; the solves of its trial states begin where theirs ended.
        iteration: the number of this iteration.
        guards: checks of cuts before they are added.
    """

    def __init__(self, engine: Engine, trials: Trials, paths: Paths, iteration: int, guards: Guards) -> None:
        self._engine, self._trials, self._paths, self._iteration = engine, trials, paths, iteration
        self._guards = guards
        self._block = engine.block(trials.nodes.shape[1])
        #: The number of linear programmes for all ranks together.
        self.programmes = 0
        #: The number of cuts that were added.
        self.added = 0
        #: The number of cuts that were there already.
        self.repeated = 0
        #: Of these, the number that selection had left out.
        self.revived = 0

    def run(self) -> float:
        """Add cuts from the last step to the root; return the bound. A collective."""
        engine, bound = self._engine, np.nan
        for step in reversed(range(len(self._trials.nodes))):
            for node, distinct in self._distinct(step):
                children = engine.outcomes[node].children
                self.programmes += len(distinct) * sum(len(engine.solvers[child].tour) for child in children)
                batch = self._batch(node, step, distinct)
                batch, kept = self._guards.check(node, batch, self._origin(step, distinct))
                if node == Engine.ROOT:
                    bound = _value_at(batch.cuts[0, 0], engine.initial)
                else:
                    self._add(node, batch, kept)
        return bound

    def _add(self, node: int, batch: CutBatch, kept: NDArray[np.bool_]) -> None:
        pool, by_outcome = self._engine.pools[node], batch.weights.shape[1]
        before = len(pool.active)
        pool.add_mixtures(list(batch.weights) if by_outcome else [])
        families = np.arange(1, by_outcome + 1, dtype=np.int32) if by_outcome else np.zeros(1, np.int32)
        with self._engine.communicating():
            added = pool.add(batch.cuts[kept], np.broadcast_to(families, kept.shape)[kept], self._iteration)
        self.added += added
        self.repeated += int(np.sum(kept)) - added
        self.revived += len(pool.active) - before - added

    def _distinct(self, step: int) -> Iterator[tuple[int, list[int]]]:
        """The trial states of a step whose node has children: equal ones once, by their first trajectory."""
        groups: dict[int, dict[bytes, int]] = {}
        for trajectory, node in enumerate(self._trials.nodes[step].tolist()):
            if node != ENDED and self._engine.outcomes[node].children:
                key = self._trials.states[step, trajectory].tobytes()
                groups.setdefault(node, {}).setdefault(key, trajectory)
        for node in sorted(groups):
            yield node, list(groups[node].values())

    def _batch(self, node: int, step: int, distinct: list[int]) -> CutBatch:
        """The cuts at all distinct trial states, of all ranks, in their order."""
        engine, count = self._engine, self._trials.nodes.shape[1]
        states, values, slopes = self._outcomes(node, step, distinct)
        own = make_cuts(engine, node, states, values, slopes)
        mine = [trajectory - self._block.start for trajectory in distinct if trajectory in self._block]
        if step and mine:
            own = replace(own, expected=self._paths.expected[step - 1, mine])
        rows = own.packed()
        blocks = [engine.block(count, rank) for rank in range(engine.comm.size)]
        counts = [sum(trajectory in block for trajectory in distinct) * rows.shape[1] for block in blocks]
        whole = np.empty((len(distinct), rows.shape[1]))
        with engine.communicating():
            engine.comm.allgatherv(rows.reshape(-1), whole.reshape(-1), counts)
        return own.unpacked(self._trials.states[step, distinct], whole)

    def _origin(self, step: int, distinct: list[int]) -> CutOrigin:
        """For messages only: the iteration, and the states on arrival at the node."""
        return CutOrigin(self._iteration, self._trials.states[max(step - 1, 0), distinct])

    def _outcomes(
        self, node: int, step: int, distinct: list[int]
    ) -> tuple[Floats, Floats, NDArray[np.float64]]:
        """This rank's trial states among the distinct ones, and the values and slopes of their outcomes."""
        engine, paths, outcomes = self._engine, self._paths, self._engine.outcomes[node]
        own = np.array([trajectory for trajectory in distinct if trajectory in self._block], np.intp)
        mine = own - self._block.start
        states = np.ascontiguousarray(self._trials.states[step, own])
        values = np.zeros((len(own), len(outcomes.probabilities)))  # that of the end, if there is one, is 0
        slopes = np.zeros((*values.shape, engine.states))
        if not len(own):
            return states, values, slopes
        done = 0
        for child in outcomes.children:
            solver = engine.solvers[child]
            starts = np.full(len(own), engine.basis_slot(child), np.int32)
            firsts = np.full(len(own), -1, np.int32)
            if step < len(paths.nodes):
                # A trajectory that went on to this child solved it from this very state: its final basis is
                # optimal for that realisation, with which the solves therefore begin.
                went = np.flatnonzero(paths.nodes[step, mine] == child)
                starts[went] = paths.slots[step, mine[went]]
                rows = paths.realizations[step, mine[went]]
                firsts[went] = np.where(rows < len(solver.tour), rows, -1)
            end = done + len(solver.tour)
            with engine.naming_failures(child, states, solver.table):
                values[:, done:end], slopes[:, done:end] = solver.trial(
                    states, firsts, starts, iteration=self._iteration
                )
            done = end
        return states, values, slopes


def _value_at(cut: Floats, state: Floats) -> float:
    value = float(cut[0])
    for slope, x in zip(cut[1:].tolist(), state.tolist(), strict=True):
        value += slope * x
    return value
