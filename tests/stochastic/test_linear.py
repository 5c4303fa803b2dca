"""Our own small linear algebra against NumPy's."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cobre.stochastic import generator
from cobre.stochastic._linear import NotPositive, cholesky, solve


@given(st.integers(1, 20), st.integers(0, 1000))
def test_cholesky_is_numpys(count, seed):
    root = generator(seed).normal(size=(count, count))
    matrix = root @ root.T + np.eye(count)
    np.testing.assert_allclose(cholesky(matrix), np.linalg.cholesky(matrix), rtol=1e-9, atol=1e-10)


@given(st.integers(1, 12), st.integers(1, 11), st.integers(0, 1000))
def test_a_matrix_without_full_rank_has_a_factor(count, rank, seed):
    root = generator(seed).normal(size=(count, rank))
    root /= np.sqrt((root**2).sum(axis=1))[:, None]
    # Rows that nearly depend on each other are refused or not by rounding, which depends on the processor.
    assume(np.linalg.svd(root[:rank], compute_uv=False).min() > 0.02)
    factor = cholesky(root @ root.T)
    np.testing.assert_allclose(factor @ factor.T, root @ root.T, atol=1e-7)


def test_only_the_lower_triangle_is_read():
    np.testing.assert_array_equal(cholesky(np.array([[4.0, 9.0], [2.0, 10.0]])), [[2, 0], [1, 3]])


@pytest.mark.parametrize(
    ("matrix", "row"),
    [([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], 2), ([[1, 1, 0], [1, 1, 0.5], [0, 0.5, 1]], 2)],
)
def test_no_correlation_matrix(matrix, row):
    with pytest.raises(NotPositive) as caught:
        cholesky(np.array(matrix, float))
    assert caught.value.row == row
    assert f"row {row}" in str(caught.value)


@given(st.integers(1, 20), st.integers(0, 1000))
def test_solutions_are_numpys(count, seed):
    rng = generator(seed)
    matrix, rhs = rng.normal(size=(count, count)) + 3 * np.eye(count), rng.normal(size=count)
    np.testing.assert_allclose(matrix @ solve(matrix, rhs), rhs, atol=1e-9)
    np.testing.assert_allclose(solve(matrix, rhs), np.linalg.solve(matrix, rhs), rtol=1e-6, atol=1e-8)


def test_a_singular_matrix_has_no_solution():
    assert solve(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2)) is None
    assert solve(np.array([[np.nan]]), np.ones(1)) is None
    assert solve(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
