"""Guards against invalid cuts and bounds while training.

A cut that is too high stays too high, and so does the bound, silently. Each check follows from how cuts are
made, so that a failure proves an error and is no matter of chance:

- At no trial state of a node is a cut above the value there, if both come from the same cuts of what follows.
- Nor is an older cut: later values come from more cuts. The policy's estimate of the value on the way forward
  is the highest of its cuts there, so this takes no more than a comparison.
- The bound does not fall.

Selection leaves out cuts that values rested on. Where a check seems to fail, all cuts are considered again.

Besides, the bound is compared with the costs of trajectories, which is a matter of chance: see `check_mean`.

That the values themselves are right is proved where they are computed, in ``native/core/lp/proof.cpp``.

A suspicious cut or value is computed once more, from scratch and by the general solver, by every rank, so
that all come to the same verdict. All numbers here are costs, as in `Engine`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.errors import BoundError
from cobre.estimates import Estimate
from cobre.lp import Floats, cut_heights, largest_excess
from cobre.sddp._cuts import CutBatch, make_cuts
from cobre.sddp._engine import Engine
from cobre.sddp._graph import longest_path
from cobre.sddp.events import GuardTripped
from cobre.sddp.problem import ROOT
from cobre.sddp.risk import Expectation
from cobre.sddp.sampling import InSample

#: Relative differences up to this are rounding. Solvers are exact to about 1e-8, and held to 1e-5.
TOLERANCE = 1e-5
#: The number of other trial states of its batch at which a cut is checked.
REACH = 32
#: The bound is compared with the mean of at least this many trajectories of the last iterations, and may be
#: above it by this many standard errors. Fewer of either would raise false alarms in long trainings.
MIN_SAMPLE = 300
DEVIATIONS = 6.0


class CutOrigin(NamedTuple):
    """The origin of a batch of cuts, for messages.

    Attributes:
        iteration: the iteration that made them.
        arrivals: per trial state, the state on arrival at its node.
    """

    iteration: int
    arrivals: Floats


class Guards:
    """The checks of a training. All ranks make the same calls, and come to the same verdicts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cost_units = [
            max((engine.solvers[child].cost_unit for child in follows.children), default=1.0)
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
        #: The events of guards that tripped.
        self.noticed: list[GuardTripped] = []

    def check(self, node: int, batch: CutBatch, origin: CutOrigin) -> tuple[CutBatch, NDArray[np.bool_]]:
        """Return cuts that can be added, and which of them may be.

        Raises:
            BoundError: a cut of the policy is invalid.
        """
        most, at = self._excess(node, batch)
        doubtful = ~(most <= TOLERANCE)
        lower = self._below_expected(node, batch)
        if not doubtful.any() and not lower.any():
            return batch, ~doubtful
        if lower.any():
            self._check_policy(node, batch, origin, np.flatnonzero(lower))
        suspects = np.unique([*np.nonzero(doubtful)[0], *at[doubtful]]).astype(np.intp)
        if self._engine.method.selection is None:  # otherwise they may have been right
            suspects = np.union1d(suspects, np.flatnonzero(lower))
        return self._remade(node, batch, suspects, origin) if len(suspects) else (batch, ~doubtful)

    def check_bound(self, bound: float, best: float, iteration: int) -> None:
        """Compare a bound with the best one before it.

        Raises:
            BoundError: it is lower, even with all cuts that there ever were: the one before was too high.
        """
        engine = self._engine
        if not self._below(Engine.ROOT, bound, best):
            return
        found = float(self._recomputed(Engine.ROOT, engine.initial[None]).totals[0])
        if self._below(Engine.ROOT, found, best):
            first = engine.outcomes[Engine.ROOT].children[0]
            saved = engine.save("bound", first, engine.initial)
            raise BoundError(iteration, ROOT, engine.sign * best, engine.sign * found, saved)
        if engine.method.selection is None:
            self._notice("value_corrected", iteration, Engine.ROOT, bound, found)

    def check_mean(self, bound: float, estimates: Sequence[Estimate], iteration: int) -> None:
        """Compare the bound with the mean cost of recent trajectories, if both are of the same expectation.

        No policy is better than the bound, in the mean. A sample can be: it may have missed rare, expensive
        scenarios. So this is reported, and stops nothing.
        """
        recent = _pooled(estimates) if self._comparable else None
        if recent is None:
            return
        mean, error = self._engine.sign * recent.mean, recent.standard_deviation / math.sqrt(recent.count)
        above = self._below(Engine.ROOT, mean + DEVIATIONS * error, bound)
        if above and not self._above:  # once, while it lasts
            self._notice("bound_above", iteration, Engine.ROOT, bound, mean)
        self._above = above

    def _excess(self, node: int, batch: CutBatch) -> tuple[Floats, NDArray[np.int32]]:
        """Return how far each cut is above the values of its batch, relative, and at which trial state."""
        return largest_excess(
            cuts=batch.cuts,
            values=np.ascontiguousarray(batch.values),
            states=np.ascontiguousarray(batch.states),
            cost_unit=self._cost_units[node],
            reach=REACH,
        )

    def _below_expected(self, node: int, batch: CutBatch) -> NDArray[np.bool_]:
        if node == Engine.ROOT:
            return np.zeros(len(batch.totals), bool)
        discount = self._engine.discounts[node]
        sizes = discount * (self._cost_units[node] + np.abs(batch.totals)) + np.abs(batch.expected)
        lower: NDArray[np.bool_] = ~(batch.expected <= discount * batch.totals + TOLERANCE * sizes)
        return lower

    def _below(self, node: int, value: float, other: float) -> bool:
        # Written so that NaN is below everything: a number that is none must not pass.
        return not value >= other - TOLERANCE * (self._cost_units[node] + abs(value) + abs(other))

    def _remade(
        self, node: int, batch: CutBatch, suspects: NDArray[np.intp], origin: CutOrigin
    ) -> tuple[CutBatch, NDArray[np.bool_]]:
        """Return the batch with suspicious cuts made again, and which of its cuts may be added."""
        again = batch.replacing(suspects, self._recomputed(node, batch.states[suspects]))
        most, at = self._excess(node, again)
        kept = most <= TOLERANCE
        for trial, cut in np.argwhere(~kept).tolist():
            claimed = _height(again.cuts[trial, cut], again.states[at[trial, cut]])
            self._notice("cut_rejected", origin.iteration, node, claimed, again.values[at[trial, cut], cut])
        for trial in suspects[kept[suspects].all(axis=1)].tolist():
            self._notice("value_corrected", origin.iteration, node, batch.totals[trial], again.totals[trial])
        return again, kept

    def _check_policy(self, node: int, batch: CutBatch, origin: CutOrigin, trials: NDArray[np.intp]) -> None:
        """Look for an invalid cut of the policy at trial states whose values are below its estimates."""
        engine, pool = self._engine, self._engine.pools[node]
        if engine.method.selection is not None:
            # Most often it was right to leave cuts out, and it takes no second opinion to see that.
            with_all = self._recomputed(node, batch.states[trials], second_opinion=False)
            trials = trials[self._below_expected(node, replace(with_all, expected=batch.expected[trials]))]
        again = self._recomputed(node, batch.states[trials])
        active = pool.active
        cuts = pool.rows()[active]
        values = again.values[:, np.maximum(pool.families[active] - 1, 0)]
        claimed = cut_heights(cuts, again.states)
        sizes = cut_heights(np.abs(cuts), np.abs(again.states)) + np.abs(values) + self._cost_units[node]
        wrong = np.argwhere(~(claimed <= values + TOLERANCE * sizes))
        for trial, cut in wrong[:1].tolist():
            born = int(pool.born[active[cut]])
            saved = engine.save(f"cut_{active[cut]}", node, origin.arrivals[trials[trial]])
            raise BoundError(
                origin.iteration,
                engine.problem.nodes[node].name,
                engine.sign * float(claimed[trial, cut]),
                engine.sign * float(values[trial, cut]),
                saved,
                int(active[cut]),
                born,
            )
        self._check_value_bound(node, again, origin, trials)

    def _check_value_bound(
        self, node: int, again: CutBatch, origin: CutOrigin, trials: NDArray[np.intp]
    ) -> None:
        """The value bound is a cut too: the first one, and often given by the user."""
        engine, bound = self._engine, float(self._engine.value_bounds[node])
        for trial, total in enumerate(again.totals.tolist()):
            if self._below(node, total, bound):
                saved = engine.save("value_bound", node, origin.arrivals[trials[trial]])
                name = engine.problem.nodes[node].name
                raise BoundError(origin.iteration, name, engine.sign * bound, engine.sign * total, saved)

    def _recomputed(self, node: int, states: Floats, *, second_opinion: bool = True) -> CutBatch:
        """Make cuts for some states again; a second opinion is from scratch, by the general solver.

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
            starts = np.full(len(states), engine.basis_slot(child), np.int32)
            with engine.naming_failures(child, states, solver.table):
                values[:, done:end], slopes[:, done:end] = solver.trial(
                    states, firsts, starts, second_opinion=second_opinion
                )
            solver.native.activate(active)
            done = end
        return make_cuts(engine, node, states, values, slopes)

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
    while count < MIN_SAMPLE and first:
        first -= 1
        count += estimates[first].count
    if count < MIN_SAMPLE:
        return None
    parts = estimates[first:]
    mean = math.fsum(part.count * part.mean for part in parts) / count
    squares = math.fsum(
        (part.count - 1) * part.standard_deviation**2 + part.count * (part.mean - mean) ** 2 for part in parts
    )
    return Estimate(mean, math.sqrt(squares / (count - 1)), count)


def _height(cut: Floats, state: Floats) -> float:
    return float(cut_heights(cut[None], state[None])[0, 0])
