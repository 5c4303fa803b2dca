"""The exchanges between ranks in an iteration: paths, warm-start bases, measurements, selected cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cobre.comm import BackendCommunicator, ReduceOp
from cobre.lp import Floats, Ints
from cobre.sddp._backward import Trials, trials_of
from cobre.sddp._engine import Engine, Statistics
from cobre.sddp._forward import Paths
from cobre.sddp.events import RankTimes
from cobre.sddp.selection import NodeCuts


class PathExchange:
    """The gathering of paths, iteration after iteration, through one buffer. A context manager."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        depth, states = engine.depth, engine.states
        self._width = (depth + 1) * states + 3 * depth + 1  # states, three numbers per step, the total cost
        counts = [
            len(engine.block(engine.method.trajectories, r)) * self._width for r in range(engine.comm.size)
        ]
        self._region = engine.comm.gather_region(counts, np.float64)

    def __enter__(self) -> PathExchange:
        return self

    def __exit__(self, *_: object) -> None:
        self._region.close()

    def gather(self, paths: Paths) -> tuple[Trials, Floats]:
        """Give all ranks this rank's paths; return the trial states and total costs of all. A collective."""
        engine, (steps, count) = self._engine, paths.nodes.shape
        depth, states = engine.depth, engine.states
        own = self._region.own.reshape(count, self._width)
        own[:] = 0.0
        own[:, : (steps + 1) * states] = paths.states.transpose(1, 0, 2).reshape(count, (steps + 1) * states)
        visits = own[:, (depth + 1) * states : -1].reshape(count, 3, depth)
        visits[:] = -1
        first = engine.block(engine.method.trajectories).start
        for i, numbers in enumerate((paths.nodes, paths.realizations, first + paths.slots // depth)):
            visits[:, i, :steps] = numbers.T
        own[:, -1] = paths.totals(engine)
        with engine.communicating():
            whole = self._region.publish().reshape(-1, self._width)
        all_states = (
            whole[:, : (depth + 1) * states].reshape(len(whole), depth + 1, states).transpose(1, 0, 2)
        )
        visits = whole[:, (depth + 1) * states : -1].reshape(len(whole), 3, depth).transpose(1, 2, 0)
        return trials_of(visits.astype(np.int32), all_states), whole[:, -1].copy()


def share_bases(engine: Engine, trials: Trials, paths: Paths, ends: Ints) -> None:
    """Make the final basis of one solve of each visited node its warm-start basis on all ranks. A collective.

    It is that of the first trajectory that came to the node, at its first visit: the bits of later solves
    depend on it, so the choice must not depend on the number of ranks. ``ends`` are this rank's.
    """
    comm, block = engine.comm, engine.block(trials.nodes.shape[1])
    nodes = trials.nodes[1:]
    owned: dict[int, Ints] = {}
    for node in np.unique(nodes[nodes >= 0]).tolist():
        visits = nodes == node
        trajectory = int(np.argmax(visits.any(axis=0)))
        if trajectory in block:
            slot = paths.slots[int(np.argmax(visits[:, trajectory])), trajectory - block.start]
            owned[node] = engine.solvers[node].native.start_in(ends[slot])
    lengths = np.zeros((comm.size, len(engine.solvers)), np.int64)
    own_lengths = np.array([len(owned.get(n, ())) for n in range(len(engine.solvers))], np.int64)
    with engine.communicating():
        comm.allgatherv(own_lengths, lengths.reshape(-1), [len(engine.solvers)] * comm.size)
    joined = np.empty(int(lengths.sum()), np.int32)
    own = np.concatenate([*(owned[node] for node in sorted(owned)), np.empty(0, np.int32)])
    with engine.communicating():
        comm.allgatherv(own, joined, lengths.sum(axis=1).tolist())
    done = 0
    for rank in range(comm.size):
        for node in np.flatnonzero(lengths[rank]).tolist():
            engine.set_basis(node, joined[done : done + lengths[rank, node]].copy())
            done += int(lengths[rank, node])


def share_measurements(engine: Engine, own: RankTimes) -> tuple[Statistics, tuple[RankTimes, ...]]:
    """Complete this rank's times; return the statistics of all ranks and the times of each. A collective.

    Communication, waiting and solving are what the engine has counted since the last call.
    """
    meetings = np.array(engine.take_meetings(), np.float64)
    shortest = np.empty_like(meetings)
    if meetings.size:
        engine.comm.allreduce(meetings, shortest, ReduceOp.MIN)
    statistics = engine.take_statistics()
    own = replace(
        own,
        communication_s=float(meetings.sum()),
        # The last rank to arrive waits for nobody: its time in a collective is that of the communication.
        waiting_s=float((meetings - shortest).sum()),
        solving_s=statistics.solving_s,
        solves=statistics.solves,
    )
    total, ranks = Statistics(), []
    for solving, times in gather_records(engine.comm, statistics, own):
        total.add(solving)
        ranks.append(times)
    return total, tuple(ranks)


def gather_records(comm: BackendCommunicator, *own: Any) -> Iterator[tuple[Any, ...]]:
    """Give every rank the records of all: dataclasses of integers and floats. A collective."""
    numbers = np.array([number for record in own for number in vars(record).values()], np.float64)
    whole = np.empty((comm.size, len(numbers)))
    comm.allgatherv(numbers, whole.reshape(-1), [len(numbers)] * comm.size)
    for row in whole.tolist():
        values = iter(row)
        yield tuple(
            type(record)(*(type(number)(next(values)) for number in vars(record).values())) for record in own
        )


class CutSelector:
    """Cut selection on all ranks: each looks at some nodes, and all end with the same active cuts."""

    def __init__(self, engine: Engine, *, keeps_states: bool = False) -> None:
        self._engine = engine
        self.selection = engine.method.selection
        self._keeps_states = keeps_states or (self.selection is not None and self.selection.needs_states)
        if self.selection is not None:
            for solver in engine.solvers:
                solver.native.set_activity_tolerance(self.selection.activity_tolerance)
        #: Per node, the last iteration in which each cut was tight on any rank.
        self.tight: list[Ints] = [np.empty(0, np.int32) for _ in engine.pools]
        #: Per node, the number of solves of trial states in which each cut was tight, on all ranks.
        self.uses: list[Ints] = [np.empty(0, np.int32) for _ in engine.pools]
        #: Per node, the trial states so far, if they are needed, or to be kept.
        self.visited: list[Floats] = [np.empty((0, engine.states)) for _ in engine.pools]

    def after(self, iteration: int, trials: Trials) -> None:
        """Record which cuts were tight in an iteration, and select if it is due. A collective."""
        if self._keeps_states:
            self._record_visits(trials)
        if self.selection is None:
            return
        self._share_tight()
        self._share_uses()
        if iteration % self.selection.every == 0 or self.selection.most is not None:
            self._select(iteration)

    def _share_tight(self) -> None:
        own = [solver.native.last_tight() for solver in self._engine.solvers]
        marks = np.concatenate(own)
        if marks.size:
            self._engine.comm.allreduce(marks, marks, ReduceOp.MAX)
        self.tight = np.split(marks, np.cumsum([len(part) for part in own])[:-1])

    def _share_uses(self) -> None:
        own = [solver.native.take_uses() for solver in self._engine.solvers]
        counts = np.concatenate(own)
        if counts.size:
            self._engine.comm.allreduce(counts, counts, ReduceOp.SUM)
        new = np.split(counts, np.cumsum([len(part) for part in own])[:-1])
        self.uses = [_extended(known, len(more)) + more for known, more in zip(self.uses, new, strict=True)]

    def _record_visits(self, trials: Trials) -> None:
        for node in range(len(self.visited)):
            new = trials.states[trials.nodes == node]
            self.visited[node] = np.unique(np.concatenate([self.visited[node], new]), axis=0)

    def _select(self, iteration: int) -> None:
        engine, comm = self._engine, self._engine.comm
        counts = [
            [engine.pools[n].active_count for n in engine.block(len(engine.pools), r)]
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
        if self.selection is None or not pool.active_count:
            return np.empty(0, np.bool_)
        cuts = NodeCuts(
            iteration,
            pool.born,
            self.tight[node],
            self.uses[node],
            pool.active,
            pool.families,
            pool.rows,
            self.visited[node],
        )
        return self.selection.mask(cuts)


def _extended(counts: Ints, length: int) -> Ints:
    """Counts of all cuts, 0 for those that are new."""
    return np.concatenate([counts, np.zeros(length - len(counts), np.int32)])
