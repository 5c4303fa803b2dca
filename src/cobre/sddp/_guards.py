"""Guards against invalid cuts and bounds while training.

A cut that is too high stays too high, and so does the bound, silently. Each check follows from how cuts are
made, so that a failure proves an error and is no matter of chance:

- At no trial state of a node is a cut above the value there, if both come from the same cuts of what follows.
- Nor is an older cut: later values come from more cuts. The policy's estimate of the value on the way forward
  is the highest of its cuts there, so this takes no more than a comparison.
- The bound does not fall.

Selection leaves out cuts that values rested on. Where a check seems to fail, all cuts are considered again.

The value bound, and the cuts of a warm start, rest on nothing that is computed here. A valid one may be
above a value that is computed while cuts are few, since that is no more than a lower bound. Such a claim is
refused if it is above an upper bound: what following the policy costs. The better the policy, the more that
tells, so a doubt is looked into when it comes up for the first, second, fourth, eighth time, and so on. All
this may take as many programmes as training itself. Where the way to the end takes more, `check_mean`
remains.

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

from cobre.elementary import square
from cobre.errors import BoundError
from cobre.estimates import Estimate
from cobre.lp import Floats, cut_heights, largest_excess
from cobre.sddp._cuts import CutBatch, make_cuts
from cobre.sddp._engine import Engine, NodeBatch
from cobre.sddp._graph import longest_path
from cobre.sddp._policy_value import PolicyWalk
from cobre.sddp.events import GuardTripped
from cobre.sddp.problem import ROOT
from cobre.sddp.sampling import InSample

#: Relative differences up to this are rounding. Solvers are exact to about 1e-8, and held to 1e-5.
TOLERANCE = 1e-5
#: The number of other trial states of its batch at which a cut is checked.
REACH = 32
#: The bound is compared with the mean of at least this many trajectories of the last iterations, and may be
#: above it by this many standard errors. Fewer of either would raise false alarms in long trainings.
MIN_SAMPLE = 300
DEVIATIONS = 6.0
#: Programmes that following the policy may take before training has solved as many.
BUDGET = 1000


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
            engine.risk_neutral
            and isinstance(method.sampling, InSample)
            and engine.depth == longest_path(problem)
        )
        self._above = False
        self._budget = BUDGET
        #: The budget below which a walk from a node is of no use.
        self._needed = [0] * len(engine.solvers)
        self._doubts = [0] * len(engine.solvers)
        #: The events of guards that tripped.
        self.noticed: list[GuardTripped] = []

    def check(self, node: int, batch: CutBatch, origin: CutOrigin) -> tuple[CutBatch, NDArray[np.bool_]]:
        """Return cuts that can be added, and which of them may be.

        Raises:
            BoundError: a cut of the policy, or the value bound, is invalid.
        """
        self._budget += len(batch.totals) * self._engine.outcomes[node].count
        most, at = self._excess(node, batch)
        doubtful = ~(most <= TOLERANCE)
        below = self._below_expected(node, batch)
        if not doubtful.any() and not below.any():
            return batch, ~doubtful
        by_cuts = below & ~self._on_value_bound(node, batch)
        suspects = np.unique([*np.nonzero(doubtful)[0], *at[doubtful]]).astype(np.intp)
        if by_cuts.any():
            corrected = self._check_policy(node, batch, origin, np.flatnonzero(by_cuts))
            suspects = np.union1d(suspects, corrected)
        self._check_value_bound(node, batch, origin, np.flatnonzero(below))
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

    def _on_value_bound(self, node: int, batch: CutBatch) -> NDArray[np.bool_]:
        """Trial states at which no cut was above the value bound on the way forward."""
        discount, bound = self._engine.discounts[node], float(self._engine.value_bounds[node])
        near = TOLERANCE * (self._cost_units[node] + abs(bound))
        on_bound: NDArray[np.bool_] = batch.expected <= discount * (bound + near)
        return on_bound

    def _check_policy(
        self, node: int, batch: CutBatch, origin: CutOrigin, trials: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Look for an invalid cut of the policy at trial states whose values are below its estimates.

        Returns:
            The trial states whose values were not right.
        """
        engine, pool = self._engine, self._engine.pools[node]
        if engine.method.selection is not None:
            # Most often it was right to leave cuts out, and it takes no second opinion to see that.
            with_all = self._recomputed(node, batch.states[trials], second_opinion=False)
            trials = trials[self._below_expected(node, replace(with_all, expected=batch.expected[trials]))]
        again = self._recomputed(node, batch.states[trials])
        active = pool.active
        cuts, born = pool.rows()[active], pool.born[active]
        families = np.maximum(pool.families[active] - 1, 0)
        claimed = cut_heights(cuts, again.states)
        magnitudes = cut_heights(np.abs(cuts), np.abs(again.states)) + self._cost_units[node]

        def above(values: Floats) -> NDArray[np.bool_]:
            higher: NDArray[np.bool_] = ~(claimed <= values + TOLERANCE * (magnitudes + np.abs(values)))
            return higher

        values = again.values[:, families]
        wrong = above(values)
        if (given := wrong & (born == 0)).any():  # these may be valid although they are above
            wrong &= born != 0
            values, due = values.copy(), self._due(node)
            for trial in np.flatnonzero(given.any(axis=1)).tolist() if due else []:
                values[trial] = self._upper_values(node, again.states[trial])[families]
            wrong |= given & above(values) & due
        for trial, cut in np.argwhere(wrong)[:1].tolist():
            saved = engine.save(f"cut_{active[cut]}", node, origin.arrivals[trials[trial]])
            raise BoundError(
                origin.iteration,
                engine.problem.nodes[node].name,
                engine.sign * float(claimed[trial, cut]),
                engine.sign * float(values[trial, cut]),
                saved,
                int(active[cut]),
                int(born[cut]),
            )
        still = self._below_expected(node, replace(again, expected=batch.expected[trials]))
        return trials[~still] if engine.method.selection is None else trials[:0]

    def _check_value_bound(
        self, node: int, batch: CutBatch, origin: CutOrigin, trials: NDArray[np.intp]
    ) -> None:
        """The value bound is a cut too: the first one, and often given by the user."""
        engine, bound = self._engine, float(self._engine.value_bounds[node])
        doubtful = [
            trial for trial in trials.tolist() if self._below(node, float(batch.totals[trial]), bound)
        ]
        if not doubtful or not self._due(node):
            return
        for trial in sorted(doubtful, key=batch.totals.__getitem__):
            outcomes = self._upper_values(node, batch.states[trial], total=True)
            if self._below(node, float(outcomes[0]), bound):
                saved = engine.save("value_bound", node, origin.arrivals[trial])
                name = engine.problem.nodes[node].name
                raise BoundError(
                    origin.iteration, name, engine.sign * bound, engine.sign * float(outcomes[0]), saved
                )

    def _due(self, node: int) -> bool:
        """Count a doubt; whether it is to be looked into."""
        self._doubts[node] += 1
        return self._doubts[node].bit_count() == 1

    def _upper_values(self, node: int, state: Floats, *, total: bool = False) -> Floats:
        """Return numbers that the values bounded by cuts cannot be above; infinite ones if none are known.

        They are about the outcomes for multi cut, else, or if asked for, about all that follows.
        """
        by_outcome = self._engine.method.cuts == "multi" and not total
        values = None
        if self._budget >= self._needed[node]:
            walk = PolicyWalk(self._engine, self._budget)
            values = walk.outcome_values(node, state)
            self._needed[node] = 2 * self._budget if walk.exhausted else walk.solved
            self._budget -= walk.solved
        if values is None:
            return np.full(self._engine.families(node), np.inf)
        return values if by_outcome else np.array([walk.total(node, values)])

    def _recomputed(self, node: int, states: Floats, *, second_opinion: bool = True) -> CutBatch:
        """Make cuts for some states again; a second opinion is from scratch, by the general solver.

        They rest on all cuts of what follows, also those that selection has left out since others were made.
        """
        engine, follows = self._engine, self._engine.outcomes[node]
        states, none = np.ascontiguousarray(states), np.full(len(states), -1, np.int32)
        trial = engine.next_stages[node].trial(states, none, none, none, second_opinion=second_opinion)
        active = [engine.pools[child].active for child in follows.children]
        for child in follows.children:
            engine.solvers[child].native.activate(np.arange(len(engine.pools[child]), dtype=np.int32))
        engine.solve([NodeBatch(trial, follows.children, states)])
        for child, before in zip(follows.children, active, strict=True):
            engine.solvers[child].native.activate(before)
        return make_cuts(engine, node, states, trial.values, trial.slopes)

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
        (part.count - 1) * square(part.standard_deviation) + part.count * square(part.mean - mean)
        for part in parts
    )
    return Estimate(mean, math.sqrt(squares / (count - 1)), count)


def _height(cut: Floats, state: Floats) -> float:
    return float(cut_heights(cut[None], state[None])[0, 0])
