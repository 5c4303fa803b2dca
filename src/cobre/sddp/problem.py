"""A multistage stochastic linear problem: a graph of nodes, each a linear programme with random numbers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, Self

import numpy as np

from cobre.errors import InvalidProblem
from cobre.lp import PROBABILITY_TOLERANCE, LinearProgram, Noise, probability_findings

Sense = Literal["min", "max"]

#: The name of the beginning among the nodes, in findings and where a risk measure is given per node.
ROOT = "root"


@dataclass(frozen=True, eq=False)
class Node:
    """A decision to be made once its realisation is known.

    Args:
        name: unique in its problem.
        program: what is decided. The costs of what comes later are no part of it.
        incoming: state → the column that holds its value on arrival; the engine fixes that column.
        outgoing: state → the column that holds its value on leaving.
        noise: the realisations; none means that all is known.
        discount: what a cost of the nodes that follow counts for here.
    """

    name: str
    program: LinearProgram
    incoming: Mapping[str, int] = field(default_factory=dict)
    outgoing: Mapping[str, int] = field(default_factory=dict)
    noise: Noise = field(default_factory=Noise)
    discount: float = 1.0


@dataclass(frozen=True, eq=False)
class MultistageProblem:
    """Nodes, the ways between them, and where it all begins.

    Use `linear`, `markovian` or `cyclic` for the usual graphs. No number is checked on the way; `findings`
    tells all that is wrong, and `check` raises it.

    Args:
        nodes: in an order in which they are numbered everywhere.
        initial_state: state → its value at the beginning.
        beginning: node → probability of beginning there.
        transitions: node → node that may follow → probability. What is missing to 1 is the probability
            that all ends there, at no further cost; a node that is not named is an end.
        sense: whether costs are minimised or rewards maximised.
        value_bound: a number that the value of what comes after any node cannot pass: a lower bound when
            minimising, an upper bound when maximising. Computed from the programmes unless given,
            which takes bounds on the states.

    >>> keep = LinearProgram([0, 1], [[1, -1]], row_lower=0, row_upper=0)
    >>> node = Node("today", keep, incoming={"stock": 0}, outgoing={"stock": 1})
    >>> MultistageProblem.linear([node], {"stocks": 2}).check()
    Traceback (most recent call last):
    ...
    cobre.errors.InvalidProblem: the problem is not valid; 2 findings:
      - no column carries state 'stocks': it has an initial value, and is incoming nowhere
      - state 'stock' is incoming in node 'today', but has no initial value
    """

    nodes: Sequence[Node]
    initial_state: Mapping[str, float]
    beginning: Mapping[str, float]
    transitions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sense: Sense = "min"
    value_bound: float | None = None

    @classmethod
    def linear(
        cls,
        nodes: Iterable[Node],
        initial_state: Mapping[str, float],
        *,
        sense: Sense = "min",
        value_bound: float | None = None,
    ) -> Self:
        """Make a chain: one node after the other, each once."""
        nodes = tuple(nodes)
        transitions = {node.name: {after.name: 1.0} for node, after in pairwise(nodes)}
        beginning = {node.name: 1.0 for node in nodes[:1]}
        return cls(nodes, initial_state, beginning, transitions, sense, value_bound)

    @classmethod
    def cyclic(
        cls,
        nodes: Iterable[Node],
        initial_state: Mapping[str, float],
        *,
        sense: Sense = "min",
        value_bound: float | None = None,
    ) -> Self:
        """Make a circle: one node after the other, and from the last to the first again, for ever.

        One of its nodes needs a discount below 1.
        """
        chain = cls.linear(nodes, initial_state, sense=sense, value_bound=value_bound)
        back = {chain.nodes[-1].name: {chain.nodes[0].name: 1.0}} if chain.nodes else {}
        return cls(
            chain.nodes, initial_state, chain.beginning, {**chain.transitions, **back}, sense, value_bound
        )

    @classmethod
    def markovian(
        cls,
        stages: Iterable[Sequence[Node]],
        matrices: Sequence[Sequence[Sequence[float]]],
        initial_state: Mapping[str, float],
        *,
        sense: Sense = "min",
        value_bound: float | None = None,
    ) -> Self:
        """Make layers: each stage is in one of several Markov states, with a node for each.

        Args:
            stages: per stage the nodes of its Markov states.
            matrices: per stage the probabilities of its states given those of the stage before; the first
                has one row, the beginning.
            initial_state: state → its value at the beginning.
            sense: as for the class.
            value_bound: as for the class.

        Raises:
            ValueError: a matrix does not fit the nodes of its stage and of the stage before.
        """
        layers = [tuple(layer) for layer in stages]
        names = [[ROOT], *([node.name for node in layer] for layer in layers)]
        if len(matrices) != len(layers):
            raise ValueError(f"{len(layers)} stages take as many matrices, not {len(matrices)}")
        ways: dict[str, dict[str, float]] = {ROOT: {}}
        for stage, (before, after, matrix) in enumerate(zip(names, names[1:], matrices, strict=False)):
            if [len(row) for row in matrix] != [len(after)] * len(before):
                raise ValueError(
                    f"matrices[{stage}] should have {len(before)} rows of {len(after)} probabilities: "
                    f"a row for each of {', '.join(before)}, a column for each of {', '.join(after)}"
                )
            for name, row in zip(before, matrix, strict=True):
                ways[name] = {child: float(p) for child, p in zip(after, row, strict=True)}
        nodes = tuple(node for layer in layers for node in layer)
        return cls(nodes, initial_state, ways.pop(ROOT), ways, sense, value_bound)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The names of all states, in the order of their coordinates everywhere."""
        found: dict[str, None] = dict.fromkeys(self.initial_state)
        for node in self.nodes:
            found |= dict.fromkeys(node.incoming) | dict.fromkeys(node.outgoing)
        return tuple(found)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The number of each node."""
        return {node.name: number for number, node in enumerate(self.nodes)}

    def children(self, name: str) -> dict[str, float]:
        """Return the nodes that may follow a node, or `ROOT`, with positive probability."""
        ways = self.beginning if name == ROOT else self.transitions.get(name, {})
        return {child: probability for child, probability in ways.items() if probability > 0}

    @cached_property
    def order(self) -> tuple[str, ...] | None:
        """The names of the nodes, none before one that it follows; None if there is a cycle."""
        before = dict.fromkeys(self.index, 0)
        for name in self.index:
            for child in self.children(name).keys() & before.keys():
                before[child] += 1
        order = [name for name, count in before.items() if count == 0]
        for name in order:  # it grows
            for child in self.children(name):
                if child in before:
                    before[child] -= 1
                    if before[child] == 0:
                        order.append(child)
        return tuple(order) if len(order) == len(before) else None

    @property
    def has_cycle(self) -> bool:
        """True if a node can follow itself."""
        return self.order is None

    def check(self) -> None:
        """Raise all `findings` at once, if there are any.

        Raises:
            InvalidProblem: something is wrong with it.
        """
        if found := tuple(self.findings()):
            raise InvalidProblem(found)

    def findings(self) -> Iterator[str]:
        """Tell everything that is wrong with it, in words."""
        yield from _graph_findings(self)
        for node in self.nodes:
            for finding in _node_findings(node):
                yield f"node {node.name!r}: {finding}"
        for state in self.initial_state:
            if not np.isfinite(self.initial_state[state]):
                yield f"the initial value of state {state!r} is {self.initial_state[state]:g}"
            if not any(state in node.incoming for node in self.nodes):
                yield f"no column carries state {state!r}: it has an initial value, and is incoming nowhere"
        yield from _way_findings(self)

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 over all that can change a result; names of rows and columns cannot."""
        graph = {
            "states": self.states,
            "initial_state": {name: float(value) for name, value in self.initial_state.items()},
            "nodes": [
                [
                    node.name,
                    {state: int(column) for state, column in node.incoming.items()},
                    {state: int(column) for state, column in node.outgoing.items()},
                    float(node.discount),
                    node.noise.places,
                    # As pairs, not as an object with sorted keys: sums over children run in this order.
                    [[child, float(p)] for child, p in self.children(node.name).items()],
                ]
                for node in self.nodes
            ],
            "beginning": [[child, float(p)] for child, p in self.children(ROOT).items()],
            "sense": self.sense,
            "value_bound": None if self.value_bound is None else float(self.value_bound),
        }
        digest = hashlib.sha256(json.dumps(graph, sort_keys=True).encode())
        for node in self.nodes:
            program, noise = node.program, node.noise
            for array in (
                program.costs,
                program.matrix.starts,
                program.matrix.rows,
                program.matrix.values,
                program.row_lower,
                program.row_upper,
                program.column_lower,
                program.column_upper,
                np.array(program.offset),
                noise.table,
                noise.probabilities,
            ):
                digest.update(np.asarray(array.shape, np.int64).tobytes() + array.tobytes())
        return digest.hexdigest()


