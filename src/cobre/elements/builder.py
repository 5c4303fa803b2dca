"""A linear programme under construction, by the names of its columns and rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cobre.lp import LinearProgram, SparseMatrix


class ProgramBuilder:
    """Builds a `LinearProgram` column by column and row by row.

    Columns and rows are numbered in the order in which they are added. A name is a kind of column, then the
    element and, if need be, the block that it belongs to: ``turbined:3:0``.

    >>> builder = ProgramBuilder()
    >>> x = builder.add_column("x", cost=2.0, upper=5.0)
    >>> _ = builder.add_row("least", {x: 1.0}, lower=3.0)
    >>> builder.program().column_names
    ('x',)
    """

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}
        self._costs: list[float] = []
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._rows: dict[str, int] = {}
        self._row_lower: list[float] = []
        self._row_upper: list[float] = []
        self._entries: dict[tuple[int, int], float] = {}

    def add_column(self, name: str, *, cost: float = 0.0, lower: float = 0.0, upper: float = np.inf) -> int:
        """Add a column; return its number."""
        self._columns[name] = len(self._columns)
        self._costs.append(float(cost))
        self._lower.append(float(lower))
        self._upper.append(float(upper))
        return self._columns[name]

    def add_row(
        self, name: str, entries: Mapping[int, float], *, lower: float = -np.inf, upper: float = np.inf
    ) -> int:
        """Add a row; return its number."""
        number = self._rows[name] = len(self._rows)
        self._row_lower.append(float(lower))
        self._row_upper.append(float(upper))
        for column, value in entries.items():
            self.add_to_entry(number, column, value)
        return number

    def add_equation(self, name: str, entries: Mapping[int, float], rhs: float) -> int:
        """Add a row that must equal a number; return its number."""
        return self.add_row(name, entries, lower=rhs, upper=rhs)

    def add_to_entry(self, row: int, column: int, value: float) -> None:
        """Add to a coefficient."""
        if value != 0:
            self._entries[row, column] = self._entries.get((row, column), 0.0) + value

    def __getitem__(self, name: str) -> int:
        """The number of a column."""
        return self._columns[name]

    def upper(self, name: str) -> float:
        """The upper bound of a column."""
        return self._upper[self._columns[name]]

    def __contains__(self, name: str) -> bool:
        """True if there is such a column."""
        return name in self._columns

    def program(self) -> LinearProgram:
        """Return what has been added as arrays."""
        places = np.array(list(self._entries), np.int64).reshape(-1, 2)
        shape = (len(self._rows), len(self._columns))
        matrix = SparseMatrix.from_entries(shape, places[:, 0], places[:, 1], list(self._entries.values()))
        return LinearProgram(
            self._costs,
            matrix,
            self._row_lower,
            self._row_upper,
            self._lower,
            self._upper,
            column_names=tuple(self._columns),
            row_names=tuple(self._rows),
        )
