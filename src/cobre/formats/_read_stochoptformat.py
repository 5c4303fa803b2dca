"""Reading StochOptFormat 1: a policy graph with a subproblem per node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from cobre.formats._files import Findings, parsed, read_json, relax, require_none
from cobre.formats._mathopt import Subproblem, limits, parts
from cobre.lp import Floats, LinearProgram, Noise, SparseMatrix
from cobre.sddp import MultistageProblem, Node


class _Version(BaseModel):
    major: Literal[1]
    minor: int


class _Root(BaseModel):
    state_variables: dict[str, float]
    successors: dict[str, float]


class _Realization(BaseModel):
    probability: float
    support: dict[str, float]


class _Node(BaseModel):
    subproblem: str
    realizations: list[_Realization] = Field(default_factory=list)
    successors: dict[str, float] = Field(default_factory=dict)


class _StateVariable(BaseModel):
    incoming: str = Field(alias="in")
    outgoing: str = Field(alias="out")


class _Named(BaseModel):
    state_variables: dict[str, _StateVariable]
    random_variables: list[str] = Field(default_factory=list)
    subproblem: Subproblem


class _File(BaseModel):
    version: _Version
    root: _Root
    nodes: dict[str, _Node] = Field(min_length=1)
    subproblems: dict[str, _Named]


@dataclass
class _Row:
    name: str
    low: float
    high: float
    fixed: dict[str, float]
    varying: dict[str, dict[str, float]]


@dataclass
class _Stage:
    """A subproblem as columns and rows; ``varying`` numbers depend on random variables."""

    names: list[str]
    random: list[str]
    incoming: dict[str, str]
    outgoing: dict[str, str]
    sense: str
    offset: float = 0.0
    costs: dict[str, float] = field(default_factory=dict)
    varying_costs: dict[str, dict[str, float]] = field(default_factory=dict)
    lower: dict[str, float] = field(default_factory=dict)
    upper: dict[str, float] = field(default_factory=dict)
    rows: list[_Row] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)


def read_stochoptformat(
    file: str | Path, *, relax_integers: bool = False, value_bound: float | None = None
) -> MultistageProblem:
    """Read a problem in StochOptFormat, version 1.

    A random variable may stand in linear terms, and in products with one decision.

    Args:
        file: ``*.sof.json``; it may be compressed by gzip.
        relax_integers: whether integer variables may be taken as continuous, with a warning.
        value_bound: as for `MultistageProblem`.

    Raises:
        InvalidProblem: the file is missing or malformed; all of it is listed.
    """
    found = Findings(Path(file))
    content = read_json(found.path, found)
    whole = None if found else parsed(_File, content, found)
    stages: dict[str, _Stage] = {}
    if whole is not None:
        stages = {
            name: _stage(f"subproblems.{name}", each, found) for name, each in whole.subproblems.items()
        }
        relax([name for stage in stages.values() for name in stage.integers], found, allowed=relax_integers)
        _check_nodes(whole, stages, found)
    require_none(found)
    assert whole is not None  # noqa: S101  there would be findings
    senses = [stage.sense for stage in stages.values() if stage.sense != "feasibility"]
    maximizes = bool(senses) and senses[0] == "max"
    problem = MultistageProblem(
        [_node(name, node, stages[node.subproblem], maximizes) for name, node in whole.nodes.items()],
        {state: value for state, value in whole.root.state_variables.items() if _used(state, whole, stages)},
        whole.root.successors,
        {name: node.successors for name, node in whole.nodes.items() if node.successors},
        "max" if maximizes else "min",
        value_bound,
    )
    problem.check()
    return problem


def _used(state: str, whole: _File, stages: Mapping[str, _Stage]) -> bool:
    return any(state in stages[node.subproblem].incoming for node in whole.nodes.values())


def _stage(place: str, named: _Named, found: Findings) -> _Stage:
    sub, random = named.subproblem, set(named.random_variables)
    names = [variable.name for variable in sub.variables]
    stage = _Stage(
        names,
        named.random_variables,
        {state: each.incoming for state, each in named.state_variables.items()},
        {state: each.outgoing for state, each in named.state_variables.items()},
        sub.objective.sense,
    )
    known = set(names)
    for name in sorted({name for name in names if names.count(name) > 1} if len(known) < len(names) else ()):
        found.add(f"{place}.subproblem.variables", f"several are called {name!r}")
    for name in (*stage.random, *stage.incoming.values(), *stage.outgoing.values()):
        if name not in known:
            found.add(place, f"the subproblem has no variable {name!r}")
    if sub.objective.function is not None:
        at = f"{place}.subproblem.objective"
        stage.offset, stage.costs, stage.varying_costs = parts(
            sub.objective.function, at, random, found, known
        )
    elif sub.objective.sense != "feasibility":
        found.add(f"{place}.subproblem.objective", "it has no function")
    fixed = random | set(stage.incoming.values())
    for i, constraint in enumerate(sub.constraints):
        at = f"{place}.subproblem.constraints.{i}"
        constant, terms, varying = parts(constraint.function, at, random, found, known)
        simple = constraint.function.get("type") in ("Variable", "SingleVariable") and bool(terms)
        name = next(iter(terms), "")
        if simple and constraint.set.get("type") in ("Integer", "ZeroOne"):
            stage.integers.append(name)
            if constraint.set["type"] == "Integer":
                continue
            low, high = 0.0, 1.0
        else:
            try:
                low, high = limits(constraint.set)
            except ValueError as exc:
                found.add(at, str(exc))
                continue
        if simple and name not in fixed:  # what a realisation or a state fixes takes a row
            stage.lower[name] = max(low, stage.lower.get(name, -np.inf))
            stage.upper[name] = min(high, stage.upper.get(name, np.inf))
        else:
            label = constraint.name or f"r{len(stage.rows)}"
            stage.rows.append(_Row(label, low - constant, high - constant, terms, varying))
    return stage


def _check_nodes(whole: _File, stages: Mapping[str, _Stage], found: Findings) -> None:
    for name, node in whole.nodes.items():
        if node.subproblem not in stages:
            found.add(f"nodes.{name}", f"there is no subproblem {node.subproblem!r}")
            continue
        stage = stages[node.subproblem]
        for state in stage.incoming.keys() - whole.root.state_variables.keys():
            found.add(f"subproblems.{node.subproblem}", f"the root has no state variable {state!r}")
        if stage.random and not node.realizations:
            found.add(f"nodes.{name}", "its subproblem has random variables, but it has no realizations")
        for i, realization in enumerate(node.realizations):
            if differing := sorted(set(stage.random) ^ realization.support.keys()):
                words = (
                    f"{', '.join(map(repr, differing))} should be in both the support and random_variables"
                )
                found.add(f"nodes.{name}.realizations.{i}", words)


def _node(name: str, node: _Node, stage: _Stage, maximizes: bool) -> Node:
    columns = {variable: place for place, variable in enumerate(stage.names)}
    flip = -1.0 if stage.sense != "feasibility" and (stage.sense == "max") != maximizes else 1.0
    support = {w: np.array([each.support[w] for each in node.realizations]) for w in stage.random}
    entries = [(i, columns[x], v) for i, row in enumerate(stage.rows) for x, v in row.fixed.items()]
    rows, places, values = zip(*entries, strict=True) if entries else ((), (), ())
    lower = np.array([stage.lower.get(x, -np.inf) for x in stage.names])
    upper = np.array([stage.upper.get(x, np.inf) for x in stage.names])
    program = LinearProgram(
        flip * np.array([stage.costs.get(x, 0.0) for x in stage.names]),
        SparseMatrix.from_entries((len(stage.rows), len(columns)), rows, places, values),
        [row.low for row in stage.rows],
        [row.high for row in stage.rows],
        lower,
        upper,
        flip * stage.offset,
        stage.names,
        [row.name for row in stage.rows],
    )
    noise = Noise(
        [each.probability for each in node.realizations] or None,
        fix={columns[w]: values for w, values in support.items()},
        cost={
            columns[x]: flip * (stage.costs.get(x, 0.0) + _sum(factors, support))
            for x, factors in stage.varying_costs.items()
        },
        coefficient={
            (i, columns[x]): row.fixed.get(x, 0.0) + _sum(factors, support)
            for i, row in enumerate(stage.rows)
            for x, factors in row.varying.items()
        },
    )
    incoming = {state: columns[x] for state, x in stage.incoming.items()}
    outgoing = {state: columns[x] for state, x in stage.outgoing.items()}
    return Node(name, program, incoming, outgoing, noise)


def _sum(factors: Mapping[str, float], support: Mapping[str, Floats]) -> Floats:
    total: Floats = np.sum([factor * support[name] for name, factor in factors.items()], axis=0)
    return total
