"""Sampling of trajectories: nodes and realisations, drawn or given.

Draws are a function of (seed, iteration, trajectory, step), so any rank can draw any trajectory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.lp import Floats, Ints, Noise
from cobre.sddp._graph import outcomes
from cobre.sddp.problem import ROOT, MultistageProblem
from cobre.stochastic import uniforms

#: The purposes of draws: the fourth coordinate of random numbers.
TRAINING, SIMULATION = 0, 1


@dataclass(frozen=True)
class Draw:
    """A request for trajectories.

    Attributes:
        seed: of the run.
        iteration: from 1; 0 for a simulation after training.
        first: the number of the first trajectory, from 0 in each iteration.
        count: the number of trajectories, from the first on.
        total: the number in this iteration, on all ranks.
        depth: the most steps of a trajectory.
        purpose: `TRAINING` or `SIMULATION`.
    """

    seed: int
    iteration: int
    first: int
    count: int
    total: int
    depth: int
    purpose: int = TRAINING

    def uniforms(self) -> NDArray[np.float64]:
        """Return two uniform numbers for each step of each trajectory: steps by trajectories by 2."""
        trajectories = np.arange(self.first, self.first + self.count)
        return uniforms(self.seed, self.iteration, trajectories, np.arange(self.depth)[:, None], self.purpose)


@dataclass(frozen=True, eq=False)
class Sample:
    """The nodes and realisations of some trajectories.

    Attributes:
        nodes: steps by trajectories; -1 after a trajectory's end.
        rows: the realisation of each: a row of its node's table.
        tables: by node, realisations to be used instead of the node's own; columns as `Noise.places` there.
        numbers: of the realisations in results, where a table holds only those of the trajectories asked for.
            A row then depends on the request; a number must not, and be beyond those of the node's own.
    """

    nodes: Ints
    rows: Ints
    tables: Mapping[int, Floats] = field(default_factory=dict)
    numbers: Ints | None = None

    @property
    def realizations(self) -> Ints:
        """The numbers of the realisations, the same on every rank."""
        return self.rows if self.numbers is None else self.numbers


class Sampling(ABC):
    """A way to choose nodes and realisations of trajectories. Derive from this for one of your own."""

    @property
    def natural_count(self) -> int | None:
        """The number of trajectories, if they are not drawn."""
        return None

    @abstractmethod
    def sample(self, problem: MultistageProblem, draw: Draw) -> Sample:
        """Return the trajectories that ``draw`` asks for.

        It must be a pure function of its arguments: ranks call it for different trajectories and rely on
        getting parts of the same whole.
        """

    def findings(self, problem: MultistageProblem) -> list[str]:
        """Tell what does not fit the problem, in words."""
        return []

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types; equal for equal samplings. A resumed run must have that of the first."""


class InSample(Sampling):
    """Draw nodes and realisations by their probabilities.

    >>> InSample().spec()
    {'type': 'in_sample'}
    """

    def sample(self, problem: MultistageProblem, draw: Draw) -> Sample:
        """Draw them."""
        return _drawn(problem, draw, [node.noise for node in problem.nodes], {})

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {"type": "in_sample"}


class OutOfSample(Sampling):
    """Draw nodes by their probabilities, and realisations from others than those that cuts are made of.

    Args:
        noises: node → other realisations of the same numbers. Nodes that are not named keep their own.
    """

    def __init__(self, noises: Mapping[str, Noise]) -> None:
        self.noises = dict(noises)

    def sample(self, problem: MultistageProblem, draw: Draw) -> Sample:
        """Draw them."""
        noises = [self.noises.get(node.name, node.noise) for node in problem.nodes]
        tables = {}
        for name, noise in self.noises.items():
            number = problem.index[name]
            order = [noise.places.index(place) for place in problem.nodes[number].noise.places]
            tables[number] = noise.table[:, order]
        return _drawn(problem, draw, noises, tables)

    def findings(self, problem: MultistageProblem) -> list[str]:
        """Tell which noises are of no node, of other numbers than the node's own, or wrong in themselves."""
        found = []
        for name, noise in self.noises.items():
            if name not in problem.index:
                found.append(f"sampling: there is no node {name!r}")
                continue
            node = problem.nodes[problem.index[name]]
            if set(noise.places) != set(node.noise.places):
                found.append(
                    f"sampling: the noise for node {name!r} changes other numbers than the node's own"
                )
            found += [f"sampling: node {name!r}: {finding}" for finding in noise.findings(node.program)]
        return found

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        noises = {
            name: {
                "places": [
                    [target, list(at) if isinstance(at, tuple) else at] for target, at in noise.places
                ],
                "table": noise.table.tolist(),
                "probabilities": noise.probabilities.tolist(),
            }
            for name, noise in self.noises.items()
        }
        return {"type": "out_of_sample", "noises": noises}


