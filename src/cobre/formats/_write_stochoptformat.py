"""Writing StochOptFormat 1."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cobre.errors import InvalidProblem
from cobre.sddp import MultistageProblem, Node
from cobre.sddp.problem import ROOT

Terms = dict[str, float]


def write_stochoptformat(problem: MultistageProblem, file: str | Path, *, name: str = "") -> None:
    """Write a problem in StochOptFormat, version 1.

    The format has no discounts: what follows a node is written as so much less probable, which has the same
    expected value. It has no value bounds either.

    Args:
        problem: what to write.
        file: ``*.sof.json``; it is replaced.
        name: of the problem, for its readers.

    Raises:
        InvalidProblem: something is wrong with the problem, or a random bound is infinite.
    """
    problem.check()
    content = {
        "name": name,
        "version": {"major": 1, "minor": 0},
        "root": {
            "state_variables": {state: problem.initial_state.get(state, 0.0) for state in problem.states},
            "successors": problem.children(ROOT),
        },
        "nodes": {node.name: _node(problem, node) for node in problem.nodes},
        "subproblems": {
            node.name: _Writer(node, problem.states).subproblem(problem.sense) for node in problem.nodes
        },
    }
    Path(file).write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")


def _node(problem: MultistageProblem, node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {"subproblem": node.name}
    children = problem.children(node.name)
    if children:
        found["successors"] = {child: node.discount * p for child, p in children.items()}
    if node.noise.places:
        names = _Writer(node, problem.states).random
        if not np.all(np.isfinite(node.noise.table)):
            raise InvalidProblem([f"node {node.name!r}: the format has no infinite random numbers"])
        found["realizations"] = [
            {"probability": float(p), "support": dict(zip(names, row.tolist(), strict=True))}
            for p, row in zip(node.noise.probabilities, node.noise.table, strict=True)
        ]
    elif len(node.noise) > 1:  # equal ones are one
        found["realizations"] = [{"probability": 1.0, "support": {}}]
    return found


class _Writer:
    """The subproblem of a node: a random variable for each number that is random."""

    def __init__(self, node: Node, states: Iterable[str]) -> None:
        self._node, self._state_names = node, states
        self._columns = _unique(node.program.column_names, set())
        given = [
            self._columns[_column(place)] if t == "fix" else f"{t}_{_text(place)}"
            for t, place in node.noise.places
        ]
        fixed = {self._columns[_column(place)] for t, place in node.noise.places if t == "fix"}
        self._fixed = fixed
        taken = set(self._columns)
        #: The random variables, in the order of the noise's places.
        self.random = [each if each in fixed else _unique([each], taken)[0] for each in given]
        self._at = dict(zip(node.noise.places, self.random, strict=True))

    def subproblem(self, sense: str) -> dict[str, Any]:
        """Return the subproblem with its states and random variables."""
        states, dummies = self._states()
        random = [name for name in self.random if name not in self._columns]
        variables = [*self._columns, *random, *dummies]
        return {
            "state_variables": states,
            "random_variables": self.random,
            "subproblem": {
                "version": {"major": 1, "minor": 2},
                "variables": [{"name": name} for name in variables],
                "objective": {"sense": sense, "function": self._objective()},
                "constraints": [
                    *self._rows(),
                    *self._bounds(),
                    *(_constraint(_variable(name), 0.0, 0.0) for name in dummies if name.startswith("out")),
                ],
            },
        }

    def _states(self) -> tuple[dict[str, dict[str, str]], list[str]]:
        """Each state needs both directions: a variable of no consequence stands for one that is not there."""
        node, taken, dummies, states = self._node, {*self._columns, *self.random}, [], {}
        for state in self._state_names:
            names = {}
            for direction, ways in (("in", node.incoming), ("out", node.outgoing)):
                if state in ways:
                    names[direction] = self._columns[ways[state]]
                else:
                    names[direction] = _unique([f"{direction}_{state}"], taken)[0]
                    dummies.append(names[direction])
            states[state] = names
        return states, dummies

    def _objective(self) -> dict[str, Any]:
        program = self._node.program
        random = {place: name for (target, place), name in self._at.items() if target == "cost"}
        terms = {
            self._columns[j]: float(program.costs[j])
            for j in np.flatnonzero(program.costs).tolist()
            if j not in random
        }
        products = [self._product(name, _column(place)) for place, name in random.items()]
        return _function(terms, products, program.offset)

    def _product(self, random: str, column: int) -> tuple[str, str]:
        if self._columns[column] in self._fixed:
            words = f"column {self._columns[column]!r} is random, and so is a number that multiplies it"
            raise InvalidProblem([f"node {self._node.name!r}: {words}; the format cannot say that"])
        return random, self._columns[column]

    def _rows(self) -> Iterable[dict[str, Any]]:
        program, matrix = self._node.program, self._node.program.matrix
        fixed: list[Terms] = [{} for _ in range(program.rows)]
        products: list[list[tuple[str, str]]] = [[] for _ in range(program.rows)]
        for i, j, value in zip(
            matrix.rows.tolist(), matrix.columns.tolist(), matrix.values.tolist(), strict=True
        ):
            if ("coefficient", (i, j)) not in self._at:
                fixed[i][self._columns[j]] = value
        for (target, place), name in self._at.items():
            if target == "coefficient" and isinstance(place, tuple):
                products[place[0]].append(self._product(name, place[1]))
        for i, label in enumerate(program.row_names):
            low, high = float(program.row_lower[i]), float(program.row_upper[i])
            for terms, lower, upper in self._sides("rhs", "row_lower", "row_upper", i, low, high):
                yield _constraint(_function({**fixed[i], **terms}, products[i]), lower, upper, label)

    def _bounds(self) -> Iterable[dict[str, Any]]:
        program, free = self._node.program, set(self._node.incoming.values())
        free |= {_column(place) for target, place in self._at if target == "fix"}
        for j, name in enumerate(self._columns):
            if j not in free:
                low, high = float(program.column_lower[j]), float(program.column_upper[j])
                for terms, lower, upper in self._sides("", "column_lower", "column_upper", j, low, high):
                    function = _function({name: 1.0, **terms}) if terms else _variable(name)
                    yield _constraint(function, lower, upper)

    def _sides(  # noqa: PLR0913, PLR0917  the three targets of a row or a column, and its bounds
        self, both: str, below: str, above: str, place: int, low: float, high: float
    ) -> Iterable[tuple[Terms, float, float]]:
        """Further terms and bounds: a random bound is a term, with the bound 0."""
        if name := self._at.get((both, place)):
            yield {name: -1.0}, 0.0, 0.0
            return
        if name := self._at.get((below, place)):
            yield {name: -1.0}, 0.0, np.inf
            low = -np.inf
        if name := self._at.get((above, place)):
            yield {name: -1.0}, -np.inf, 0.0
            high = np.inf
        if np.isfinite(low) or np.isfinite(high):
            yield {}, low, high


def _column(place: int | tuple[int, int]) -> int:
    return place if isinstance(place, int) else place[1]


def _text(place: int | tuple[int, int]) -> str:
    return "_".join(map(str, place)) if isinstance(place, tuple) else str(place)


def _unique(names: Iterable[str], taken: set[str]) -> list[str]:
    """Names that differ, from each other and from those taken, which they join."""
    found = []
    for name in names:
        free, number = name, 1
        while free in taken:
            free, number = f"{name}_{number}", number + 1
        taken.add(free)
        found.append(free)
    return found


def _variable(name: str) -> dict[str, Any]:
    return {"type": "Variable", "name": name}


def _function(
    terms: Mapping[str, float], products: Iterable[tuple[str, str]] = (), constant: float = 0.0
) -> dict[str, Any]:
    affine = [{"variable": name, "coefficient": value} for name, value in terms.items()]
    quadratic = [{"coefficient": 1.0, "variable_1": a, "variable_2": b} for a, b in products]
    if not quadratic:
        return {"type": "ScalarAffineFunction", "terms": affine, "constant": constant}
    return {
        "type": "ScalarQuadraticFunction",
        "affine_terms": affine,
        "quadratic_terms": quadratic,
        "constant": constant,
    }


def _constraint(function: Mapping[str, Any], low: float, high: float, name: str = "") -> dict[str, Any]:
    if low == high:
        bounds: dict[str, Any] = {"type": "EqualTo", "value": low}
    elif np.isinf(low):
        bounds = {"type": "LessThan", "upper": high}
    elif np.isinf(high):
        bounds = {"type": "GreaterThan", "lower": low}
    else:
        bounds = {"type": "Interval", "lower": low, "upper": high}
    return {**({"name": name} if name else {}), "function": function, "set": bounds}
