"""The way back: what each trial state is worth, from the last step to the beginning, as cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre import _lp
from cobre.lp._program import Floats, Ints
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Paths

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
    """Cuts for all trial states. Each rank makes those of its own trajectories.

    Args:
        engine: the problem and its cuts.
        trials: of all trajectories.
        paths: of this rank's trajectories: where the solves of its trial states begin.
        iteration: the number of this iteration.
    """

    def __init__(self, engine: Engine, trials: Trials, paths: Paths, iteration: int) -> None:
        self._engine, self._trials, self._paths, self._iteration = engine, trials, paths, iteration
        self._block = engine.block(trials.nodes.shape[1])
        #: How many linear programmes all ranks together have to solve.
        self.programmes = 0

    def run(self) -> tuple[float, int]:
        """Go back over all steps, adding cuts; return the bound and the number of cuts. A collective."""
        engine, added, bound = self._engine, 0, np.nan
        for step in reversed(range(len(self._trials.nodes))):
            for node, units in self._units(step):
                children = engine.outcomes[node].children
                self.programmes += len(units) * sum(len(engine.solvers[child].tour) for child in children)
                if node == Engine.ROOT:
                    cuts, _ = self._gathered(units, *self._single_cuts(node, step, units))
                    bound = _value_at(cuts[0], engine.initial)
                else:
                    added += self._add_cuts(node, step, units)
        return bound, added

    def _add_cuts(self, node: int, step: int, units: list[int]) -> int:
        pool, outcomes = self._engine.pools[node], self._engine.families(node) - 1
        if outcomes:
            cuts, weights = self._gathered(units, *self._cuts_by_outcome(node, step, units))
            pool.add_mixtures(list(weights))
            cuts = cuts.reshape(-1, self._engine.states + 1)
            families = np.tile(np.arange(1, outcomes + 1, dtype=np.int32), len(units))
        else:
            cuts, _ = self._gathered(units, *self._single_cuts(node, step, units))
            families = np.zeros(len(cuts), np.int32)
        with self._engine.communicating():
            pool.append(cuts, families, self._iteration)
        return len(cuts)

    def _units(self, step: int) -> Iterator[tuple[int, list[int]]]:
        """The trial states of a step whose node has children: equal ones once, by their first trajectory."""
        groups: dict[int, dict[bytes, int]] = {}
        for trajectory, node in enumerate(self._trials.nodes[step].tolist()):
            if node != ENDED and self._engine.outcomes[node].children:
                key = self._trials.states[step, trajectory].tobytes()
                groups.setdefault(node, {}).setdefault(key, trajectory)
        for node in sorted(groups):
            yield node, list(groups[node].values())

    def _single_cuts(self, node: int, step: int, units: list[int]) -> tuple[Floats, Floats]:
        states, values, slopes = self._worth(node, step, units)
        cuts = np.empty((len(states), self._engine.states + 1))
        _lp.aggregate(self._weights(node, values), values, slopes, states, cuts)
        return cuts, np.empty((len(states), 0))

    def _cuts_by_outcome(self, node: int, step: int, units: list[int]) -> tuple[Floats, Floats]:
        states, values, slopes = self._worth(node, step, units)
        each = self._engine.families(node) - 1  # the end needs no cut: it is worth nothing
        cuts = np.empty((len(states) * each, self._engine.states + 1))
        _lp.aggregate(
            np.ones((len(cuts), 1)),
            np.ascontiguousarray(values[:, :each]).reshape(-1, 1),
            np.ascontiguousarray(slopes[:, :each]).reshape(len(states) * each, 1, self._engine.states),
            np.repeat(states, each, axis=0),
            cuts,
        )
        return cuts.reshape(len(states), each * (self._engine.states + 1)), self._weights(node, values)[
            :, :each
        ]

    def _worth(self, node: int, step: int, units: list[int]) -> tuple[Floats, Floats, NDArray[np.float64]]:
        """This rank's trial states among the units, and the values and slopes of all that may follow."""
        engine, paths, outcomes = self._engine, self._paths, self._engine.outcomes[node]
        own = np.array([unit for unit in units if unit in self._block], np.intp)
        mine = own - self._block.start
        states = np.ascontiguousarray(self._trials.states[step, own])
        values = np.zeros(
            (len(own), len(outcomes.probabilities))
        )  # the end, if there is one, is worth nothing
        slopes = np.zeros((*values.shape, engine.states))
        if not len(own):
            return states, values, slopes
        done = 0
        for child in outcomes.children:
            solver = engine.solvers[child]
            starts = np.full(len(own), engine.anchor_slot(child), np.int32)
            firsts = np.full(len(own), -1, np.int32)
            if step < len(paths.nodes):
                # Where the trajectory itself went on to this child, that solve's end is a good beginning.
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

    def _weights(self, node: int, values: Floats) -> Floats:
        if not len(values):
            return np.empty_like(values)
        weights = self._engine.risks[node].weights(values, self._engine.outcomes[node].probabilities)
        return np.ascontiguousarray(weights)

    def _gathered(self, units: list[int], cuts: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """The cuts and weights of all ranks' units, in the order of units."""
        comm = self._engine.comm
        blocks = [self._engine.block(self._trials.nodes.shape[1], rank) for rank in range(comm.size)]
        width = cuts.shape[1] + weights.shape[1]
        counts = [sum(unit in block for unit in units) * width for block in blocks]
        whole = np.empty((len(units), width))
        own = np.ascontiguousarray(np.concatenate([cuts, weights], axis=1))
        with self._engine.communicating():
            comm.allgatherv(own.reshape(-1), whole.reshape(-1), counts)
        return whole[:, : cuts.shape[1]], whole[:, cuts.shape[1] :]


def _value_at(cut: Floats, state: Floats) -> float:
    value = float(cut[0])
    for slope, x in zip(cut[1:].tolist(), state.tolist(), strict=True):
        value += slope * x
    return value
