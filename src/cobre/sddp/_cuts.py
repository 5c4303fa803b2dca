"""Cuts in the making: those of the trial states of one node, in one step of the way back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cobre import _lp
from cobre.lp import Floats
from cobre.sddp._engine import Engine


@dataclass(frozen=True, eq=False)
class Made:
    """Cuts, and what they were made of. All arrays have one element per trial state.

    Attributes:
        states: the trial states.
        cuts: trial states by cuts by an intercept and the slopes. One cut each, or one per outcome.
        values: trial states by cuts: what each of them bounds, as computed at the state.
        weights: trial states by outcomes, if cuts are by outcome: how these make up the total.
        totals: what all that follows is worth.
        expected: what the policy took that for on the way forward, discounted; -inf if nobody asked it.
    """

    states: Floats
    cuts: NDArray[np.float64]
    values: Floats
    weights: Floats
    totals: Floats
    expected: Floats

    def packed(self) -> Floats:
        """Return all but the states, one row of numbers per trial state."""
        flat = self.cuts.reshape(len(self.cuts), self.cuts.shape[1] * self.cuts.shape[2])
        ends = np.column_stack([self.totals, self.expected])
        return np.concatenate([flat, self.values, self.weights, ends], axis=1)

    def unpacked(self, states: Floats, rows: Floats) -> Self:
        """Return what was `packed` in the same shape, for any number of states."""
        _, each, width = self.cuts.shape
        ends = np.cumsum([each * width, each, self.weights.shape[1], 1])
        flat, values, weights, totals, expected = np.split(rows, ends, axis=1)
        cuts = np.ascontiguousarray(flat).reshape(len(rows), each, width)
        return type(self)(states, cuts, values, weights, totals[:, 0], expected[:, 0])

    def with_others(self, which: NDArray[np.intp], others: Made) -> Made:
        """Return these with other cuts for some of the states; what was expected of them remains."""
        changed = {name: getattr(self, name).copy() for name in ("cuts", "values", "weights", "totals")}
        for name, array in changed.items():
            array[which] = getattr(others, name)
        return replace(self, **changed)


def make(engine: Engine, node: int, states: Floats, values: Floats, slopes: NDArray[np.float64]) -> Made:
    """Make cuts of the values and slopes of all outcomes, at trial states of a node."""
    by_outcome = node != Engine.ROOT and engine.method.cuts == "multi"
    # The end, which comes last, needs no cut of its own: it is worth nothing.
    each = engine.outcomes[node].count if by_outcome else 1
    weights = _weights(engine, node, values)
    count, width = len(states), engine.states
    cuts = np.empty((count * each, width + 1))
    if by_outcome:
        _lp.aggregate(
            np.ones((len(cuts), 1)),
            np.ascontiguousarray(values[:, :each]).reshape(-1, 1),
            np.ascontiguousarray(slopes[:, :each]).reshape(len(cuts), 1, width),
            np.repeat(states, each, axis=0),
            cuts,
        )
    else:
        _lp.aggregate(weights, values, slopes, states, cuts)
    totals = np.sum(weights * values, axis=1)
    return Made(
        states,
        cuts.reshape(count, each, width + 1),
        values[:, :each] if by_outcome else totals[:, None],
        weights[:, : each if by_outcome else 0],
        totals,
        np.full(count, -np.inf),
    )


def _weights(engine: Engine, node: int, values: Floats) -> Floats:
    if not len(values):
        return np.empty_like(values)
    return np.ascontiguousarray(engine.risks[node].weights(values, engine.outcomes[node].probabilities))
