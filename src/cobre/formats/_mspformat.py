"""Reading MSPFormat: a file with variables and constraints by stage, and one with a lattice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from cobre.formats._files import Findings, parsed, read_json, relax, require_none
from cobre.formats._msp_numbers import Number
from cobre.lp import LinearProgram, SparseMatrix
from cobre.sddp import MultistageProblem, Node

#: How far probabilities, which files have with few digits, may be from a sum of 1.
ROUNDED = 1e-3


class _Variable(BaseModel):
    name: str
    stage: int
    obj: Any
    lb: Any
    ub: Any
    type: Literal["CONTINUOUS", "INTEGER", "BINARY"] = "CONTINUOUS"


class _Term(BaseModel):
    name: str
    stage: int
    coefficient: Any


class _Constraint(BaseModel):
    name: str = ""
    type: Literal["EQ", "LEQ", "GEQ"]
    lhs: list[_Term] = Field(min_length=1)
    rhs: Any


class _Problem(BaseModel):
    name: str = ""
    maximize: bool
    variables: list[_Variable] = Field(min_length=1)
    constraints: list[_Constraint]


class _LatticeNode(BaseModel):
    stage: int
    state: dict[str, float] = Field(default_factory=dict)
    successors: dict[str, float] = Field(default_factory=dict)


class _Lattice(BaseModel):
    nodes: dict[str, _LatticeNode] = Field(min_length=1)


class _Row(NamedTuple):
    name: str
    kind: str
    right: Number
    terms: list[tuple[int, Number]]


class _Stage:
    """The columns and rows of a stage, with numbers that depend on the node."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.costs: list[Number] = []
        self.lower: list[Number] = []
        self.upper: list[Number] = []
        self.rows: list[_Row] = []
        self.columns: dict[str, int] = {}
        self.incoming: dict[str, int] = {}

    def add(self, name: str, cost: Number, lower: Number, upper: Number) -> int:
        for values, value in ((self.costs, cost), (self.lower, lower), (self.upper, upper)):
            values.append(value)
        self.names.append(name)
        return len(self.names) - 1

    def arriving(self, name: str) -> int:
        """Return the column of a variable of the stage before."""
        if name not in self.incoming:
            free = Number.of("-inf"), Number.of("inf")
            self.incoming[name] = self.add(f"{name}_in", Number.of(0.0), *free)
        return self.incoming[name]

    def random_names(self) -> set[str]:
        """The random numbers that a node of the stage has to give."""
        numbers = [*self.costs, *self.lower, *self.upper, *(row.right for row in self.rows)]
        numbers += [number for row in self.rows for _, number in row.terms]
        return {name for number in numbers for name in number.names}

    def program(self, realization: Mapping[str, float]) -> LinearProgram:
        """Return the programme of a node."""
        entries = [
            (i, column, number.at(realization))
            for i, row in enumerate(self.rows)
            for column, number in row.terms
        ]
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        right = np.array([row.right.at(realization) for row in self.rows])
        kinds = np.array([row.kind for row in self.rows])
        return LinearProgram(
            [number.at(realization) for number in self.costs],
            SparseMatrix.from_entries((len(self.rows), len(self.names)), rows, columns, values),
            np.where(kinds == "LEQ", -np.inf, right),
            np.where(kinds == "GEQ", np.inf, right),
            [number.at(realization) for number in self.lower],
            [number.at(realization) for number in self.upper],
            column_names=self.names,
            row_names=[row.name or f"r{i}" for i, row in enumerate(self.rows)],
        )


def read_mspformat(
    problem: str | Path,
    lattice: str | Path | None = None,
    *,
    relax_integers: bool = False,
    value_bound: float | None = None,
) -> MultistageProblem:
    """Read a problem of the benchmark library MSPLib.

    Each node of the lattice becomes a node, called as there. A variable that a constraint of the next stage
    refers to is a state. The nodes of the first stage are equally probable: the format does not say.

    Args:
        problem: the file ``*.problem.json``, with the programmes of all stages.
        lattice: the file ``*.lattice.json``, with the nodes; beside the problem unless given. Both may be
            compressed by gzip.
        relax_integers: whether integer variables may be taken as continuous, with a warning.
        value_bound: as for `MultistageProblem`.

    Raises:
        InvalidProblem: a file is missing or malformed; all of it is listed.
    """
    path = Path(problem)
    lattice_path = _beside(path) if lattice is None else Path(lattice)
    found, found_in_lattice = Findings(path), Findings(lattice_path)
    content, nodes = read_json(path, found), read_json(lattice_path, found_in_lattice)
    whole = None if found else parsed(_Problem, content, found)
    graph = None if found_in_lattice else parsed(_Lattice, {"nodes": nodes}, found_in_lattice)
    stages = None if whole is None else _stages(whole, found, relax_integers)
    if graph is not None and stages is not None:
        _check_lattice(graph, stages, found_in_lattice)
    require_none(found, found_in_lattice)
    assert whole is not None and graph is not None and stages is not None  # noqa: S101, PT018  else findings
    made = _problem(whole, graph, stages, value_bound)
    made.check()
    return made