class Given(Sampling):
    """Follow given sequences, one after the other, and again from the first after the last.

    Args:
        sequences: each a list of pairs: a node, and its realisation, either by number or as values, one for
            each of the node's `Noise.places`.

    >>> Given([[("a", 0), ("b", 1)], [("a", 0), ("b", [7.5])]]).spec()["type"]
    'given'
    """

    def __init__(self, sequences: Sequence[Sequence[tuple[str, int | ArrayLike]]]) -> None:
        self.sequences = [list(sequence) for sequence in sequences]

    @property
    def natural_count(self) -> int:
        """The number of sequences."""
        return len(self.sequences)

    def sample(self, problem: MultistageProblem, draw: Draw) -> Sample:
        """Return the sequences whose turn it is."""
        depth = min(draw.depth, max(map(len, self.sequences)))
        nodes = np.full((depth, draw.count), -1, np.int32)
        rows = np.zeros((depth, draw.count), np.int32)
        numbers, tables = self._numbered(problem)
        turn = (draw.iteration - 1) * draw.total if draw.purpose == TRAINING else 0
        for i in range(draw.count):
            which = (turn + draw.first + i) % len(self.sequences)
            for step, (name, _) in enumerate(self.sequences[which][:depth]):
                nodes[step, i] = problem.index[name]
                rows[step, i] = numbers[which][step]
        stacked = {number: np.stack(series) for number, series in tables.items() if series}
        return Sample(nodes, rows, stacked)

    def _numbered(self, problem: MultistageProblem) -> tuple[list[list[int]], dict[int, list[Floats]]]:
        """The realisation of each step of each sequence, by number; and per node those that have one.

        Given values come after the node's own, in the order of all sequences: a number means the same
        whichever trajectories are asked for.
        """
        tables = {number: [*node.noise.table] for number, node in enumerate(problem.nodes)}
        numbers: list[list[int]] = []
        for sequence in self.sequences:
            numbers.append([])
            for name, realization in sequence:
                if isinstance(realization, int | np.integer):
                    numbers[-1].append(int(realization))
                else:
                    table = tables[problem.index[name]]
                    numbers[-1].append(len(table))
                    table.append(np.asarray(realization, np.float64))
        return numbers, tables

    def findings(self, problem: MultistageProblem) -> list[str]:
        """Tell which sequences leave the graph or name realisations that are not there."""
        found = [] if self.sequences else ["sampling: there are no sequences"]
        for which, sequence in enumerate(self.sequences):
            where = f"sampling: sequence {which}"
            if not sequence:
                found.append(f"{where} is empty")
            before = ROOT
            for step, (name, realization) in enumerate(sequence):
                if name not in problem.children(before):
                    found.append(f"{where}, step {step}: node {name!r} cannot follow {before!r}")
                    break
                noise = problem.nodes[problem.index[name]].noise
                if isinstance(realization, int | np.integer):
                    if not 0 <= realization < len(noise):
                        found.append(f"{where}, step {step}: node {name!r} has no realisation {realization}")
                elif np.shape(np.asarray(realization)) != (len(noise.places),):
                    found.append(f"{where}, step {step}: give {len(noise.places)} values, one for each place")
                before = name
        return found

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        plain = [
            [[name, r if isinstance(r, int) else np.asarray(r).tolist()] for name, r in sequence]
            for sequence in self.sequences
        ]
        return {"type": "given", "sequences": plain}


def _drawn(
    problem: MultistageProblem, draw: Draw, noises: Sequence[Noise], tables: Mapping[int, Floats]
) -> Sample:
    ways = outcomes(problem)
    at = np.full(draw.count, -1)
    going = np.ones(draw.count, bool)
    nodes = np.full((draw.depth, draw.count), -1, np.int32)
    rows = np.zeros((draw.depth, draw.count), np.int32)
    for step, u in enumerate(draw.uniforms()):
        for number in sorted(set(at[going].tolist())):
            here = np.flatnonzero(going & (at == number))
            way = ways[number]
            if not way.children:
                going[here] = False
                continue
            chosen = _chosen(way.child_probabilities, u[here, 0], ends=way.ends)
            going[here[chosen == len(way.children)]] = False
            nodes[step, here] = np.array([*way.children, -1], np.int32)[chosen]
        for number in sorted(set(nodes[step, going].tolist())):
            here = np.flatnonzero(going & (nodes[step] == number))
            rows[step, here] = _chosen(noises[number].probabilities, u[here, 1], ends=False)
        if not going.any():
            return Sample(nodes[:step], rows[:step], tables)
        at = np.where(going, nodes[step], at)
    return Sample(nodes, rows, tables)


def _chosen(probabilities: Floats, u: Floats, *, ends: bool) -> Ints:
    """The outcome that each number falls on; ``ends`` adds one for what is missing to 1."""
    chosen = probabilities.cumsum().searchsorted(u, side="right")
    last = len(probabilities) if ends else int(probabilities.nonzero()[0][-1])
    return np.minimum(chosen, last, dtype=np.int32, casting="unsafe")
