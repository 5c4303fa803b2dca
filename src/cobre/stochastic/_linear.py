"""Small dense linear algebra whose bits do not depend on a library.

BLAS and LAPACK choose the order of their sums by processor and by size. Here every sum has one order, and
every operation is elementwise; matrices have tens of rows, so that costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class NotPositive(ValueError):
    """A matrix is no correlation matrix: ``row`` is the first that contradicts those before it."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row

    def __str__(self) -> str:
        return f"the matrix is not positive semidefinite: row {self.row} contradicts those before it"


def cholesky(matrix: Floats, tolerance: float = 1e-12) -> Floats:
    """Return the lower triangle whose product with its transpose is a symmetric matrix.

    A matrix without full rank, of two identical series for instance, has columns of zeros. Only what is below
    and on the diagonal is read.

    Raises:
        NotPositive: there is no such triangle.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    array([[2., 0.],
           [1., 3.]])
    """
    left = np.tril(matrix)
    for j in range(len(left)):
        pivot, below = left[j, j], left[j + 1 :, j]
        if pivot <= tolerance:
            # |a_ij|² is at most a_ii a_jj, so next to a diagonal of rounding errors nothing else can be.
            wrong = np.abs(below) > np.sqrt(tolerance)
            if pivot < -tolerance:
                raise NotPositive(j)
            if np.any(wrong):
                raise NotPositive(j + 1 + int(np.argmax(wrong)))
            left[j:, j] = 0.0
            continue
        left[j, j] = np.sqrt(pivot)
        left[j + 1 :, j] = below / left[j, j]
        column = left[j + 1 :, j]
        left[j + 1 :, j + 1 :] = np.tril(left[j + 1 :, j + 1 :] - column[:, None] * column)
    return left


def solve(matrix: Floats, rhs: Floats, tolerance: float = 1e-14) -> Floats | None:
    """Return the solution of linear equations, or None if the matrix is singular for practical purposes.

    Gaussian elimination with partial pivoting.

    >>> solve(np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([4.0, 5.0]))
    array([3., 2.])
    """
    left, x = np.array(matrix, dtype=np.float64), np.array(rhs, dtype=np.float64)
    count = len(x)
    for j in range(count):
        best = j + int(np.argmax(np.abs(left[j:, j])))
        if not abs(left[best, j]) > tolerance:
            return None
        left[[j, best]], x[[j, best]] = left[[best, j]], x[[best, j]]
        factors = left[j + 1 :, j] / left[j, j]
        left[j + 1 :] = left[j + 1 :] - factors[:, None] * left[j]
        x[j + 1 :] = x[j + 1 :] - factors * x[j]
    for j in reversed(range(count)):
        x[j] = x[j] / left[j, j]
        x[:j] = x[:j] - left[:j, j] * x[j]
    return x
