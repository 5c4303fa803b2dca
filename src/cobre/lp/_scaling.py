"""Units in which a programme is easy to solve.

The solver's own scaling is off, because rows that come later would be scaled by factors from before, and the
same programme reached in another way would give other bits. All factors here are powers of two, so going to
scaled units and back changes no bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cobre.elementary import log2
from cobre.lp._noise import Noise
from cobre.lp._program import Floats, LinearProgram

#: Passes of geometric scaling (Curtis and Reid 1972; Fourer 1982); further ones hardly change anything.
PASSES = 4


class Scales(NamedTuple):
    """``x = column * x'``, ``row' = row * matrix``, ``cost' = cost * costs``; all powers of two."""

    row: Floats
    column: Floats
    cost: float


def scales_of(program: LinearProgram, noise: Noise) -> Scales:
    """Choose scales for which coefficients, bounds and costs are near 1 in the geometric mean.

    >>> scales_of(LinearProgram([1 / 4, 1 / 2], [[1024, 2048]], row_lower=4096), Noise())
    Scales(row=array([0.00024414]), column=array([4., 4.]), cost=1.0)
    """
    rows, columns = np.zeros(program.rows), np.zeros(program.columns)  # logarithms to base 2
    matrix = program.matrix
    entries = matrix.values != 0
    logs = log2(np.abs(matrix.values[entries]))
    at_row, at_column = matrix.rows[entries], matrix.columns[entries]
    for _ in range(PASSES):
        rows = -_middle(logs + columns[at_column], at_row, program.rows)
        columns = -_middle(logs + rows[at_row], at_column, program.columns)
    row, column = _power_of_two(rows), _power_of_two(columns)

    # One more factor for all columns, undone in all rows: it leaves the matrix and brings the bounds near 1.
    size = _power_of_two(_median_log(_bounds(program, noise, row, column)))
    column, row = column * size, row / size
    costs = np.concatenate([program.costs * column, *_noisy(noise, "cost", column)])
    return Scales(row, column, float(_power_of_two(-_median_log(costs))))


def _middle(logs: Floats, groups: np.ndarray, count: int) -> Floats:
    """Half-way between the least and the greatest of each group; 0 for empty groups."""
    least, greatest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, groups, logs)
    np.maximum.at(greatest, groups, logs)
    with np.errstate(invalid="ignore"):
        return np.where(least <= greatest, (least + greatest) / 2, 0.0)


def _power_of_two(log: Floats | float) -> Floats:
    """The nearest one."""
    return np.ldexp(np.float64(1), np.asarray(np.round(log), np.int32)).astype(np.float64)


def _median_log(numbers: Floats) -> float:
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    return float(np.median(log2(sizes))) if sizes.size else 0.0


def _bounds(program: LinearProgram, noise: Noise, row: Floats, column: Floats) -> Floats:
    parts = [program.row_lower * row, program.row_upper * row]
    parts += [program.column_lower / column, program.column_upper / column]
    for target in ("rhs", "row_lower", "row_upper"):
        parts += _noisy(noise, target, row)
    for target in ("fix", "column_lower", "column_upper"):
        parts += _noisy(noise, target, 1 / column)
    return np.concatenate(parts)


def _noisy(noise: Noise, target: str, factors: Floats) -> list[Floats]:
    return [
        noise.table[:, w] * factors[place]
        for w, (kind, place) in enumerate(noise.places)
        if kind == target and not isinstance(place, tuple)
    ]
