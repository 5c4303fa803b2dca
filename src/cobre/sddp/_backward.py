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
from cobre.sddp._machine import Machine

#: In place of a node, where a trajectory has ended before.
ENDED = -2


@dataclass(frozen=True, eq=False)
class Trials:
    """The nodes and outgoing states that all trajectories, of all ranks, have visited.

    Attributes:
        nodes: steps by trajectories. Step 0 is the beginning; `ENDED` after a trajectory's end.
        realizations: likewise, at these nodes; -1 at the beginning and after the end.
        solvers: likewise, the trajectory whose solve this one shares, most often itself.
        states: steps by trajectories by states.
    """

    nodes: Ints
    realizations: Ints
    solvers: Ints
    states: Floats


def trials_of(visits: Ints, states: Floats) -> Trials:
    """Make trials of nodes, realisations and solvers, one after the other, and of states as in `Paths`."""
    shifted = np.full((3, visits.shape[1] + 1, visits.shape[2]), -1, np.int32)
    shifted[:, 1:] = visits
    nodes, realizations, solvers = shifted
    nodes[0], nodes[1:][visits[0] < 0] = Engine.ROOT, ENDED
    return Trials(nodes, realizations, solvers, states)


class _NodeTrials(NamedTuple):
    """The different trial states of a node at a step, each by its first trajectory."""

    node: int
    trajectories: list[int]


class BackwardPass:
    """One backward pass: cuts for all trial states, each rank making those of its own trajectories.

    Args:
        engine: the problem and its cuts.
        machine: the ranks that share the solves out among them.
        trials: of all trajectories; solves begin where those of their trajectories ended.
        paths: of this rank's trajectories.
        iteration: the number of this iteration.
        guards: checks of cuts before they are added.
    """

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        engine: Engine,
        machine: Machine,
        trials: Trials,
        paths: Paths,
        iteration: int,
        guards: Guards,
    ) -> None:
        self._engine, self._machine, self._guards = engine, machine, guards
        self._trials, self._paths, self._iteration = trials, paths, iteration
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
        self._machine.begin_pass()
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
        """The cuts at this rank's trial states of a step; all ranks of its machine help to solve them."""
        engine, block = self._engine, self._blocks[self._engine.comm.rank]
        shared = [self._machine.here(group.trajectories) for group in groups]
        solves = [self._trial(step, group.node, here) for group, here in zip(groups, shared, strict=True)]
        self._machine.solve(step, solves)
        cuts = []
        for group, here, batch in zip(groups, shared, solves, strict=True):
            own = _within(block, group)
            first = here.index(own[0] + block.start) if own else 0
            mine = slice(first, first + len(own))  # the trajectories of a rank come one after the other
            values, slopes = batch.solves.values[mine], batch.solves.slopes[mine]
            if engine.outcomes[group.node].ends:
                values[:, -1], slopes[:, -1] = 0.0, 0.0
            made = make_cuts(engine, group.node, batch.states[mine], values, slopes)
            if step and own:
                made.expected[:] = self._paths.expected[step - 1, own]
            cuts.append(made)
        return cuts

    def _trial(self, step: int, node: int, here: Sequence[int]) -> NodeBatch[TrialBatch]:
        """All that may follow the trial states of some trajectories at a node."""
        engine, trials, machine = self._engine, self._trials, self._machine
        stages, children = engine.next_stages[node], engine.outcomes[node].children
        went, firsts, starts = np.full((3, len(here)), -1, np.int32)
        if step + 1 < len(trials.nodes):
            # A trajectory that went on to a child solved it from this very state: its final basis is optimal
            # for that realisation, with which the solves there therefore begin.
            place = {child: i for i, child in enumerate(children)}
            for task, trajectory in enumerate(here):
                to = place.get(int(trials.nodes[step + 1, trajectory]), -1)
                if to < 0:
                    continue
                row = int(trials.realizations[step + 1, trajectory])
                went[task], firsts[task] = to, row if row < len(engine.solvers[children[to]].table) else -1
                starts[task] = machine.slot(int(trials.solvers[step + 1, trajectory]), step)
        states = trials.states[step, here]
        trial = stages.trial(
            states,
            went,
            firsts,
            starts,
            ends=machine.ends,
            out=machine.results(len(here), stages.outcomes),
            iteration=self._iteration,
        )
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
