"""A simulation as one table, a row per trajectory and step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.lp import Floats, Ints
from cobre.sddp._forward import Wanted
from cobre.sddp._visits import Visit
from cobre.sddp.problem import MultistageProblem


class Columns:
    """The columns of the table: which they are, and how visits become rows of numbers.

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
        """What to ask each node for."""
        programs = [node.program for node in self._problem.nodes]
        return [
            Wanted(_places(self._columns, program.column_names), _places(self._duals, program.row_names))
            for program in programs
        ]

    def rows(self, visits: Sequence[Visit], first: int, count: int, depth: int) -> Floats:
        """Per trajectory, the numbers of all its steps; what there is not is NaN."""
        record = np.full((count, depth, self.width), np.nan)
        states = len(self._problem.states)
        for visit in visits:
            program = self._problem.nodes[visit.node].program
            rows = record[visit.trajectories - first, visit.step]
            rows[:, 0], rows[:, 1], rows[:, 2] = visit.node, visit.realizations, visit.costs
            rows[:, 3 : 3 + states], rows[:, 3 + states : 3 + 2 * states] = visit.incoming, visit.outgoing
            at = 3 + 2 * states
            for names, known, values in (
                (self._columns, program.column_names, visit.columns),
                (self._duals, program.row_names, visit.duals),
            ):
                rows[:, [at + i for i, name in enumerate(names) if name in known]] = values
                at += len(names)
            record[visit.trajectories - first, visit.step] = rows
        return record.reshape(count, depth * self.width)

    def table(self, numbers: Floats, depth: int) -> pa.Table:
        """The rows of all trajectories, as a table."""
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
