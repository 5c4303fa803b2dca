"""The components of a stage's cost."""

from __future__ import annotations

import numpy as np

from cobre.elements.registry import collect
from cobre.elements.solved import ProgramIndex, SolvedStage
from cobre.elements.tables import CostComponent
from cobre.lp import Floats

#: The value of the cuts of another study after the last stage: no cost of an element.
FUTURE = CostComponent(-1, "future_cost", "value of another study's cuts", ("future",))


class StageCosts:
    """The columns of a stage's programme by cost component.

    Args:
        places: of the programme.

    Raises:
        KeyError: a column costs something and belongs to no component.
    """

    def __init__(self, places: ProgramIndex) -> None:
        self._components = [FUTURE, *(one for costs in collect("outputs", "COSTS").values() for one in costs)]
        component = {kind: one.name for one in self._components for kind in one.columns}
        columns: dict[str, list[int]] = {one.name: [] for one in self._components}
        for column in np.flatnonzero(places.costs):
            kind = places.column_names[column].split(":", 1)[0]
            columns[component[kind]].append(int(column))
        self._columns = columns

    def of(self, solved: SolvedStage) -> dict[str, Floats]:
        """Return the components by name."""
        costs = {one.name: _sum(solved, self._columns[one.name]) for one in self._components}
        for one in self._components:
            if one.from_upper:
                for column in self._columns[one.name]:
                    costs[one.name] -= solved.places.costs[column] * solved.upper(column)
            for part in one.sum_of:
                costs[one.name] += costs[part]
        return costs


def _sum(solved: SolvedStage, columns: list[int]) -> Floats:
    """The cost of some columns in their order: a sum by NumPy would depend on the number of trajectories."""
    if not columns:
        return np.zeros(solved.count)
    costs = solved.visit.columns[:, columns] * solved.places.costs[columns]
    return np.cumsum(costs, axis=1)[:, -1] + 0.0  # so that a cost of -0.0 is 0.0
