"""A programme as highspy's own model: for one-off solves, and to be written to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import highspy
import numpy as np

from cobre.lp._noise import Place
from cobre.lp._program import Floats, LinearProgram, SparseMatrix

_TOUCHES = {
    "rhs": ("row_lower", "row_upper"),
    "fix": ("column_lower", "column_upper"),
    "cost": ("costs",),
    "row_lower": ("row_lower",),
    "row_upper": ("row_upper",),
    "column_lower": ("column_lower",),
    "column_upper": ("column_upper",),
}


def realized(program: LinearProgram, places: Sequence[Place], values: Floats) -> LinearProgram:
    """Return the programme with one realisation's numbers in it.

    >>> program = LinearProgram([1.0], [[1.0]])
    >>> realized(program, [("rhs", 0), ("coefficient", (0, 0))], np.array([5.0, 2.0])).matrix.dense()
    array([[2.]])
    """
    names = ("costs", "row_lower", "row_upper", "column_lower", "column_upper")
    vectors = {name: getattr(program, name).copy() for name in names}
    matrix = program.matrix
    for (target, place), value in zip(places, values, strict=True):
        if isinstance(place, tuple):
            rows, columns = [*matrix.rows, place[0]], [*matrix.columns, place[1]]
            known = (matrix.rows == place[0]) & (matrix.columns == place[1])
            numbers = [*np.where(known, 0.0, matrix.values), value]
            matrix = SparseMatrix.from_entries(matrix.shape, rows, columns, numbers)
        else:
            for name in _TOUCHES[target]:
                vectors[name][place] = value
    return replace(program, matrix=matrix, **vectors)


def highs_of(program: LinearProgram) -> Any:
    """Return a quiet `highspy.Highs` that holds the programme, with its names, to be minimised."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.columns, program.rows
    lp.col_cost_, lp.offset_ = program.costs, program.offset
    lp.col_lower_, lp.col_upper_ = program.column_lower, program.column_upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = program.matrix.starts, program.matrix.rows
    lp.a_matrix_.value_ = program.matrix.values
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.passModel(lp)
    for names, pass_name in (
        (program.column_names, highs.passColName),
        (program.row_names, highs.passRowName),
    ):
        if len(set(names)) == len(names):  # a file in which two share a name could not be read again
            for number, name in enumerate(names):
                pass_name(number, "_".join(name.split()) or f"_{number}")
    return highs
