"""Noise keeps its realisations and tells what of them does not fit a programme."""

import pickle

import numpy as np
import pytest

from cobre.lp import LinearProgram, Noise

INF = np.inf
PROGRAM = LinearProgram(
    [1.0, 2.0, 3.0], [[1, 1, 0], [0, 1, 1]], row_lower=[0, 1], row_upper=[5, 1], column_upper=[9, 9, INF]
)


def test_no_noise_is_one_realisation_of_nothing():
    noise = Noise()
    assert (len(noise), noise.places, noise.table.shape) == (1, (), (1, 0))
    assert list(noise.findings(PROGRAM)) == []


def test_probabilities_alone_count_realisations():
    noise = Noise([0.25, 0.75])
    assert (len(noise), noise.table.shape) == (2, (2, 0))


def test_every_target_has_its_place():
    noise = Noise(
        [0.5, 0.5],
        coefficient={(0, 1): [1, 2]},
        cost={0: [3, 4]},
        column_upper={1: [5, 6]},
        column_lower={1: [0, 1]},
        fix={2: [7, 8]},
        row_upper={0: [9, 10]},
        row_lower={0: [1, 2]},
        rhs={1: [11, 12]},
    )
    assert noise.places == (
        ("rhs", 1),
        ("row_lower", 0),
        ("row_upper", 0),
        ("fix", 2),
        ("column_lower", 1),
        ("column_upper", 1),
        ("cost", 0),
        ("coefficient", (0, 1)),
    )
    np.testing.assert_array_equal(noise.table, [[11, 1, 9, 7, 0, 5, 3, 1], [12, 2, 10, 8, 1, 6, 4, 2]])
    assert list(noise.findings(PROGRAM)) == []
    copy = Noise.from_table(noise.places, noise.table, noise.probabilities)
    assert copy.places == noise.places
    np.testing.assert_array_equal(copy.table, noise.table)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(noise)).table, noise.table)


def test_arrays_are_copied_and_read_only():
    values, probabilities = np.array([1.0, 2.0]), np.array([0.5, 0.5])
    noise = Noise(probabilities, rhs={0: values})
    values[0] = probabilities[0] = 9
    assert (noise.table[0, 0], noise.probabilities[0]) == (1, 0.5)
    for array in (noise.table, noise.probabilities):
        with pytest.raises(ValueError, match=r"read-only"):
            array[0] = 3


def test_places_become_whole_numbers_of_python():
    noise = Noise(rhs={np.int64(1): [1]}, coefficient={(np.int32(0), np.int64(1)): [1]})
    assert [type(place) for _, place in noise.places] == [int, tuple]
    assert [type(index) for index in noise.places[1][1]] == [int, int]


def test_different_numbers_of_realisations_are_refused():
    with pytest.raises(ValueError, match=r"2 in rhs of 0, 3 in cost of 1, 1 in probabilities"):
        Noise([1.0], rhs={0: [1, 2]}, cost={1: [1, 2, 3]})


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"for 1 places .* \(1, 2\)"):
        Noise.from_table([("rhs", 0)], [[1, 2]])
    with pytest.raises(ValueError, match=r"2 rows, but 1 probabilities"):
        Noise.from_table([("rhs", 0)], [[1], [2]], [1.0])


@pytest.mark.parametrize(
    ("noise", "finding"),
    [
        (Noise(rhs={0: []}), "there are no realisations"),
        (Noise([0.5, 0.4]), "the probabilities of the realisations sum to 0.9, not to 1"),
        (Noise([1.5, -0.5]), "the probabilities of the realisations are 1.5, -0.5: each must be a number"),
        (Noise([np.nan, 1]), "the probabilities of the realisations are nan, 1: each must be a number"),
        (Noise.from_table([("right", 0)], [[1]]), "right of 0: there is no such target, only rhs, row_lower"),
        (Noise(rhs={2: [1]}), "rhs of 2: there is no row 2"),
        (Noise(rhs={-1: [1]}), "rhs of -1: there is no row -1"),
        (Noise(rhs={0.5: [1]}), "rhs of 0.5: there is no row 0.5"),
        (Noise(row_upper={2: [1]}), "row_upper of 2: there is no row 2"),
        (Noise(cost={3: [1]}), "cost of 3: there is no column 3"),
        (Noise(column_lower={3: [1]}), "column_lower of 3: there is no column 3"),
        (Noise(coefficient={(2, 0): [1]}), "coefficient of (2, 0): there is no row 2"),
        (Noise(coefficient={(0, 3): [1]}), "coefficient of (0, 3): there is no column 3"),
        (Noise(coefficient={0: [1]}), "coefficient of 0: it takes a pair of a row and a column"),
        (Noise(rhs={(0, 0): [1]}), "rhs of (0, 0): it takes the number of a row"),
        (Noise(cost={(0,): [1]}), "cost of (0,): it takes the number of a column"),
        (Noise.from_table([("rhs", 0)] * 2, [[1, 2]]), "rhs of 0: it is given 2 times"),
        (Noise(rhs={0: [1, INF]}), "realisation 1: the rhs of row 'r0' is inf"),
        (Noise(fix={0: [np.nan]}), "realisation 0: the fix of column 'x0' is nan"),
        (Noise(cost={2: [-INF]}), "realisation 0: the cost of column 'x2' is -inf"),
        (Noise(coefficient={(0, 1): [INF]}), "the coefficient of row 'r0' and column 'x1' is inf"),
        (Noise(row_lower={0: [0, np.nan]}), "realisation 1: the row_lower of row 'r0' is nan"),
        (Noise(row_lower={0: [0, 6]}), "realisation 1: row 'r0' has lower bound 6 above its upper bound 5"),
        (
            Noise(column_upper={1: [-1]}),
            "realisation 0: column 'x1' has lower bound 0 above its upper bound -1",
        ),
        (Noise(column_lower={2: [INF]}), "realisation 0: column 'x2' has bounds inf and inf"),
        (
            Noise(rhs={0: [1]}, row_lower={0: [1]}),
            "row 'r0' is changed by rhs, which sets both bounds, and by",
        ),
        (
            Noise(fix={0: [1]}, column_lower={0: [1]}, column_upper={0: [1]}),
            "column 'x0' is changed by fix, which sets both bounds, and by column_lower and column_upper",
        ),
    ],
)
def test_a_finding(noise, finding):
    [found] = noise.findings(PROGRAM)
    assert finding in found


def test_one_sided_bounds_may_be_infinite():
    assert list(Noise(row_upper={0: [INF, 2]}, column_lower={0: [-INF, 2]}).findings(PROGRAM)) == []


def test_both_bounds_may_move_together():
    assert list(Noise(row_lower={0: [7]}, row_upper={0: [8]}).findings(PROGRAM)) == []
    [found] = Noise(row_lower={0: [8]}, row_upper={0: [7]}).findings(PROGRAM)
    assert "lower bound 8 above its upper bound 7" in found


def test_all_findings_at_once():
    noise = Noise([0.5, 0.6], rhs={1: [1, np.nan]}, cost={4: [1, 2]}, row_lower={0: [6, 7]})
    assert len(list(noise.findings(PROGRAM))) == 5
