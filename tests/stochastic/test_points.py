"""Points that fill a cube evenly: what each construction promises, counted; and SciPy's Sobol' numbers."""

import numpy as np
import pytest

from cobre.stochastic import Correlation, openings
from cobre.stochastic._points import MOST_SOBOL, halton, latin, sobol


def counts(points, *cells):
    """How many points there are in each box of a grid."""
    box = tuple(np.floor(points[:, i] * cell).astype(int) for i, cell in enumerate(cells))
    result = np.zeros(cells, int)
    np.add.at(result, box, 1)
    return result


@pytest.mark.parametrize("count", [1, 7, 20])
def test_a_latin_hypercube_has_a_point_in_each_layer(count):
    points = latin(3, 1, count, 5)
    for element in range(5):
        assert sorted(np.floor(points[:, element] * count)) == list(range(count))
    assert len({tuple(np.argsort(points[:, element])) for element in range(5)}) == min(5, count**4)


def test_sobol_points_are_a_net():
    """Boxes of equal volume have equally many points, for the first two dimensions a (0, 4, 2)-net."""
    points = sobol(3, 1, 16, 2)
    for across in (1, 2, 4, 8, 16):
        assert (counts(points, across, 16 // across) == 1).all()


def test_sobol_points_are_those_of_joe_and_kuo():
    """The first eight of five dimensions as SciPy 1.18 gives them without a shift, which moves all alike."""
    # SciPy's order is that of the Gray code.
    gray = [0, 1, 3, 2, 6, 7, 5, 4]
    wanted = 8 * np.array(
        [
            [0, 0, 0, 0, 0],
            [0.5, 0.5, 0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25, 0.25, 0.75],
            [0.25, 0.75, 0.75, 0.75, 0.25],
            [0.375, 0.375, 0.625, 0.875, 0.375],
            [0.875, 0.875, 0.125, 0.375, 0.875],
            [0.625, 0.125, 0.875, 0.625, 0.625],
            [0.125, 0.625, 0.375, 0.125, 0.125],
        ]
    )
    found = np.floor(8 * sobol(3, 1, 8, 5))[gray].astype(int)
    assert (found ^ found[0]).tolist() == wanted.astype(int).tolist()


def test_all_sobol_dimensions_are_one_dimensional_nets():
    points = sobol(3, 1, 64, MOST_SOBOL)
    assert (np.sort(np.floor(points * 64), axis=0) == np.arange(64)[:, None]).all()
    with pytest.raises(ValueError, match="1112 dimensions"):
        sobol(3, 1, 4, MOST_SOBOL + 1)


def test_halton_points_fall_into_the_cells_of_their_bases():
    """In bases 2 and 3, 36 points: one in each box of 4 by 9; in base 5, 25 points: one in each 25th."""
    assert (counts(halton(3, 1, 36, 2), 4, 9) == 1).all()
    assert sorted(np.floor(halton(3, 1, 25, 3)[:, 2] * 25)) == list(range(25))


@pytest.mark.parametrize("points", [latin, halton, sobol])
def test_each_point_is_uniform_by_itself(points):
    """Over many seeds, the first of three has the mean, the variance and the tails of a uniform number."""
    first = np.array([points(seed, 0, 3, 4)[0] for seed in range(2000)])
    error = 5 / np.sqrt(2000)
    assert first.mean(axis=0) == pytest.approx(np.full(4, 0.5), abs=error * np.sqrt(1 / 12))
    assert first.var(axis=0) == pytest.approx(np.full(4, 1 / 12), rel=error)
    assert 0 <= first.min() < 0.002
    assert 0.998 < first.max() < 1
    assert np.abs(np.corrcoef(first.T) - np.eye(4)).max() < error


@pytest.mark.parametrize("method", ["lhs", "qmc_halton", "qmc_sobol"])
def test_openings_of_even_points_have_better_means(method):
    """Of 64; independent ones miss the mean by 1/8, as a standard deviation over seeds."""
    together = Correlation({"all": ([0, 1], [[1.0, 0.6], [0.6, 1.0]])})
    means, both = [], []
    for seed in range(50):
        (noise,) = openings(seed, [0], [64], 3, together, methods=[method])
        means.append(noise.mean(axis=0))
        both.append(np.mean(noise[:, 0] * noise[:, 1]))
    assert np.std(means, axis=0).max() < 0.0625
    assert np.mean(both) == pytest.approx(0.6, abs=0.05)


def test_stages_differ_and_methods_may_too():
    one, two, three = openings(3, [0, 1, 2], [4, 4, 4], 2, methods=["lhs", "lhs", "saa"])
    assert not np.isclose(one, two).any()
    assert (three == openings(3, [2], [4], 2)[0]).all()
    with pytest.raises(ValueError, match="the method is 'selective'"):
        openings(3, [0], [4], 2, methods=["selective"])
