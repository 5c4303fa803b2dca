"""The forward pass: trajectories under the current policy, step by step in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cobre.lp import NO_PLACES, NO_SLOTS, Floats, Ints, StepBatch, Steps
from cobre.sddp._engine import Engine, NodeBatch
from cobre.sddp.sampling import Sample


@dataclass(eq=False)
class Paths:
    """The record of a forward pass. Steps by trajectories, in all arrays.

    Attributes:
        nodes: -1 after a trajectory's end.
        rows: realisations, in the sample's tables.
        realizations: their numbers in results.
        states: on arrival at each step, and, one more, at the end.
        costs: of each step, not discounted.
        slots: of the end that each solve has left; -1 if none were to be kept.
        expected: the policy's estimate of the value of what follows, discounted.
    """

    nodes: Ints
    rows: Ints
    realizations: Ints
    states: Floats
    costs: Floats
    slots: Ints
    expected: Floats

    def totals(self, engine: Engine) -> Floats:
        """Return the discounted cost of each trajectory, summed in the order of steps.

        Where one is cut off, the policy's estimate of what would follow counts, too: without it, costs would
        be those of a shorter study than the bound's.
        """
        total = np.zeros(self.nodes.shape[1])
        factor = np.ones(self.nodes.shape[1])
        for step, (nodes, costs) in enumerate(zip(self.nodes, self.costs, strict=True), 1):
            going = nodes >= 0
            total[going] += factor[going] * costs[going]
            if step == engine.depth:
                going &= engine.has_children[nodes]
                total[going] += factor[going] * self.expected[-1, going]
            factor[going] *= engine.discounts[nodes[going]]
        return total


@dataclass(frozen=True)
class Wanted:
    """The columns and rows of a node whose values and duals to read."""

    columns: Ints = field(default_factory=lambda: NO_PLACES)
    duals: Ints = field(default_factory=lambda: NO_PLACES)


#: Called with a step, a node, the trajectories that are there, all paths so far, and the solutions.
Observer = Callable[[int, int, NDArray[np.intp], Paths, Steps], None]


def walk(  # noqa: PLR0913
    engine: Engine,
    sample: Sample,
    *,
    iteration: int = -1,
    ends: Ints = NO_SLOTS,
    wanted: Mapping[int, Wanted] | None = None,
    observe: Observer | None = None,
) -> Paths:
    """Follow a sample from the initial state.

    Solves that agree in node, realisation and state, as those of a first stage that is known, are done once.

    Args:
        engine: the problem and its cuts.
        sample: nodes and realisations.
        iteration: recorded for tight cuts; -1 for not.
        ends: slots for the ends of all solves, one per step for each trajectory; none if they are not kept.
        wanted: columns and duals to read, by node.
        observe: called after each step with its solutions.
    """
    steps, count = sample.nodes.shape
    paths = Paths(
        sample.nodes,
        sample.rows,
        sample.realizations,
        np.zeros((steps + 1, count, engine.states)),
        np.zeros((steps, count)),
        np.full((steps, count), -1, np.int32),
        np.zeros((steps, count)),
    )
    paths.states[0] = engine.initial
    tables = {number: engine.solvers[number].costs_of(table) for number, table in sample.tables.items()}
    for step in range(steps):
        paths.states[step + 1] = paths.states[step]
        visits = [
            _Visits.planned(engine, paths, step, number)
            for number in np.unique(sample.nodes[step]).tolist()
            if number >= 0
        ]
        batches = [
            visit.batch(engine, tables, (wanted or {}).get(visit.node, Wanted()), iteration, ends)
            for visit in visits
        ]
        engine.solve(batches)
        for visit, batch in zip(visits, batches, strict=True):
            result = Steps.of(batch.solves, visit.which)
            paths.costs[step, visit.here] = result.costs
            paths.expected[step, visit.here] = result.objectives - result.costs
            paths.states[step + 1, visit.here] = result.outgoing
            if observe is not None:
                observe(step, visit.node, visit.here, paths, result)
    return paths


@dataclass(frozen=True, eq=False)
class _Visits:
    """The trajectories that are at one node at one step, and those of their solves that differ.

    Attributes:
        node: its number.
        here: the trajectories.
        which: of the solves, by trajectory.
        states: of each solve.
        rows: likewise, the realisation.
        saves: likewise, the slot for its end.
    """

    node: int
    here: NDArray[np.intp]
    which: NDArray[np.intp]
    states: Floats
    rows: Ints
    saves: Ints

    @classmethod
    def planned(cls, engine: Engine, paths: Paths, step: int, node: int) -> Self:
        """Plan the solves of a node."""
        here = np.flatnonzero(paths.nodes[step] == node)
        states, rows = paths.states[step, here], paths.rows[step, here]
        first: dict[tuple[int, bytes], int] = {}  # of those that agree
        keys = zip(rows.tolist(), (state.tobytes() for state in states), strict=True)
        which = np.array([first.setdefault(key, len(first)) for key in keys])
        unique = np.unique(which, return_index=True)[1] if len(first) < len(here) else slice(None)
        saves = (here[unique] * engine.depth + step).astype(np.int32)
        paths.slots[step, here] = saves[which]
        return cls(node, here, which, states[unique], rows[unique], saves)

    def batch(
        self, engine: Engine, tables: Mapping[int, Floats], want: Wanted, iteration: int, ends: Ints
    ) -> NodeBatch[StepBatch]:
        """Return the solves."""
        table = tables.get(self.node)
        solves = engine.solvers[self.node].step(
            self.states,
            self.rows,
            table=table,
            saves=self.saves if len(ends) else None,
            ends=ends,
            iteration=iteration,
            columns=want.columns,
            duals=want.duals,
        )
        return NodeBatch(solves, [self.node], self.states, table)
