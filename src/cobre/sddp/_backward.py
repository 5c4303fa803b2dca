"""The way back: what each trial state is worth, from the last step to the beginning, as cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Ints
from cobre.sddp._cuts import Made, make
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Paths
from cobre.sddp._guards import Guards, Where

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
        guards: who looks at cuts before they are added.
    """

    def __init__(self, engine: Engine, trials: Trials, paths: Paths, iteration: int, guards: Guards) -> None:
        self._engine, self._trials, self._paths, self._iteration = engine, trials, paths, iteration
        self._guards = guards
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
                made, kept = self._guards.judge(node, self._made(node, step, units), self._where(step, units))
                if node == Engine.ROOT:
                    bound = _value_at(made.cuts[0, 0], engine.initial)
                else:
                    added += self._add(node, made, kept)
        return bound, added

    def _add(self, node: int, made: Made, kept: NDArray[np.bool_]) -> int:
        pool, by_outcome = self._engine.pools[node], made.weights.shape[1]
        pool.add_mixtures(list(made.weights) if by_outcome else [])
        families = np.arange(1, by_outcome + 1, dtype=np.int32) if by_outcome else np.zeros(1, np.int32)
        with self._engine.communicating():
            pool.append(made.cuts[kept], np.broadcast_to(families, kept.shape)[kept], self._iteration)
        return int(np.sum(kept))

    def _units(self, step: int) -> Iterator[tuple[int, list[int]]]:
        """The trial states of a step whose node has children: equal ones once, by their first trajectory."""
        groups: dict[int, dict[bytes, int]] = {}
        for trajectory, node in enumerate(self._trials.nodes[step].tolist()):
            if node != ENDED and self._engine.outcomes[node].children:
                key = self._trials.states[step, trajectory].tobytes()
                groups.setdefault(node, {}).setdefault(key, trajectory)
        for node in sorted(groups):
            yield node, list(groups[node].values())

    def _made(self, node: int, step: int, units: list[int]) -> Made:
        """The cuts of all units, of all ranks, in the order of units."""
        engine, count = self._engine, self._trials.nodes.shape[1]
        states, values, slopes = self._worth(node, step, units)
        own = make(engine, node, states, values, slopes)
        mine = [unit - self._block.start for unit in units if unit in self._block]
        if step and mine:
            own = replace(own, expected=self._paths.expected[step - 1, mine])
        rows = own.packed()
        blocks = [engine.block(count, rank) for rank in range(engine.comm.size)]
        counts = [sum(unit in block for unit in units) * rows.shape[1] for block in blocks]
        whole = np.empty((len(units), rows.shape[1]))
        with engine.communicating():
            engine.comm.allgatherv(rows.reshape(-1), whole.reshape(-1), counts)
        return own.unpacked(self._trials.states[step, units], whole)

    def _where(self, step: int, units: list[int]) -> Where:
        """For the record only: the iteration, and the states on arrival at the node."""
        return Where(self._iteration, self._trials.states[max(step - 1, 0), units])

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


def _value_at(cut: Floats, state: Floats) -> float:
    value = float(cut[0])
    for slope, x in zip(cut[1:].tolist(), state.tolist(), strict=True):
        value += slope * x
    return value
