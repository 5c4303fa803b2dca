"""A linear programme as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A matrix by columns: the entries of column j are at ``starts[j]:starts[j + 1]``, rows ascending.

    >>> matrix = SparseMatrix.of([[1, 0], [2, 3]])
    >>> matrix.starts.tolist(), matrix.rows.tolist(), matrix.values.tolist()
    ([0, 2, 3], [0, 1, 1], [1.0, 2.0, 3.0])
    """

    shape: tuple[int, int]
    starts: Ints
    rows: Ints
    values: Floats

    @classmethod
    def of(cls, matrix: Any) -> Self:
        """Take a dense array, or any matrix with SciPy's ``tocoo``; entries given twice are added."""
        if isinstance(matrix, cls):
            return matrix
        if hasattr(matrix, "tocoo"):
            entries = matrix.tocoo()
            return cls.from_entries(entries.shape, entries.row, entries.col, entries.data)
        dense = np.asarray(matrix, np.float64)
        if dense.ndim != 2:
            raise ValueError(f"a matrix has two dimensions, not {dense.ndim}")
        rows, columns = np.nonzero(dense)
        return cls.from_entries((dense.shape[0], dense.shape[1]), rows, columns, dense[rows, columns])

    @classmethod
    def from_entries(
        cls, shape: tuple[int, int], rows: ArrayLike, columns: ArrayLike, values: ArrayLike
    ) -> Self:
        """Make it from the rows, columns and values of its entries; entries given twice are added.

        >>> SparseMatrix.from_entries((1, 2), [0, 0, 0], [1, 0, 1], [5.0, 1.0, 2.0]).dense()
        array([[1., 7.]])
        """
        rows, columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
        values = np.asarray(values, np.float64)
        for name, indices, limit in (("row", rows, shape[0]), ("column", columns, shape[1])):
            if indices.size and not (0 <= indices.min() and indices.max() < limit):
                raise ValueError(f"an entry is in a {name} that a matrix of shape {shape} does not have")
        places, where = np.unique(columns * max(shape[0], 1) + rows, return_inverse=True)
        sums = np.zeros(places.size)
        np.add.at(sums, where, values)
        starts = np.searchsorted(places, np.arange(shape[1] + 1) * max(shape[0], 1))
        entry_rows = (places % max(shape[0], 1)).astype(np.int32)
        return cls((int(shape[0]), int(shape[1])), starts.astype(np.int32), entry_rows, sums)

    @property
    def columns(self) -> Ints:
        """The column of each entry."""
        return np.repeat(np.arange(self.shape[1], dtype=np.int32), np.diff(self.starts))

    def dense(self) -> Floats:
        """Return it as a dense array."""
        dense = np.zeros(self.shape)
        dense[self.rows, self.columns] = self.values
        return dense


def _vector(value: ArrayLike, length: int) -> Floats:
    """One number for all, or one per element. A wrong length is kept for `LinearProgram.findings` to report."""
    array = np.array(value, np.float64)
    return np.full(length, array[()]) if array.ndim == 0 else array


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """``costs @ x + offset`` over ``row_lower <= matrix @ x <= row_upper`` and ``column_lower <= x <= column_upper``.

    Absent bounds are infinite. A vector may be given as one number for all its elements. The arrays are
    copied, and read-only. `findings` tells what is wrong; making one never fails on bad numbers.

    Args:
        costs: per column.
        matrix: rows by columns: dense, `SparseMatrix`, or any matrix with SciPy's ``tocoo``.
        row_lower: per row.
        row_upper: per row; for an equation the same as ``row_lower``.
        column_lower: per column, 0 unless given.
        column_upper: per column, infinite unless given.
        offset: a constant part of the cost.
        column_names: for messages and tables; ``x0``, ``x1``, ... unless given.
        row_names: likewise; ``r0``, ``r1``, ... unless given.

    >>> program = LinearProgram([1.0, 2.0], [[1, 1]], row_lower=3, row_upper=np.inf)
    >>> program.column_names, program.row_lower
    (('x0', 'x1'), array([3.]))
    """

    costs: Floats
    matrix: SparseMatrix
    row_lower: Floats = field(default=-np.inf)  # type: ignore[assignment]  # see __post_init__
    row_upper: Floats = field(default=np.inf)  # type: ignore[assignment]
    column_lower: Floats = field(default=0.0)  # type: ignore[assignment]
    column_upper: Floats = field(default=np.inf)  # type: ignore[assignment]
    offset: float = 0.0
    column_names: Sequence[str] = ()
    row_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        matrix = SparseMatrix.of(self.matrix)
        rows, columns = matrix.shape
        put = object.__setattr__
        put(self, "matrix", matrix)
        for name, length in (
            ("costs", columns),
            ("row_lower", rows),
            ("row_upper", rows),
            ("column_lower", columns),
            ("column_upper", columns),
        ):
            array = _vector(getattr(self, name), length)
            array.flags.writeable = False
            put(self, name, array)
        put(self, "column_names", tuple(self.column_names) or tuple(f"x{j}" for j in range(columns)))
        put(self, "row_names", tuple(self.row_names) or tuple(f"r{i}" for i in range(rows)))

    @property
    def columns(self) -> int:
        """How many columns it has."""
        return self.matrix.shape[1]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.matrix.shape[0]

    def findings(self) -> Iterator[str]:
        """Tell everything that is wrong with it, in words.

        >>> list(LinearProgram([np.nan], [[1.0]], row_lower=2, row_upper=1).findings())
        ["the cost of column 'x0' is nan", "row 'r0' has lower bound 2 above its upper bound 1"]
        """
        lengths = {"costs": self.columns, "column_lower": self.columns, "column_upper": self.columns}
        lengths |= {"row_lower": self.rows, "row_upper": self.rows}
        lengths |= {"column_names": self.columns, "row_names": self.rows}
        wrong = {name for name, length in lengths.items() if np.shape(getattr(self, name)) != (length,)}
        for name in sorted(wrong):
            yield f"{name} has {len(getattr(self, name))} elements, but there are {lengths[name]}"
        if wrong:
            return
        for j in np.flatnonzero(~np.isfinite(self.costs)):
            yield f"the cost of column {self.column_names[j]!r} is {self.costs[j]:g}"
        if not np.isfinite(self.offset):
            yield f"the offset is {self.offset:g}"
        for entry in np.flatnonzero(~np.isfinite(self.matrix.values)):
            row = self.row_names[self.matrix.rows[entry]]
            column = self.column_names[self.matrix.columns[entry]]
            yield f"the coefficient of row {row!r} and column {column!r} is {self.matrix.values[entry]:g}"
        for what, names, lower, upper in (
            ("column", self.column_names, self.column_lower, self.column_upper),
            ("row", self.row_names, self.row_lower, self.row_upper),
        ):
            yield from bound_findings([f"{what} {name!r}" for name in names], lower, upper)


def bound_findings(names: Sequence[str], lower: Floats, upper: Floats) -> Iterator[str]:
    """Tell which pairs of bounds no number can lie between."""
    for i in np.flatnonzero(~((lower <= upper) & (lower < np.inf) & (upper > -np.inf))):
        if np.isnan(lower[i]) or np.isnan(upper[i]):
            yield f"{names[i]} has a bound that is nan"
        elif lower[i] > upper[i]:
            yield f"{names[i]} has lower bound {lower[i]:g} above its upper bound {upper[i]:g}"
        else:
            yield f"{names[i]} has bounds {lower[i]:g} and {upper[i]:g}, which no number meets"