def _graph_findings(problem: MultistageProblem) -> Iterator[str]:
    names = [node.name for node in problem.nodes]
    if not names:
        yield "there are no nodes"
    for name, count in sorted(Counter(names).items()):
        if count > 1:
            yield f"{count} nodes are called {name!r}"
    if ROOT in names:
        yield f"a node is called {ROOT!r}, which is the name of the beginning"
    if problem.sense not in ("min", "max"):
        yield f"the sense is {problem.sense!r}; it must be 'min' or 'max'"
    if problem.value_bound is not None and not np.isfinite(problem.value_bound):
        yield f"the value bound is {problem.value_bound:g}"
    for name, ways in ((ROOT, problem.beginning), *problem.transitions.items()):
        if name != ROOT and name not in problem.index:
            yield f"there are ways from a node {name!r}, which does not exist"
        for child in ways:
            if child not in problem.index:
                yield f"there is a way from {name!r} to a node {child!r}, which does not exist"
        probabilities = np.array(list(ways.values()), np.float64)
        yield from probability_findings(
            f"the probabilities of the ways from {name!r}", probabilities, at_most=name != ROOT
        )
    yield from _reach_findings(problem)


def _reach_findings(problem: MultistageProblem) -> Iterator[str]:
    reached: dict[str, None] = {}
    ahead = list(problem.children(ROOT))
    while ahead:
        name = ahead.pop()
        if name in problem.index and name not in reached:
            reached[name] = None
            ahead += problem.children(name)
    for node in problem.nodes:
        if node.name not in reached:
            yield f"node {node.name!r} cannot be reached from the beginning"
    if endless := _endless(problem):
        names = ", ".join(repr(name) for name in endless)
        yield (
            f"the graph has a cycle on which costs count for ever, and nothing leads out of it ({names}): "
            "give a node of it a discount below 1, or ways that sum to less than 1"
        )


