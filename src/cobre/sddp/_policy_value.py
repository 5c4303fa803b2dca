"""The cost of the policy from a state on, through all that can happen: no true value is above it.

Totals of the backward pass are lower bounds of values: they rest on estimates of what comes later. To prove
that a number is too high for a value takes an upper bound, and following the policy gives one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, SolveFailure, StepBatch, solve
from cobre.sddp._engine import Engine

#: Sweeps over states that follow each other in a circle.
MOST_SWEEPS = 500
#: Changes up to this, relative, end the sweeps.
CONVERGED = 1e-10
#: In a cyclic graph, what counts for less than this share is not followed.
NEGLIGIBLE = 1e-4
#: In a cyclic graph, states further away than a walk goes: how much more may be missing from the policy's
#: estimates there than is missing at any state on the walk.
CAUTION = 10.0


class _Expansion(NamedTuple):
    """The outcomes after a state. The last, if all may end there, costs nothing."""

    costs: Floats
    estimates: Floats  # of what follows each outcome, discounted
    targets: NDArray[np.intp]  # the place each leads to; -1 if nothing follows
    discounts: Floats


@dataclass(eq=False)
class PolicyWalk:
    """The states to which the policy leads from one state, each once.

    Args:
        engine: with the policy in it.
        budget: the most programmes to solve.
    """

    engine: Engine
    budget: int
    #: Programmes solved.
    solved: int = 0
    #: Whether there was more to solve.
    exhausted: bool = False
    _nodes: list[int] = field(default_factory=list)
    _states: list[Floats] = field(default_factory=list)
    _estimates: list[float] = field(default_factory=list)
    _shares: list[float] = field(default_factory=list)
    _places: dict[tuple[int, bytes], int] = field(default_factory=dict)
    _expansions: list[_Expansion | None] = field(default_factory=list)

    def outcome_values(self, node: int, state: Floats) -> Floats | None:
        """Return a value of each outcome after a node: none is below the true one. None if that is too far.

        In a cyclic graph the walk may end before it has come to an end or to known states: what follows is
        then taken as the policy sees it, with an allowance for what it may not know.
        """
        self._place(node, state, np.nan, 1.0)
        frontier: list[int] = [0]
        while frontier and max(self._shares[place] for place in frontier) >= NEGLIGIBLE:
            cost = sum(self._count(place) for place in frontier)
            if self.solved + cost > self.budget:
                self.exhausted = True
                break
            try:
                frontier = self._expand(frontier)
            except SolveFailure:  # where no trajectory has been, there need not be a solution
                return None
        if self._expansions[0] is None or (frontier and not self.engine.problem.has_cycle):
            return None
        values = self._tail_values()
        return self._outcomes(self._expansions[0], values) if self._sweep(values) else None

    def _place(self, node: int, state: Floats, estimate: float, share: float) -> int:
        key = node, state.tobytes()
        if key not in self._places:
            self._places[key] = len(self._nodes)
            self._nodes.append(node)
            self._states.append(state)
            self._estimates.append(estimate)
            self._shares.append(share)
            self._expansions.append(None)
        return self._places[key]

    def _count(self, place: int) -> int:
        return self.engine.outcomes[self._nodes[place]].count

    def _expand(self, frontier: Sequence[int]) -> list[int]:
        """Solve the outcomes of some places; return the places that they lead to for the first time."""
        before = len(self._nodes)
        for node in sorted({self._nodes[place] for place in frontier}):
            self._expand_node(node, [place for place in frontier if self._nodes[place] == node])
        return list(range(before, len(self._nodes)))

    def _expand_node(self, node: int, places: Sequence[int]) -> None:
        engine, follows = self.engine, self.engine.outcomes[node]
        states = np.array([self._states[place] for place in places])
        width = len(follows.probabilities)
        costs, estimates = np.zeros((2, len(places), width))
        targets = np.full((len(places), width), -1, np.intp)
        discounts, done = np.zeros(width), 0
        batches = [self._openings(child, states) for child in follows.children]
        solve(engine.threads, batches)
        for child, steps in zip(follows.children, batches, strict=True):
            count = len(engine.solvers[child].table)
            self.solved += len(steps.costs)
            own = slice(done, done + count)
            costs[:, own] = steps.costs.reshape(-1, count)
            estimates[:, own] = (steps.objectives - steps.costs).reshape(-1, count)
            discounts[own] = engine.discounts[child]
            if engine.outcomes[child].children:
                seen = (steps.objectives - steps.costs) / engine.discounts[child]
                shares = np.repeat([self._shares[place] for place in places], count) * discounts[done]
                found = [
                    self._place(child, x, v, s)
                    for x, v, s in zip(steps.outgoing, seen.tolist(), shares.tolist(), strict=True)
                ]
                targets[:, own] = np.array(found).reshape(-1, count)
            done += count
        for i, place in enumerate(places):
            self._expansions[place] = _Expansion(costs[i], estimates[i], targets[i], discounts)

    def _openings(self, node: int, states: Floats) -> StepBatch:
        """Return the solves of all openings of a node for each state."""
        solver = self.engine.solvers[node]
        rows = np.tile(np.arange(len(solver.table), dtype=np.int32), len(states))
        return solver.step(np.repeat(states, len(solver.table), axis=0), rows)

    def _outcomes(self, expansion: _Expansion, values: Floats) -> Floats:
        later = np.where(expansion.targets >= 0, values[expansion.targets], 0.0)
        result: Floats = expansion.costs + expansion.discounts * later
        return result

    def total(self, node: int, outcomes: Floats) -> float:
        """Return the value of all outcomes after a node, as its risk measure has it."""
        probabilities = self.engine.outcomes[node].probabilities
        weights = self.engine.risks[node].weights(outcomes[None], probabilities)[0]
        return float(np.sum(weights * outcomes))

    def _tail_values(self) -> Floats:
        """The values of places that were not expanded, as the policy sees them, with the allowance."""
        estimates = np.array(self._estimates)
        missing = [
            self.total(self._nodes[place], expansion.costs + expansion.estimates) - estimates[place]
            for place, expansion in enumerate(self._expansions)
            if place and expansion is not None
        ]
        allowance = CAUTION * self.engine.depth * max([0.0, *missing])
        return np.where([expansion is None for expansion in self._expansions], estimates + allowance, 0.0)

    def _sweep(self, values: Floats) -> bool:
        """Compute the values of expanded places from the last to the first, until they stay as they are."""
        for _ in range(MOST_SWEEPS):
            change = 0.0
            for place in reversed(range(len(values))):
                if (expansion := self._expansions[place]) is not None:
                    value = self.total(self._nodes[place], self._outcomes(expansion, values))
                    change = max(change, abs(value - values[place]))
                    values[place] = value
            if change <= CONVERGED * float(np.max(np.abs(values))):
                return True
        return False