def _beside(problem: Path) -> Path:
    plain = problem.with_name(problem.name.removesuffix(".gz").replace(".problem.json", ".lattice.json"))
    packed = plain.with_name(plain.name + ".gz")
    return packed if packed.exists() and not plain.exists() else plain


def _stages(problem: _Problem, found: Findings, relax_integers: bool) -> dict[int, _Stage]:
    stages: dict[int, _Stage] = {}
    for i, variable in enumerate(problem.variables):
        stage, place = stages.setdefault(variable.stage, _Stage()), f"variables.{i}"
        numbers = [_number(getattr(variable, name), f"{place}.{name}", found) for name in ("obj", "lb", "ub")]
        if variable.type == "BINARY":
            numbers[1:] = [Number.of(0.0), Number.of(1.0)]
        if variable.name in stage.columns:
            found.add(place, f"stage {variable.stage} has another variable {variable.name!r}")
        stage.columns[variable.name] = stage.add(variable.name, *numbers)
    integers = [each.name for each in problem.variables if each.type != "CONTINUOUS"]
    relax(integers, found, allowed=relax_integers)
    for i, constraint in enumerate(problem.constraints):
        last = max(term.stage for term in constraint.lhs)
        right = _number(constraint.rhs, f"constraints.{i}.rhs", found)
        terms = []
        for j, term in enumerate(constraint.lhs):
            place = f"constraints.{i}.lhs.{j}"
            coefficient = _number(term.coefficient, f"{place}.coefficient", found)
            if term.name not in stages.get(term.stage, _Stage()).columns:
                found.add(place, f"stage {term.stage} has no variable {term.name!r}")
            elif term.stage < last - 1:
                words = f"variable {term.name!r} is of stage {term.stage}, with others of stage {last}"
                found.add(place, f"{words}: only those of the stage before can be referred to")
            else:
                own = stages[last]
                column = own.columns[term.name] if term.stage == last else own.arriving(term.name)
                terms.append((column, coefficient))
        if last in stages:
            stages[last].rows.append(_Row(constraint.name, constraint.type, right, terms))
    return stages


def _number(written: Any, place: str, found: Findings) -> Number:
    try:
        return Number.of(written)
    except ValueError as exc:
        found.add(place, str(exc))
        return Number.of(0.0)


def _check_lattice(lattice: _Lattice, stages: Mapping[int, _Stage], found: Findings) -> None:
    needed = {number: stage.random_names() for number, stage in stages.items()}
    if not any(node.stage == 0 for node in lattice.nodes.values()):
        found.add("file", "no node is of stage 0, where all begins")
    for name, node in lattice.nodes.items():
        if node.stage not in stages:
            found.add(f"{name}.stage", f"the problem has no variables of stage {node.stage}")
        if missing := sorted(needed.get(node.stage, set()) - node.state.keys()):
            found.add(
                f"{name}.state", f"{', '.join(map(repr, missing))} missing, which the problem refers to"
            )
        for child in node.successors:
            if child not in lattice.nodes:
                found.add(f"{name}.successors", f"there is no node {child!r}")
            elif lattice.nodes[child].stage != node.stage + 1:
                found.add(f"{name}.successors", f"node {child!r} is not of stage {node.stage + 1}")


def _problem(
    problem: _Problem, lattice: _Lattice, stages: Mapping[int, _Stage], value_bound: float | None
) -> MultistageProblem:
    # Files list nodes in any order; with stages in theirs, all that follow come later.
    names = sorted(lattice.nodes, key=lambda name: lattice.nodes[name].stage)
    first = [name for name in names if lattice.nodes[name].stage == 0]
    return MultistageProblem(
        [_node(name, lattice.nodes[name], stages) for name in names],
        {},
        {name: 1.0 / len(first) for name in first},
        {name: dict(_ways(node.successors)) for name, node in lattice.nodes.items() if node.successors},
        "max" if problem.maximize else "min",
        value_bound,
    )


def _node(name: str, node: _LatticeNode, stages: Mapping[int, _Stage]) -> Node:
    stage, following = stages[node.stage], stages.get(node.stage + 1)
    leaving = {} if following is None else following.incoming
    return Node(
        name,
        stage.program(node.state),
        dict(stage.incoming),
        {state: stage.columns[state] for state in leaving},
    )


def _ways(successors: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Probabilities of what follows, without the errors of rounding them in the file."""
    total = sum(successors.values())
    rounded = abs(total - 1) <= ROUNDED and total > 0
    for name, probability in successors.items():
        yield name, probability / total if rounded and total != 1 else probability