def _endless(problem: MultistageProblem) -> list[str]:
    """Return the nodes from which neither an end nor a discount can be reached."""
    parents: dict[str, list[str]] = {}
    for node in problem.nodes:
        for child in problem.children(node.name):
            parents.setdefault(child, []).append(node.name)
    fading = [
        node.name
        for node in problem.nodes
        if not node.discount * sum(problem.children(node.name).values()) >= 1 - PROBABILITY_TOLERANCE
    ]
    reaching = set(fading)
    for name in fading:  # it grows
        for parent in parents.get(name, ()):
            if parent not in reaching:
                reaching.add(parent)
                fading.append(parent)
    return [node.name for node in problem.nodes if node.name not in reaching]


def _node_findings(node: Node) -> Iterator[str]:
    program_findings = list(node.program.findings())
    yield from program_findings
    if not program_findings:
        yield from node.noise.findings(node.program)
    if not 0 < node.discount <= 1:
        yield f"the discount is {node.discount:g}; it must be above 0 and at most 1"
    columns: dict[int, str] = {}
    for direction, ways in (("incoming", node.incoming), ("outgoing", node.outgoing)):
        for state, column in ways.items():
            if not isinstance(column, int | np.integer) or not 0 <= column < node.program.columns:
                yield f"{direction} state {state!r} is in column {column}, which does not exist"
            elif column in columns:
                yield f"{direction} state {state!r} is in column {column}, where {columns[column]} is too"
            columns[column] = f"{direction} state {state!r}"
    for state, column in node.incoming.items():
        for target in ("fix", "column_lower", "column_upper"):
            if (target, column) in node.noise.places:
                yield f"{target} of {column}: incoming state {state!r} is there, and the engine fixes it"


def _way_findings(problem: MultistageProblem) -> Iterator[str]:
    for name in (ROOT, *problem.index):
        carried = problem.initial_state if name == ROOT else problem.nodes[problem.index[name]].outgoing
        for child in problem.children(name):
            if child not in problem.index:
                continue
            for state in problem.nodes[problem.index[child]].incoming:
                if state not in carried:
                    missing = (
                        "has no initial value"
                        if name == ROOT
                        else f"is not outgoing in node {name!r}, which comes before"
                    )
                    yield f"state {state!r} is incoming in node {child!r}, but {missing}"
