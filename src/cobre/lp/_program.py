"""A linear programme as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A matrix by columns: the entries of column j are at ``starts[j]:starts[j + 1]``, rows ascending.

    Its arrays are copied, and read-only.

    >>> matrix = SparseMatrix.of([[1, 0], [2, 3]])
    >>> matrix.starts.tolist(), matrix.rows.tolist(), matrix.values.tolist()
    ([0, 2, 3], [0, 1, 1], [1.0, 2.0, 3.0])
    """

    shape: tuple[int, int]
    starts: Ints
    rows: Ints
    values: Floats

    def __post_init__(self) -> None:
        kinds: dict[str, type[np.generic]] = {"starts": np.int32, "rows": np.int32, "values": np.float64}
        for name, kind in kinds.items():
            object.__setattr__(self, name, _frozen(np.array(getattr(self, name), kind)))

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

        Raises:
            ValueError: the three differ in length, or an entry lies outside the shape.

        >>> SparseMatrix.from_entries((1, 2), [0, 0, 0], [1, 0, 1], [5.0, 1.0, 2.0]).dense()
        array([[1., 7.]])
        """
        row, column = (np.asarray(indices, np.int64).reshape(-1) for indices in (rows, columns))
        value = np.asarray(values, np.float64).reshape(-1)
        if not row.size == column.size == value.size:
            raise ValueError(f"{row.size} rows, {column.size} columns and {value.size} values are no entries")
        for name, indices, limit in (("row", row, shape[0]), ("column", column, shape[1])):
            if indices.size and not (indices.min() >= 0 and indices.max() < limit):
                raise ValueError(f"an entry is in a {name} that a matrix of shape {shape} does not have")
        height = max(shape[0], 1)
        places, where = np.unique(column * height + row, return_inverse=True)
        sums = np.zeros(places.size)
        np.add.at(sums, where, value)
        starts = np.searchsorted(places, np.arange(shape[1] + 1) * height).astype(np.int32)
        return cls((int(shape[0]), int(shape[1])), starts, (places % height).astype(np.int32), sums)

    @property
    def columns(self) -> Ints:
        """The column of each entry."""
        return np.repeat(np.arange(self.shape[1], dtype=np.int32), np.diff(self.starts))

    def dense(self) -> Floats:
        """Return it as a dense array."""
        dense = np.zeros(self.shape)
        dense[self.rows, self.columns] = self.values
        return dense

    def findings(self) -> Iterator[str]:
        """Tell what is wrong with its layout, which `of` and `from_entries` always get right.

        >>> list(SparseMatrix((1, 1), np.array([0, 1]), np.array([3]), np.array([1.0])).findings())
        ['the matrix has an entry outside its 1 rows']
        """
        starts, rows = self.starts, self.rows
        if starts.shape != (self.shape[1] + 1,) or rows.ndim != 1 or rows.shape != self.values.shape:
            yield (
                f"the matrix has {starts.size} starts, {rows.size} rows and {self.values.size} values; "
                f"{self.shape[1]} columns take {self.shape[1] + 1} starts, and each value a row"
            )
        elif starts[0] != 0 or starts[-1] != rows.size or np.any(np.diff(starts) < 0):
            yield f"the starts of the matrix do not ascend from 0 to {rows.size}, the number of its entries"
        elif np.any((rows < 0) | (rows >= self.shape[0])):
            yield f"the matrix has an entry outside its {self.shape[0]} rows"
        else:
            same_column = np.diff(self.columns) == 0
            if np.any(np.diff(rows)[same_column] <= 0):
                yield "the matrix has a column whose rows do not ascend; make it by SparseMatrix.from_entries"


@lru_cache(maxsize=16)
def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    """The first of equal tuples: those of a problem's programmes would take more memory than the numbers."""
    return names


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


#: Beyond these, scaling does not bring coefficients near enough to 1 for the solver.
LARGEST, SMALLEST = 1e15, 1e-30


