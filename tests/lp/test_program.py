"""A linear programme keeps its numbers and tells all that is wrong with them."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cobre.lp import LinearProgram, SparseMatrix

INF = np.inf


@given(hnp.arrays(np.float64, st.tuples(st.integers(0, 5), st.integers(0, 5)), elements=st.floats(-9, 9)))
def test_a_dense_matrix_survives(dense):
    matrix = SparseMatrix.of(dense)
    np.testing.assert_array_equal(matrix.dense(), dense)
    assert list(matrix.findings()) == []
    assert matrix.starts.dtype == matrix.rows.dtype == np.int32


def test_a_matrix_with_tocoo_is_taken():
    class Entries:
        shape, row, col, data = (2, 2), [1, 1, 0], [0, 0, 1], [1.0, 2.0, 5.0]

        def tocoo(self):
            return self

    np.testing.assert_array_equal(SparseMatrix.of(Entries()).dense(), [[0, 5], [3, 0]])


def test_a_matrix_is_taken_as_it_is():
    matrix = SparseMatrix.of([[1.0]])
    assert SparseMatrix.of(matrix) is matrix


@pytest.mark.parametrize(("row", "column"), [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_entries_outside_the_shape_are_refused(row, column):
    with pytest.raises(ValueError, match=r"does not have"):
        SparseMatrix.from_entries((2, 3), [row], [column], [1.0])


def test_entries_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"1 rows, 2 columns and 1 values"):
        SparseMatrix.from_entries((2, 3), [0], [0, 1], [1.0])


def test_a_matrix_has_two_dimensions():
    with pytest.raises(ValueError, match=r"two dimensions, not 1"):
        SparseMatrix.of([1.0, 2.0])


@pytest.mark.parametrize(
    ("starts", "rows", "finding"),
    [
        ([0, 1], [0, 1], "2 starts, 2 rows and 2 values"),
        ([0, 1, 2], [0], "3 starts, 1 rows and 2 values"),
        ([0, 1, 3], [0, 1], "do not ascend from 0 to 2"),
        ([1, 1, 2], [0, 1], "do not ascend from 0 to 2"),
        ([0, 3, 2], [0, 1], "do not ascend from 0 to 2"),
        ([0, 1, 2], [0, 2], "outside its 2 rows"),
        ([0, 1, 2], [0, -1], "outside its 2 rows"),
        ([0, 2, 2], [1, 0], "rows do not ascend"),
        ([0, 2, 2], [1, 1], "rows do not ascend"),
    ],
)
def test_a_matrix_with_a_wrong_layout_is_found(starts, rows, finding):
    program = LinearProgram([1.0, 2.0], SparseMatrix((2, 2), starts, rows, [1.0, 1.0]))
    [found] = program.findings()
    assert finding in found


def test_what_is_not_given():
    program = LinearProgram([1, 2], [[1, 1]])
    assert (program.rows, program.columns, program.offset) == (1, 2, 0.0)
    assert (program.row_names, program.column_names) == (("r0",), ("x0", "x1"))
    for name, value in {"row_lower": [-INF], "row_upper": [INF], "column_lower": [0, 0]}.items():
        np.testing.assert_array_equal(getattr(program, name), value)
    np.testing.assert_array_equal(program.column_upper, [INF, INF])
    assert list(program.findings()) == []


def test_arrays_are_copied_and_read_only():
    costs = np.array([1.0])
    program = LinearProgram(costs, [[1.0]])
    costs[0] = 5
    assert program.costs[0] == 1
    for array in (program.costs, program.row_lower, program.matrix.values, program.matrix.starts):
        with pytest.raises(ValueError, match=r"read-only"):
            array[0] = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        program.costs = costs


def test_it_survives_pickling_and_replacing():
    program = LinearProgram([1.0], [[2.0]], row_lower=3, offset=4, column_names=["a"], row_names=["b"])
    for copy in (pickle.loads(pickle.dumps(program)), dataclasses.replace(program, column_upper=9)):
        assert copy.matrix.dense().tolist() == [[2.0]]
        assert (copy.offset, copy.column_names, copy.row_names) == (4.0, ("a",), ("b",))
        assert copy.row_lower.tolist() == [3.0]


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"costs": [1.0]}, "costs has 1 elements, but there are 2 columns"),
        ({"column_lower": [0, 0, 0]}, "column_lower has 3 elements, but there are 2 columns"),
        ({"column_upper": []}, "column_upper has 0 elements, but there are 2 columns"),
        ({"row_lower": [1, 2]}, "row_lower has 2 elements, but there are 1 rows"),
        ({"row_upper": [1, 2]}, "row_upper has 2 elements, but there are 1 rows"),
        ({"row_upper": [[1]]}, "row_upper has 2 dimensions; it takes one number for each of the rows"),
        ({"column_names": ["a"]}, "column_names has 1 elements, but there are 2 columns"),
        ({"row_names": ["a", "b"]}, "row_names has 2 elements, but there are 1 rows"),
        ({"costs": [1, np.nan]}, "the cost of column 'x1' is nan"),
        ({"costs": [-INF, 1]}, "the cost of column 'x0' is -inf"),
        ({"offset": np.nan}, "the offset is nan"),
        ({"matrix": [[1, INF]]}, "the coefficient of row 'r0' and column 'x1' is inf"),
        (
            {"column_lower": [2, 0], "column_upper": 1},
            "column 'x0' has lower bound 2 above its upper bound 1",
        ),
        ({"column_lower": INF}, "column 'x0' has bounds inf and inf, which no number meets"),
        ({"row_upper": -INF}, "row 'r0' has bounds -inf and -inf, which no number meets"),
        ({"row_upper": np.nan}, "row 'r0' has a bound that is nan"),
        ({"row_lower": 2, "row_upper": 1}, "row 'r0' has lower bound 2 above its upper bound 1"),
    ],
)
def test_a_finding(changes, finding):
    program = LinearProgram(**{"costs": [1.0, 2.0], "matrix": [[1.0, 1.0]]} | changes)
    assert finding in list(program.findings())


def test_all_findings_at_once():
    program = LinearProgram(
        [np.nan, 1], [[np.nan, 1]], row_lower=1, row_upper=0, column_lower=[3, 0], column_upper=[2, np.nan]
    )
    assert len(list(program.findings())) == 5


def test_coefficients_with_which_no_solver_can_compute_are_found():
    """The solver refuses such programmes, or never ends."""
    fine = LinearProgram([1.0, 1.0], [[1e15, 1e-30]])
    assert list(fine.findings()) == []
    for value in (2e15, -1e300, 1e-31, 1e-320):
        (found,) = LinearProgram([1.0, 1.0], [[1.0, value]]).findings()
        assert "above 1e+15 or below 1e-30 in size: 1, such as" in found
        assert "row 'r0' and column 'x1'" in found
