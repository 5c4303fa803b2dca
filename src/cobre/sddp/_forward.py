"""The forward pass: trajectories under the current policy, step by step in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre.lp import NO_PLACES, Floats, Ints, Steps
from cobre.sddp._engine import Engine
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
        slots: of the warm start that each solve left.
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


def walk(
    engine: Engine,
    sample: Sample,
    *,
    iteration: int = -1,
    wanted: Mapping[int, Wanted] | None = None,
    observe: Observer | None = None,
) -> Paths:
    """Follow a sample from the initial state.

    Solves that agree in node, realisation and state, as those of a first stage that is known, are done once.

    Args:
        engine: the problem and its cuts.
        sample: nodes and realisations.
        iteration: recorded for tight cuts, and warm starts are stored; -1 for neither.
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
    used = [1] * len(engine.solvers)  # slot 0 is the node's warm-start basis
    for step in range(steps):
        paths.states[step + 1] = paths.states[step]
        for number in np.unique(sample.nodes[step]):
            if number >= 0:
                here = np.flatnonzero(sample.nodes[step] == number)
                table = tables.get(number, engine.solvers[number].table)
                want = (wanted or {}).get(int(number), Wanted())
                result = _solve(engine, paths, int(number), step, here, table, want, iteration, used)
                if observe is not None:
                    observe(step, int(number), here, paths, result)
    return paths


def _solve(  # noqa: PLR0913, PLR0917  the body of walk's loop
    engine: Engine,
    paths: Paths,
    number: int,
    step: int,
    here: NDArray[np.intp],
    table: Floats,
    want: Wanted,
    iteration: int,
    used: list[int],
) -> Steps:
    solver = engine.solvers[number]
    states, rows = paths.states[step, here], paths.rows[step, here]
    first: dict[tuple[int, bytes], int] = {}  # of those that agree
    which = np.array(
        [first.setdefault((int(r), s.tobytes()), len(first)) for r, s in zip(rows, states, strict=True)]
    )
    unique = np.unique(which, return_index=True)[1]
    units = len(unique)
    starts = np.full(units, engine.basis_slot(number), np.int32)
    saves = np.full(units, -1, np.int32)
    if iteration >= 0:
        saves = np.arange(used[number], used[number] + units, dtype=np.int32)
        used[number] += units
        solver.native.resize_slots(used[number])
        paths.slots[step, here] = saves[which]
    incoming = np.ascontiguousarray(states[unique])
    with engine.naming_failures(number, incoming, table):
        result = solver.step(
            incoming,
            np.ascontiguousarray(rows[unique]),
            starts,
            saves,
            table=table,
            iteration=iteration,
            columns=want.columns,
            duals=want.duals,
        )
    result = Steps(*(part[which] for part in result))
    paths.costs[step, here] = result.costs
    paths.expected[step, here] = result.objectives - result.costs
    paths.states[step + 1, here] = result.outgoing
    return result