@dataclass(frozen=True, eq=False, init=False)
class LinearProgram:
    """A cost, and the rows and bounds that its columns must meet.

    That is ``costs @ x + offset`` over ``row_lower <= matrix @ x <= row_upper`` and
    ``column_lower <= x <= column_upper``. Whether it is minimised or maximised is its user's to say.
    Absent bounds of rows are infinite. A vector may be given as one number for all its elements. The
    arrays are copied, and read-only. `findings` tells what is wrong; making one never fails on bad numbers.

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
    row_lower: Floats
    row_upper: Floats
    column_lower: Floats
    column_upper: Floats
    offset: float
    column_names: tuple[str, ...]
    row_names: tuple[str, ...]

    def __init__(  # noqa: PLR0913, PLR0917  they are what a linear programme consists of
        self,
        costs: ArrayLike,
        matrix: Any,
        row_lower: ArrayLike = -np.inf,
        row_upper: ArrayLike = np.inf,
        column_lower: ArrayLike = 0.0,
        column_upper: ArrayLike = np.inf,
        offset: float = 0.0,
        column_names: Sequence[str] = (),
        row_names: Sequence[str] = (),
    ) -> None:
        sparse = SparseMatrix.of(matrix)
        rows, columns = sparse.shape
        values: dict[str, object] = {
            "costs": _vector(costs, columns),
            "matrix": sparse,
            "row_lower": _vector(row_lower, rows),
            "row_upper": _vector(row_upper, rows),
            "column_lower": _vector(column_lower, columns),
            "column_upper": _vector(column_upper, columns),
            "offset": float(offset),
            "column_names": _once(tuple(column_names) or tuple(f"x{j}" for j in range(columns))),
            "row_names": _once(tuple(row_names) or tuple(f"r{i}" for i in range(rows))),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.matrix.shape[1]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.matrix.shape[0]

    def findings(self) -> Iterator[str]:
        """Tell everything that is wrong with it, in words.

        >>> list(LinearProgram([np.nan], [[1.0]], row_lower=2, row_upper=1).findings())
        ["the cost of column 'x0' is nan", "row 'r0' has lower bound 2 above its upper bound 1"]
        """
        misshapen = [*self.matrix.findings(), *self._length_findings()]
        yield from misshapen
        if misshapen:  # what follows would look at the wrong elements
            return
        for j in np.flatnonzero(~np.isfinite(self.costs)):
            yield f"the cost of column {self.column_names[j]!r} is {self.costs[j]:g}"
        if not np.isfinite(self.offset):
            yield f"the offset is {self.offset:g}"
        for entry in np.flatnonzero(~np.isfinite(self.matrix.values)):
            row = self.row_names[self.matrix.rows[entry]]
            column = self.column_names[self.matrix.columns[entry]]
            yield f"the coefficient of row {row!r} and column {column!r} is {self.matrix.values[entry]:g}"
        yield from self._size_findings()
        for what, names, lower, upper in (
            ("column", self.column_names, self.column_lower, self.column_upper),
            ("row", self.row_names, self.row_lower, self.row_upper),
        ):
            yield from bound_findings([f"{what} {name!r}" for name in names], lower, upper)

    def _size_findings(self) -> Iterator[str]:
        """Tell of coefficients with which no solver can compute; the first stands for all."""
        sizes = np.abs(self.matrix.values)
        wrong = np.flatnonzero(np.isfinite(sizes) & ((sizes > LARGEST) | (sizes < SMALLEST)) & (sizes > 0))
        if len(wrong):
            first = wrong[0]
            row, column = (
                self.row_names[self.matrix.rows[first]],
                self.column_names[self.matrix.columns[first]],
            )
            yield (
                f"coefficients above {LARGEST:g} or below {SMALLEST:g} in size: {len(wrong)}, such as "
                f"{self.matrix.values[first]:g} of row {row!r} and column {column!r}"
            )

    def _length_findings(self) -> Iterator[str]:
        columns = dict.fromkeys(("costs", "column_lower", "column_upper", "column_names"), self.columns)
        rows = dict.fromkeys(("row_lower", "row_upper", "row_names"), self.rows)
        for what, lengths in (("columns", columns), ("rows", rows)):
            for name, length in lengths.items():
                shape = np.shape(getattr(self, name))
                if len(shape) > 1:
                    yield f"{name} has {len(shape)} dimensions; it takes one number for each of the {what}"
                elif shape != (length,):
                    yield f"{name} has {shape[0]} elements, but there are {length} {what}"


def _vector(value: ArrayLike, length: int) -> Floats:
    """One number for all, or one per element; a wrong length is left for `findings` to tell."""
    array = np.array(value, np.float64)
    return _frozen(np.full(length, array[()]) if array.ndim == 0 else array)


def bound_findings(names: Sequence[str], lower: Floats, upper: Floats) -> Iterator[str]:
    """Tell which pairs of bounds no number can lie between."""
    for i in np.flatnonzero(~((lower <= upper) & (lower < np.inf) & (upper > -np.inf))).tolist():
        if np.isnan(lower[i]) or np.isnan(upper[i]):
            yield f"{names[i]} has a bound that is nan"
        elif lower[i] > upper[i]:
            yield f"{names[i]} has lower bound {lower[i]:g} above its upper bound {upper[i]:g}"
        else:
            yield f"{names[i]} has bounds {lower[i]:g} and {upper[i]:g}, which no number meets"
