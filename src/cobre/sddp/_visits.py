"""The record of a simulation: visits of trajectories to nodes, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cobre.lp import Floats, Ints, Steps
from cobre.sddp import _forward
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Paths, Wanted
from cobre.sddp._structure import Structure
from cobre.sddp.problem import MultistageProblem
from cobre.sddp.sampling import Draw


@dataclass(frozen=True, eq=False)
class Visit:
    """The visit of some trajectories to one node at one step: in all arrays a row for each of them.

    Attributes:
        step: from 0.
        node: its number in the problem.
        trajectories: their numbers, of all that are simulated.
        realizations: the realisation of each of them.
        noise: the numbers of these, in the order of the node's `Noise.places`.
        costs: of the step, not discounted.
        objectives: these, and the discounted value of what follows as the policy sees it.
        incoming: the states on arrival, in the order of the problem's.
        outgoing: likewise, on leaving.
        columns: the values of the columns asked for.
        duals: those of the rows asked for: the cost of one more on the right-hand side.
    """

    step: int
    node: int
    trajectories: Ints
    realizations: Ints
    noise: Floats
    costs: Floats
    objectives: Floats
    incoming: Floats
    outgoing: Floats
    columns: Floats
    duals: Floats


class Recorder(Protocol):
    """A receiver of visits during a simulation.

    It is called on every rank with the visits of that rank's trajectories, a batch of whole trajectories at a
    time, and so must be picklable.
    """

    def __call__(self, visits: Sequence[Visit]) -> None:
        """Take the visits of some trajectories, in the order of steps."""


class Watcher:
    """Simulates trajectories and records their visits.

    Args:
        engine: with the policy in it.
        structure: of the problem that the engine has.
        wanted: columns and duals by node, of the problem as given.
    """

    def __init__(self, engine: Engine, structure: Structure, wanted: Sequence[Wanted]) -> None:
        self._engine, self._structure = engine, structure
        leaders = [structure.given.index[node.name] for node in engine.problem.nodes]
        self._wanted = {number: wanted[leader] for number, leader in enumerate(leaders)}

    def bytes_per_trajectory(self) -> int:
        """Return the memory for the visits of one trajectory, at most."""
        widths = [
            len(want.columns) + len(want.duals) + len(node.noise.places)
            for want, node in zip(self._wanted.values(), self._engine.problem.nodes, strict=True)
        ]
        return 8 * self._engine.depth * (max(widths) + 2 * self._engine.states + 4)

    def walk(self, draw: Draw) -> tuple[Paths, list[Visit]]:
        """Simulate the trajectories of a draw."""
        engine, problem = self._engine, self._structure.given
        sample = engine.method.sampling.sample(problem, draw)
        visits: list[Visit] = []

        def observe(step: int, _: int, together: NDArray[np.intp], paths: Paths, solved: Steps) -> None:
            nodes = sample.nodes[step, together]
            for number in np.unique(nodes).tolist():  # several only where nodes are merged
                own = nodes == number
                here = together if own.all() else together[own]
                result = solved if own.all() else Steps(*(part[own] for part in solved))
                table = sample.tables.get(number, problem.nodes[number].noise.table)
                visits.append(
                    Visit(
                        step,
                        number,
                        (draw.first + here).astype(np.int32),
                        sample.realizations[step, here],
                        table[sample.rows[step, here]],
                        engine.sign * result.costs,
                        engine.sign * result.objectives,
                        paths.states[step, here],
                        result.outgoing,
                        result.columns,
                        engine.sign * result.duals,
                    )
                )

        walked = self._structure.located(sample)
        return _forward.walk(engine, walked, wanted=self._wanted, observe=observe), visits


class VisitTable:
    """The table of a simulation, a row per trajectory and step: its columns, and visits as rows of numbers.

    Args:
        problem: what is simulated.
        columns: names of columns whose values to record.
        duals: names of rows whose duals to record.
    """

    def __init__(self, problem: MultistageProblem, columns: Sequence[str], duals: Sequence[str]) -> None:
        self._problem, self._columns, self._duals = problem, columns, duals
        states = problem.states
        self._labels = [f"{state}_in" for state in states] + [f"{state}_out" for state in states]
        self._labels += [*columns, *duals]
        self.width = 3 + len(self._labels)  # node, realisation and cost come first

    def wanted(self) -> list[Wanted]:
        """Return the columns and duals to read at each node."""
        programs = [node.program for node in self._problem.nodes]
        return [
            Wanted(_places(self._columns, program.column_names), _places(self._duals, program.row_names))
            for program in programs
        ]

    def rows(self, visits: Sequence[Visit], first: int, count: int, depth: int) -> Floats:
        """Return per trajectory the numbers of all its steps; missing ones are NaN."""
        record = np.full((count, depth, self.width), np.nan)
        states = len(self._problem.states)
        for visit in visits:
            node = self._problem.nodes[visit.node]
            program = node.program
            rows = record[visit.trajectories - first, visit.step]
            rows[:, 0], rows[:, 1], rows[:, 2] = visit.node, visit.realizations, visit.costs
            at = 3
            for carried, values in ((node.incoming, visit.incoming), (node.outgoing, visit.outgoing)):
                own = [i for i, name in enumerate(self._problem.states) if name in carried]
                rows[:, [at + i for i in own]] = values[:, own]
                at += states
            for names, known, values in (
                (self._columns, program.column_names, visit.columns),
                (self._duals, program.row_names, visit.duals),
            ):
                rows[:, [at + i for i, name in enumerate(names) if name in known]] = values
                at += len(names)
            record[visit.trajectories - first, visit.step] = rows
        return record.reshape(count, depth * self.width)

    def table(self, numbers: Floats, depth: int) -> pa.Table:
        """Return the rows of all trajectories as a table."""
        rows = numbers.reshape(-1, self.width)
        visited = np.flatnonzero(rows[:, 0] >= 0)
        rows = rows[visited]
        names = pa.array([node.name for node in self._problem.nodes])
        columns: dict[str, Any] = {
            "trajectory": pa.array(visited // depth, pa.int32()),
            "step": pa.array(visited % depth, pa.int32()),
            "node": pa.DictionaryArray.from_arrays(pa.array(rows[:, 0].astype(np.int32)), names),
            "realization": pa.array(rows[:, 1].astype(np.int32)),
            "cost": pa.array(rows[:, 2]),
        }
        for i, label in enumerate(self._labels):
            values = rows[:, 3 + i]
            columns[label] = pa.array(values, mask=np.isnan(values))
        return pa.table(columns)


def _places(names: Sequence[str], known: Sequence[str]) -> Ints:
    return np.array([known.index(name) for name in names if name in known], np.int32)
