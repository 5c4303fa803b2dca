"""The backward pass: values of trial states, from the last step to the root, as cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Ints, TrialBatch
from cobre.sddp._cuts import CutBatch, make_cuts
from cobre.sddp._engine import Engine, NodeBatch
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


class _NodeTrials(NamedTuple):
    """The different trial states of a node at a step, each by its first trajectory."""

    node: int
    trajectories: list[int]


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
        count = trials.nodes.shape[1]
        self._blocks = [engine.block(count, rank) for rank in range(engine.comm.size)]
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
            groups = self._distinct(step)
            for group, made in zip(groups, self._cuts(step, groups), strict=True):
                self.programmes += len(group.trajectories) * engine.outcomes[group.node].count
                origin = self._origin(step, group.trajectories)
                batch, kept = self._guards.check(group.node, made, origin)
                if group.node == Engine.ROOT:
                    bound = _value_at(batch.cuts[0, 0], engine.initial)
                else:
                    self._add(group.node, batch, kept)
        return bound

    def _add(self, node: int, batch: CutBatch, kept: NDArray[np.bool_]) -> None:
        pool, by_outcome = self._engine.pools[node], batch.weights.shape[1]
        before = pool.active_count
        pool.add_mixtures(list(batch.weights) if by_outcome else [])
        families = np.zeros(kept.shape, np.int32)
        families[:] = np.arange(1, by_outcome + 1) if by_outcome else 0
        cuts, families = batch.cuts[kept], families[kept]
        with self._engine.communicating():
            added = pool.add(cuts, families, self._iteration)
        self.added += added
        self.repeated += len(cuts) - added
        self.revived += pool.active_count - before - added

    def _distinct(self, step: int) -> list[_NodeTrials]:
        """The trial states of a step whose nodes have children."""
        groups: dict[int, dict[bytes, int]] = {}
        for trajectory, node in enumerate(self._trials.nodes[step].tolist()):
            if node != ENDED and self._engine.outcomes[node].children:
                key = self._trials.states[step, trajectory].tobytes()
                groups.setdefault(node, {}).setdefault(key, trajectory)
        return [_NodeTrials(node, list(groups[node].values())) for node in sorted(groups)]

    def _cuts(self, step: int, groups: Sequence[_NodeTrials]) -> list[CutBatch]:
        """The cuts at the trial states of a step, of all ranks, in their order."""
        engine, comm = self._engine, self._engine.comm
        own = self._own_cuts(step, groups)
        states = [self._trials.states[step, group.trajectories] for group in groups]
        if comm.size == 1 or not groups:
            return own
        widths = [batch.packed_width for batch in own]
        shares = [[len(_within(block, group)) for group in groups] for block in self._blocks]
        counts = [sum(n * width for n, width in zip(share, widths, strict=True)) for share in shares]
        whole = np.empty(sum(counts))
        with engine.communicating():
            comm.allgatherv(np.concatenate([batch.packed().reshape(-1) for batch in own]), whole, counts)
        parts: list[list[Floats]] = [[] for _ in groups]
        done = 0
        for share in shares:
            for part, count, width in zip(parts, share, widths, strict=True):
                part.append(whole[done : done + count * width].reshape(count, width))
                done += count * width
        return [
            batch.unpacked(at, np.concatenate(part))
            for batch, at, part in zip(own, states, parts, strict=True)
        ]

    def _own_cuts(self, step: int, groups: Sequence[_NodeTrials]) -> list[CutBatch]:
        """The cuts at this rank's trial states of a step."""
        engine = self._engine
        mine = [np.array(_within(self._blocks[engine.comm.rank], group), np.intp) for group in groups]
        solves = [self._trial(step, group.node, own) for group, own in zip(groups, mine, strict=True)]
        engine.solve(solves)
        cuts = []
        for group, own, batch in zip(groups, mine, solves, strict=True):
            made = make_cuts(engine, group.node, batch.states, batch.solves.values, batch.solves.slopes)
            if step and len(own):
                made.expected[:] = self._paths.expected[step - 1, own]
            cuts.append(made)
        return cuts

    def _trial(self, step: int, node: int, own: NDArray[np.intp]) -> NodeBatch[TrialBatch]:
        """All that may follow this rank's trial states at a node."""
        engine, paths = self._engine, self._paths
        children = engine.outcomes[node].children
        went, firsts, starts = np.full((3, len(own)), -1, np.int32)
        if step < len(paths.nodes):
            # A trajectory that went on to a child solved it from this very state: its final basis is optimal
            # for that realisation, with which the solves there therefore begin.
            place = {child: i for i, child in enumerate(children)}
            went[:] = [place.get(child, -1) for child in paths.nodes[step, own].tolist()]
            rows = paths.realizations[step, own]
            firsts[:] = [
                row if to >= 0 and row < len(engine.solvers[children[to]].table) else -1
                for to, row in zip(went.tolist(), rows.tolist(), strict=True)
            ]
            starts[:] = paths.slots[step, own]
        states = np.ascontiguousarray(self._trials.states[step, own + self._blocks[engine.comm.rank].start])
        trial = engine.next_stages[node].trial(states, went, firsts, starts, iteration=self._iteration)
        return NodeBatch(trial, children, states)

    def _origin(self, step: int, distinct: list[int]) -> CutOrigin:
        """For messages only: the iteration, and the states on arrival at the node."""
        return CutOrigin(self._iteration, self._trials.states[max(step - 1, 0), distinct])


def _within(block: range, group: _NodeTrials) -> list[int]:
    """The trajectories of a group that are in a rank's block, by their numbers there."""
    return [trajectory - block.start for trajectory in group.trajectories if trajectory in block]


def _value_at(cut: Floats, state: Floats) -> float:
    value = float(cut[0])
    for slope, x in zip(cut[1:].tolist(), state.tolist(), strict=True):
        value += slope * x
    return value
