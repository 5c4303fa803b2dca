"""What cannot be if all is right, looked for while training.

A cut that is too high stays too high, and so does the bound, in silence. Each of these follows from how cuts
are made, so that one that fails proves an error and is no matter of chance:

- At no trial state of a node is a cut above the value there, if both come from the same cuts of what follows.
- Nor is an older cut: later values come from more cuts. What the policy took for the value on the way forward
  is the highest of its cuts there, so this takes no more than a comparison.
- The bound does not fall.

Selection leaves out cuts that values rested on. Where one seems to fail, all cuts are looked at again.

Beside these the bound is compared with what trajectories cost, which is a matter of chance: see `judge_mean`.

That the values themselves are right is proved where they are computed, in ``native/core/lp/proof.cpp``.

A cut or a value that is suspected is computed once more, from scratch and by the general solver, by every
rank, so that all come to the same verdict. All numbers here are costs, as in `Engine`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre import _lp
from cobre.errors import BoundError
from cobre.estimates import Estimate
from cobre.lp import Floats, cut_heights
from cobre.sddp._cuts import Made, make
from cobre.sddp._engine import Engine
from cobre.sddp._graph import longest_path
from cobre.sddp.events import GuardTripped
from cobre.sddp.problem import ROOT
from cobre.sddp.risk import Expectation
from cobre.sddp.sampling import InSample

#: Differences up to this, relative to the numbers that they are of, are rounding. Solvers are about as exact
#: as 1e-8; what they are held to is 1e-5.
TOLERANCE = 1e-5
#: At how many other trial states of its round a cut is looked at.
REACH = 32
#: How many trajectories of the last iterations the bound is compared with, at least, and how many standard
#: errors above their mean it may be.
POOL = 300
DEVIATIONS = 6.0


class Where(NamedTuple):
    """Where cuts are made.

    Attributes:
        iteration: in which.
        arrivals: per trial state, the state on arrival at its node.
    """

    iteration: int
    arrivals: Floats


class Guards:
    """What looks at cuts and bounds. All ranks make the same calls, and come to the same verdicts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._units = [
            max((engine.solvers[child].unit for child in follows.children), default=1.0)
            for follows in engine.outcomes
        ]
        method, problem = engine.method, engine.problem
        #: Whether bound and trajectories are of the same expectation.
        self._comparable = (
            all(isinstance(measure, Expectation) for measure in engine.risks)
            and isinstance(method.sampling, InSample)
            and engine.depth == longest_path(problem)
        )
        self._above = False
        #: What was noticed and dealt with.
        self.noticed: list[GuardTripped] = []

    def judge(self, node: int, made: Made, where: Where) -> tuple[Made, NDArray[np.bool_]]:
        """Return cuts that can be added, and which of them may be.

        Raises:
            BoundError: a cut of the policy is above what can be.
        """
        most, at = self._excess(node, made)
        doubtful = ~(most <= TOLERANCE)
        lower = self._lower_than_expected(node, made)
        if not doubtful.any() and not lower.any():
            return made, ~doubtful
        if lower.any():
            self._judge_policy(node, made, where, np.flatnonzero(lower))
        suspects = np.unique([*np.nonzero(doubtful)[0], *at[doubtful]]).astype(np.intp)
        if self._engine.method.selection is None:  # otherwise they may have been right
            suspects = np.union1d(suspects, np.flatnonzero(lower))
        return self._reconsidered(node, made, suspects, where) if len(suspects) else (made, ~doubtful)

    def judge_bound(self, bound: float, best: float, iteration: int) -> None:
        """Compare a bound with the best one before it.

        Raises:
            BoundError: it is lower, even with all cuts that there ever were: the one before was too high.
        """
        engine = self._engine
        if not self._below(Engine.ROOT, bound, best):
            return
        found = float(self._again(Engine.ROOT, engine.initial[None]).totals[0])
        if self._below(Engine.ROOT, found, best):
            first = engine.outcomes[Engine.ROOT].children[0]
            saved = engine.save("bound", first, engine.initial)
            raise BoundError(iteration, ROOT, engine.sign * best, engine.sign * found, saved)
        if engine.method.selection is None:
            self._notice("value_corrected", iteration, Engine.ROOT, bound, found)

    def judge_mean(self, bound: float, estimates: Sequence[Estimate], iteration: int) -> None:
        """Compare the bound with what recent trajectories cost, if both are about the same thing.

        No policy is better than the bound, in the mean. A sample can be: it may have missed what is rare and
        dear. So this is told, and stops nothing.
        """
        recent = _pooled(estimates) if self._comparable else None
        if recent is None:
            return
        mean, error = self._engine.sign * recent.mean, recent.standard_deviation / math.sqrt(recent.count)
        above = self._below(Engine.ROOT, mean + DEVIATIONS * error, bound)
        if above and not self._above:  # once, while it lasts
            self._notice("bound_above", iteration, Engine.ROOT, bound, mean)
        self._above = above

    def _excess(self, node: int, made: Made) -> tuple[Floats, NDArray[np.int32]]:
        """By how much each cut is above the values of its round, relative, and at which state."""
        most = np.empty(made.values.shape)
        at = np.empty(made.values.shape, np.int32)
        _lp.largest_excess(
            made.cuts,
            np.ascontiguousarray(made.values),
            np.ascontiguousarray(made.states),
            self._units[node],
            REACH,
            most,
            at,
        )
        return most, at

    def _lower_than_expected(self, node: int, made: Made) -> NDArray[np.bool_]:
        if node == Engine.ROOT:
            return np.zeros(len(made.totals), bool)
        discount = self._engine.discounts[node]
        slack = TOLERANCE * (discount * (self._units[node] + np.abs(made.totals)) + np.abs(made.expected))
        lower: NDArray[np.bool_] = ~(made.expected <= discount * made.totals + slack)
        return lower

    def _below(self, node: int, value: float, other: float) -> bool:
        return not value >= other - TOLERANCE * (self._units[node] + abs(value) + abs(other))

    def _reconsidered(
        self, node: int, made: Made, suspects: NDArray[np.intp], where: Where
    ) -> tuple[Made, NDArray[np.bool_]]:
        """What becomes of cuts when those that are suspected are made again."""
        again = made.with_others(suspects, self._again(node, made.states[suspects]))
        most, at = self._excess(node, again)
        kept = most <= TOLERANCE
        for unit, cut in np.argwhere(~kept).tolist():
            claimed = _height(again.cuts[unit, cut], again.states[at[unit, cut]])
            self._notice("cut_rejected", where.iteration, node, claimed, again.values[at[unit, cut], cut])
        for unit in suspects[kept[suspects].all(axis=1)].tolist():
            self._notice("value_corrected", where.iteration, node, made.totals[unit], again.totals[unit])
        return again, kept

    def _judge_policy(self, node: int, made: Made, where: Where, units: NDArray[np.intp]) -> None:
        """Look for a cut that is above what can be where the policy expected more than it is worth."""
        engine, pool = self._engine, self._engine.pools[node]
        if engine.method.selection is not None:
            # Most often it was right to leave cuts out, and it takes no second opinion to see that.
            with_all = self._again(node, made.states[units], careful=False)
            units = units[self._lower_than_expected(node, replace(with_all, expected=made.expected[units]))]
        again = self._again(node, made.states[units])
        active = pool.active
        cuts = pool.rows()[active]
        values = again.values[:, np.maximum(pool.families[active] - 1, 0)]
        claimed = cut_heights(cuts, again.states)
        sizes = cut_heights(np.abs(cuts), np.abs(again.states)) + np.abs(values) + self._units[node]
        wrong = np.argwhere(~(claimed <= values + TOLERANCE * sizes))
        for unit, cut in wrong[:1].tolist():
            born = int(pool.born[active[cut]])
            saved = engine.save(f"cut_{active[cut]}", node, where.arrivals[units[unit]])
            raise BoundError(
                where.iteration,
                engine.problem.nodes[node].name,
                engine.sign * float(claimed[unit, cut]),
                engine.sign * float(values[unit, cut]),
                saved,
                int(active[cut]),
                born,
            )
        self._judge_value_bound(node, again, where, units)

    def _judge_value_bound(self, node: int, again: Made, where: Where, units: NDArray[np.intp]) -> None:
        """The value bound is a cut too: the first one, and as a rule not our own."""
        engine, bound = self._engine, float(self._engine.value_bounds[node])
        for unit, total in enumerate(again.totals.tolist()):
            if self._below(node, total, bound):
                saved = engine.save("value_bound", node, where.arrivals[units[unit]])
                name = engine.problem.nodes[node].name
                raise BoundError(where.iteration, name, engine.sign * bound, engine.sign * total, saved)

    def _again(self, node: int, states: Floats, *, careful: bool = True) -> Made:
        """Make cuts for some states anew; ``careful`` is from scratch, by the general solver.

        They rest on all cuts of what follows, also those that selection has left out since others were made.
        """
        engine, follows = self._engine, self._engine.outcomes[node]
        firsts = np.full(len(states), -1, np.int32)
        values = np.zeros((len(states), len(follows.probabilities)))
        slopes = np.zeros((*values.shape, engine.states))
        done, states = 0, np.ascontiguousarray(states)
        for child in follows.children:
            solver, pool = engine.solvers[child], engine.pools[child]
            active, end = pool.active, done + len(solver.tour)
            solver.native.activate(np.arange(len(pool), dtype=np.int32))
            starts = np.full(len(states), engine.anchor_slot(child), np.int32)
            with engine.naming_failures(child, states, solver.table):
                values[:, done:end], slopes[:, done:end] = solver.trial(
                    states, firsts, starts, careful=careful
                )
            solver.native.activate(active)
            done = end
        return make(engine, node, states, values, slopes)

    def _notice(self, kind: str, iteration: int, node: int, claimed: float, found: float) -> None:
        sign = self._engine.sign
        name = ROOT if node == Engine.ROOT else self._engine.problem.nodes[node].name
        self.noticed.append(GuardTripped(kind, iteration, name, sign * float(claimed), sign * float(found)))


def _pooled(estimates: Sequence[Estimate]) -> Estimate | None:
    """The sample of the last iterations that have enough trajectories together; None if there are too few.

    >>> _pooled([Estimate(mean=9.0, standard_deviation=0.0, count=200)] * 3)
    Estimate(mean=9.0, standard_deviation=0.0, count=400)
    """
    count, first = 0, len(estimates)
    while count < POOL and first:
        first -= 1
        count += estimates[first].count
    if count < POOL:
        return None
    parts = estimates[first:]
    mean = math.fsum(part.count * part.mean for part in parts) / count
    squares = math.fsum(
        (part.count - 1) * part.standard_deviation**2 + part.count * (part.mean - mean) ** 2 for part in parts
    )
    return Estimate(mean, math.sqrt(squares / (count - 1)), count)


def _height(cut: Floats, state: Floats) -> float:
    return float(cut_heights(cut[None], state[None])[0, 0])
