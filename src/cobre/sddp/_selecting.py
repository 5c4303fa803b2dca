"""Selecting cuts together: every rank ends with the same ones."""

from __future__ import annotations

import numpy as np

from cobre.comm import ReduceOp
from cobre.lp import Floats, Ints
from cobre.sddp._backward import Trials
from cobre.sddp._engine import Engine
from cobre.sddp.selection import NodeCuts


class Selecting:
    """What selection remembers between iterations."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.selection = engine.method.selection
        #: Per node, the last iteration in which each cut was tight on any rank.
        self.tight: list[Ints] = [np.empty(0, np.int32) for _ in engine.pools]
        #: Per node, the trial states so far, if needed.
        self.visited: list[Floats] = [np.empty((0, engine.states)) for _ in engine.pools]

    def after(self, iteration: int, trials: Trials) -> None:
        """Take note of an iteration, and select if it is time. A collective."""
        if self.selection is None:
            return
        self._share_marks()
        if self.selection.needs_states:
            self._remember(trials)
        if iteration % self.selection.every == 0:
            self._select(iteration)

    def _share_marks(self) -> None:
        own = [solver.native.tight_in() for solver in self._engine.solvers]
        marks = np.concatenate(own)
        if marks.size:
            self._engine.comm.allreduce(marks, marks, ReduceOp.MAX)
        self.tight = np.split(marks, np.cumsum([len(part) for part in own])[:-1])

    def _remember(self, trials: Trials) -> None:
        for node in range(len(self.visited)):
            new = trials.states[trials.nodes == node]
            self.visited[node] = np.unique(np.concatenate([self.visited[node], new]), axis=0)

    def _select(self, iteration: int) -> None:
        """Each rank looks at some nodes and tells the others which of their cuts stay."""
        engine, comm = self._engine, self._engine.comm
        counts = [
            [len(engine.pools[n].active) for n in engine.block(len(engine.pools), r)]
            for r in range(comm.size)
        ]
        own = [self._keep(node, iteration) for node in engine.block(len(engine.pools))]
        keep = np.empty(sum(map(sum, counts)), np.bool_)
        comm.allgatherv(np.concatenate([*own, np.empty(0, np.bool_)]), keep, [sum(part) for part in counts])
        done = 0
        for pool, solver in zip(engine.pools, engine.solvers, strict=True):
            active = pool.active
            solver.native.activate(active[keep[done : done + len(active)]])
            done += len(active)

    def _keep(self, node: int, iteration: int) -> np.ndarray:
        pool = self._engine.pools[node]
        if self.selection is None or not len(pool.active):
            return np.empty(0, np.bool_)
        cuts = NodeCuts(
            iteration, pool.born, self.tight[node], pool.active, pool.families, pool.rows, self.visited[node]
        )
        return self.selection.keep(cuts)
