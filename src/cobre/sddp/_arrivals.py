"""The values that states can have on arrival at nodes: an interval each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from cobre.sddp._graph import outcomes
from cobre.sddp._relaxation import Bounds, Relaxation, column_bounds
from cobre.sddp.problem import MultistageProblem

#: Sweeps around a cycle, after which the bounds of columns replace those that still grow.
SWEEPS = 10


class Arrivals:
    """The least and greatest value of each state on arrival at each node."""

    def __init__(self, problem: MultistageProblem) -> None:
        self._problem, self._follows = problem, outcomes(problem)
        self._places = {state: place for place, state in enumerate(problem.states)}
        shape = len(problem.nodes), len(problem.states)
        self._low, self._high = np.full(shape, np.inf), np.full(shape, -np.inf)
        initial = {state: (float(value), float(value)) for state, value in problem.initial_state.items()}
        self._widen(self._follows[-1].children, initial)

    @classmethod
    def by_columns(cls, problem: MultistageProblem) -> Self:
        """Return what can arrive as far as the bounds of columns tell."""
        arrivals = cls(problem)
        for number, node in enumerate(problem.nodes):
            arrivals._widen(arrivals._follows[number].children, column_bounds(node))
        return arrivals

    @classmethod
    def by_programmes(cls, problem: MultistageProblem) -> Self:
        """Return what can arrive as far as programmes tell: from the initial state, node after node."""
        arrivals = cls(problem)
        if problem.order is not None:
            arrivals._sweep(problem.order)
            return arrivals
        widest, sweeps, grown = cls.by_columns(problem), 0, np.array([True])
        while grown.any():
            low, high = arrivals._low.copy(), arrivals._high.copy()
            arrivals._sweep(tuple(problem.index))
            grown, sweeps = (arrivals._low < low) | (arrivals._high > high), sweeps + 1
            if sweeps > SWEEPS:
                arrivals._low[grown] = widest._low[grown]
                arrivals._high[grown] = widest._high[grown]
        return arrivals

    def at(self, number: int) -> dict[str, Bounds]:
        """Return the bounds of all states that arrive at a node."""
        places = [(state, self._places[state]) for state in self._problem.nodes[number].incoming]
        return {
            state: (float(self._low[number, place]), float(self._high[number, place]))
            for state, place in places
        }

    def _sweep(self, names: Sequence[str]) -> None:
        for name in names:
            number = self._problem.index[name]
            children, arriving = self._follows[number].children, self.at(number)
            if children and all(low <= high for low, high in arriving.values()):
                leaving = Relaxation(self._problem.nodes[number], arriving).leaving()
                self._widen(children, leaving)

    def _widen(self, numbers: Sequence[int], bounds: Mapping[str, Bounds]) -> None:
        """Let states arrive at some nodes between further bounds."""
        if not numbers or not bounds:
            return
        limits = np.array(list(bounds.values()), np.float64)
        cells = np.ix_(np.array(numbers), np.array([self._places[state] for state in bounds]))
        self._low[cells] = np.minimum(self._low[cells], limits[:, 0])
        self._high[cells] = np.maximum(self._high[cells], limits[:, 1])
