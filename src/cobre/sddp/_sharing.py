"""What ranks tell each other of their trajectories."""

from __future__ import annotations

import numpy as np

from cobre.lp import Floats, Ints
from cobre.sddp._backward import Trials, trials_of
from cobre.sddp._engine import Engine, Statistics
from cobre.sddp._forward import Paths
from cobre.sddp.events import RankTimes


class Sharing:
    """The gathering of paths, iteration after iteration, through one buffer. A context manager."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        depth, states = engine.depth, engine.states
        self._width = (depth + 1) * states + depth + 1  # states, nodes, the total cost
        counts = [
            len(engine.block(engine.method.trajectories, r)) * self._width for r in range(engine.comm.size)
        ]
        self._region = engine.comm.gather_region(counts, np.float64)

    def __enter__(self) -> Sharing:
        return self

    def __exit__(self, *_: object) -> None:
        self._region.close()

    def paths(self, paths: Paths) -> tuple[Trials, Floats]:
        """Give all ranks this rank's paths; return the trial states and total costs of all. A collective."""
        engine, (steps, count) = self._engine, paths.nodes.shape
        depth, states = engine.depth, engine.states
        own = self._region.own.reshape(count, self._width)
        own[:] = 0.0
        own[:, : (steps + 1) * states] = paths.states.transpose(1, 0, 2).reshape(count, (steps + 1) * states)
        nodes = own[:, (depth + 1) * states : -1]
        nodes[:] = -1
        nodes[:, :steps] = paths.nodes.T
        own[:, -1] = paths.totals(engine.discounts)
        with engine.communicating():
            whole = self._region.publish().reshape(-1, self._width)
        all_states = (
            whole[:, : (depth + 1) * states].reshape(len(whole), depth + 1, states).transpose(1, 0, 2)
        )
        all_nodes = whole[:, (depth + 1) * states : -1].T.astype(np.int32)
        return trials_of(all_nodes, all_states), whole[:, -1].copy()


def share_anchors(engine: Engine, trials: Trials, paths: Paths) -> None:
    """Make the end of one solve of each visited node the place where later solves begin. A collective.

    It is that of the first trajectory that came to the node, at its first visit.
    """
    comm, block = engine.comm, engine.block(trials.nodes.shape[1])
    nodes = trials.nodes[1:]
    owned: dict[int, Ints] = {}
    for node in np.unique(nodes[nodes >= 0]).tolist():
        visits = nodes == node
        trajectory = int(np.argmax(visits.any(axis=0)))
        if trajectory in block:
            slot = paths.slots[int(np.argmax(visits[:, trajectory])), trajectory - block.start]
            owned[node] = engine.solvers[node].native.get_slot(slot)
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
            engine.set_anchor(node, joined[done : done + lengths[rank, node]].copy())
            done += int(lengths[rank, node])


def share_times(
    engine: Engine, forward_s: float, backward_s: float, trajectories: int
) -> tuple[Statistics, tuple[RankTimes, ...]]:
    """Return what an iteration took, on all ranks together and on each. A collective."""
    solving = list(vars(engine.take_statistics()).values())
    own = np.array([*solving, forward_s, backward_s, trajectories, *engine.take_meetings()], np.float64)
    whole = np.empty((engine.comm.size, len(own)))
    engine.comm.allgatherv(own, whole.reshape(-1), [len(own)] * engine.comm.size)
    meetings = whole[:, 9:]
    # Whoever comes last waits for nobody: what a meeting took there is what it takes.
    together, waiting = meetings.sum(axis=1).tolist(), (meetings - meetings.min(axis=0)).sum(axis=1).tolist()
    total, ranks = Statistics(), []
    for rank, values in enumerate(whole[:, :9].tolist()):
        this = Statistics(*map(int, values[:4]), *values[4:6])
        total.add(this)
        forward, backward, count = values[6:]
        passes = (forward, backward, together[rank])
        ranks.append(RankTimes(rank, *passes, this.unit_s, this.solves, int(count), waiting[rank]))
    return total, tuple(ranks)
