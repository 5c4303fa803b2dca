"""Several nodes as the realisations of one: the numbers in which their programmes differ, as noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Noise, Place, SparseMatrix
from cobre.sddp.problem import Node

Places = NDArray[np.integer[Any]]

#: The numbers that a target of noise changes: the vector of a programme, or its matrix.
_CHANGED = {
    "rhs": ("row_lower", "row_upper"),
    "row_lower": ("row_lower",),
    "row_upper": ("row_upper",),
    "fix": ("column_lower", "column_upper"),
    "column_lower": ("column_lower",),
    "column_upper": ("column_upper",),
    "cost": ("costs",),
    "coefficient": ("matrix",),
}


def joint_node(nodes: Sequence[Node], chances: Floats) -> Node | None:
    """Return one node with each realisation of each of the nodes, in their order.

    Args:
        nodes: with the same columns, rows, states and offset.
        chances: the probability of each node; they sum to 1.

    Returns:
        The node, called as the first; None if noise cannot express what differs.
    """
    first = nodes[0]
    pattern = _pattern(nodes)
    vectors = [_Numbers(node, pattern) for node in nodes]
    changing = {
        name: np.flatnonzero(np.any([each.differs(name, vectors[0]) for each in vectors], axis=0))
        for name in vectors[0].values
    }
    arriving = list(first.incoming.values())
    if np.isin(arriving, [*changing["column_lower"], *changing["column_upper"]]).any():
        return None  # the engine fixes these columns, so that noise may not change them
    series = {
        (name, int(place)): values
        for name, places in changing.items()
        for place, values in zip(
            places, np.concatenate([each.realized(name, places) for each in vectors]).T, strict=True
        )
    }
    program = replace(first.program, matrix=pattern.matrix(vectors[0].values["matrix"]))
    places = dict(_places(series, pattern))
    weights = np.concatenate(
        [chance * node.noise.probabilities for chance, node in zip(chances, nodes, strict=True)]
    )
    table = np.column_stack(list(places.values())) if places else np.empty((len(weights), 0))
    noise = Noise.from_table(tuple(places), table, weights)
    return None if list(noise.findings(program)) else replace(first, program=program, noise=noise)


class _Pattern:
    """The places of a matrix at which one of several programmes, or its noise, has an entry."""

    def __init__(self, shape: tuple[int, int], keys: Places) -> None:
        self._shape, self.keys = shape, keys

    def keys_of(self, rows: Places, columns: Places) -> Places:
        """Return numbers that ascend as the entries of a `SparseMatrix` do."""
        return np.asarray(np.asarray(columns, np.int64) * self._shape[0] + rows)

    def at(self, rows: Places, columns: Places) -> Places:
        """Return the numbers of entries."""
        return np.asarray(np.searchsorted(self.keys, self.keys_of(rows, columns)))

    def place(self, number: int) -> tuple[int, int]:
        """Return the row and column of an entry."""
        column, row = divmod(int(self.keys[number]), self._shape[0])
        return row, column

    def matrix(self, values: Floats) -> SparseMatrix:
        """Return the matrix with these values, zeros included."""
        rows, columns = self.keys % max(self._shape[0], 1), self.keys // max(self._shape[0], 1)
        starts = np.searchsorted(columns, np.arange(self._shape[1] + 1))
        return SparseMatrix(self._shape, starts.astype(np.int32), rows.astype(np.int32), values)


def _pattern(nodes: Sequence[Node]) -> _Pattern:
    empty = _Pattern(nodes[0].program.matrix.shape, np.empty(0, np.int64))
    keys = [empty.keys_of(node.program.matrix.rows, node.program.matrix.columns) for node in nodes]
    for node in nodes:
        entries = [place for _, place in node.noise.places if isinstance(place, tuple)]
        keys += [empty.keys_of(np.array([row]), np.array([column])) for row, column in entries]
    return _Pattern(nodes[0].program.matrix.shape, np.unique(np.concatenate(keys)))


class _Numbers:
    """The numbers of a node's programme as vectors of the same lengths as those of its siblings."""

    def __init__(self, node: Node, pattern: _Pattern) -> None:
        program, self._noise = node.program, node.noise
        entries = np.zeros(len(pattern.keys))
        entries[pattern.at(program.matrix.rows, program.matrix.columns)] = program.matrix.values
        names = ("row_lower", "row_upper", "column_lower", "column_upper", "costs")
        self.values: dict[str, Floats] = {name: getattr(program, name) for name in names}
        self.values["matrix"] = entries
        #: The column of the noise's table that sets a number, by its vector and its place there.
        self._set: dict[str, dict[int, int]] = {name: {} for name in self.values}
        for column, (target, place) in enumerate(node.noise.places):
            index = int(pattern.at(*map(np.array, place))) if isinstance(place, tuple) else place
            for name in _CHANGED[target]:
                self._set[name][index] = column

    def differs(self, name: str, other: _Numbers) -> np.ndarray:
        """Tell which numbers of a vector change with the realisation, or are not those of another node."""
        different: np.ndarray = self.values[name] != other.values[name]
        different[list(self._set[name])] = True
        return different

    def realized(self, name: str, places: Places) -> Floats:
        """Return some numbers of a vector: realisations by places."""
        numbers = np.tile(self.values[name][places], (len(self._noise), 1))
        for i, place in enumerate(places.tolist()):
            if place in self._set[name]:
                numbers[:, i] = self._noise.table[:, self._set[name][place]]
        return numbers


def _places(series: Mapping[tuple[str, int], Floats], pattern: _Pattern) -> Iterator[tuple[Place, Floats]]:
    """The places of the noise with their values; bounds that are always equal are one place."""
    for kind, both in (("row", "rhs"), ("column", "fix")):
        lower, upper = f"{kind}_lower", f"{kind}_upper"
        for i in sorted({place for name, place in series if name in (lower, upper)}):
            known = {name: series[name, i] for name in (lower, upper) if (name, i) in series}
            if len(known) > 1 and np.array_equal(known[lower], known[upper]):
                yield (both, i), known[lower]
            else:
                yield from (((name, i), values) for name, values in known.items())
    for (name, i), values in series.items():
        if name == "costs":
            yield ("cost", i), values
        elif name == "matrix":
            yield ("coefficient", pattern.place(i)), values
