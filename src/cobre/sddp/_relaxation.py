"""A node's programme with its arriving states free between bounds: what it costs, and lets leave, at best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import highspy
import numpy as np

from cobre.lp import Floats, LinearProgram, highs_of, realized
from cobre.sddp.problem import Node

Bounds = tuple[float, float]

#: What a programme allows is widened by so much, relative: solvers are not exact.
SLACK = 1e-6


def column_bounds(node: Node) -> dict[str, Bounds]:
    """Return the bounds of states that leave a node, over all realisations, as their columns have them."""
    _, lower, upper = _extremes(node, 1.0)
    return {state: (float(lower[column]), float(upper[column])) for state, column in node.outgoing.items()}


class Minimizer:
    """Minimises programmes, each from the solution of the one before if only costs differ."""

    def __init__(self) -> None:
        self._limits: tuple[bytes, ...] = ()
        self._model: Any = None

    def least(self, program: LinearProgram) -> float:
        """Return the least cost without the offset: infinite if there is no solution, or no limit."""
        matrix = program.matrix
        limits = program.row_lower, program.row_upper, program.column_lower, program.column_upper
        arrays = (matrix.starts, matrix.rows, matrix.values, *limits)
        same = tuple(array.tobytes() for array in arrays)
        if self._model is None or same != self._limits:
            self._model, self._limits = highs_of(replace(program, offset=0.0)), same
        else:
            places = np.arange(program.columns, dtype=np.int32)
            self._model.changeColsCost(program.columns, places, program.costs)
        self._model.run()
        status = self._model.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            return float(self._model.getObjectiveValue())
        return np.inf if status == highspy.HighsModelStatus.kInfeasible else -np.inf


class Relaxation:
    """A node whose states arrive as suits it best. What has no limit is infinite.

    Args:
        node: the node.
        arriving: bounds of its arriving states.
        sign: -1 if its costs are rewards.
    """

    def __init__(self, node: Node, arriving: Mapping[str, Bounds], sign: float = 1.0) -> None:
        self._node, self._sign = node, sign
        self._arriving = {column: arriving[state] for state, column in node.incoming.items()}

    def cost_of_columns(self) -> float:
        """Return the sum of the least cost of each column alone."""
        costs, lower, upper = _extremes(self._node, self._sign)
        for column, (low, high) in self._arriving.items():
            lower[column], upper[column] = low, high
        with np.errstate(invalid="ignore", over="ignore"):
            products = np.stack([cost * bound for cost in costs for bound in (lower, upper)])
        products[np.isnan(products)] = 0.0  # 0 times infinity: the column costs nothing
        return float(np.sum(np.min(products, axis=0))) + self._sign * self._node.program.offset

    def cost(self, minimizer: Minimizer) -> float:
        """Return the least cost of the programme over all realisations; 0 if it has no solution."""
        least = min(minimizer.least(program) for program in self._programs)
        return (0.0 if least == np.inf else least) + self._sign * self._node.program.offset

    def leaving(self) -> dict[str, Bounds]:
        """Return the bounds of states that leave: of columns or, where these have none, of the programme."""
        bounds = column_bounds(self._node)
        for state, (low, high) in bounds.items():
            column = self._node.outgoing[state]
            below = -self._greatest(column, -1.0) if np.isinf(low) else low
            above = self._greatest(column, 1.0) if np.isinf(high) else high
            bounds[state] = below, above
        return bounds

    def unbounded(self) -> tuple[str, list[str]]:
        """Return a column that lets the cost fall without limit, and the states that let it."""
        node = self._node
        for program in self._programs:
            highs = highs_of(program)
            highs.setOptionValue("presolve", "off")
            highs.run()
            _, found, ray = highs.getPrimalRay()
            if found:
                ray = np.array(ray)
                falling = int(np.argmin(program.costs * ray))
                states = [
                    state
                    for state, column in node.incoming.items()
                    if abs(ray[column]) > 0 and np.isinf(self._arriving[column]).any()
                ]
                return program.column_names[falling], states
        return "", []

    @cached_property
    def _programs(self) -> list[LinearProgram]:
        node, programs = self._node, []
        for values in node.noise.table:
            program = realized(node.program, node.noise.places, values)
            lower, upper = program.column_lower.copy(), program.column_upper.copy()
            for column, (low, high) in self._arriving.items():
                lower[column], upper[column] = low, high
            costs = self._sign * program.costs
            programs.append(replace(program, costs=costs, column_lower=lower, column_upper=upper, offset=0.0))
        return programs

    @cached_property
    def _models(self) -> list[Any]:
        """The programmes without costs."""
        models = [
            highs_of(replace(program, costs=np.zeros_like(program.costs))) for program in self._programs
        ]
        for model in models:
            model.setOptionValue("presolve", "off")
        return models

    def _greatest(self, column: int, direction: float) -> float:
        """The greatest value of a column over all realisations, or of its negative."""
        value = max(self._extremal(column, direction), default=np.inf)
        return value + SLACK * (1 + abs(value))

    def _extremal(self, column: int, direction: float) -> Iterator[float]:
        for model in self._models:
            model.changeColCost(column, -direction)
            model.run()
            status, value = model.getModelStatus(), -model.getObjectiveValue()
            model.changeColCost(column, 0.0)
            if status == highspy.HighsModelStatus.kOptimal:
                yield value
            elif status != highspy.HighsModelStatus.kInfeasible:
                yield np.inf
                return


def _extremes(node: Node, sign: float) -> tuple[list[Floats], Floats, Floats]:
    """The least and greatest cost of each column over all realisations, and its widest bounds."""
    low_cost, high_cost = sign * node.program.costs, sign * node.program.costs
    lower, upper = node.program.column_lower.copy(), node.program.column_upper.copy()
    for (target, place), series in zip(node.noise.places, node.noise.table.T, strict=True):
        if target == "cost":
            low_cost[place], high_cost[place] = (sign * series).min(), (sign * series).max()
        if target in ("fix", "column_lower"):
            lower[place] = series.min()
        if target in ("fix", "column_upper"):
            upper[place] = series.max()
    return [low_cost, high_cost], lower, upper
