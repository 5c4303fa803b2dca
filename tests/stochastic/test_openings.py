"""Openings: functions of their coordinates, standard normal, correlated as asked."""

import numpy as np
import pytest

from cobre.stochastic._correlation import Correlation
from cobre.stochastic._counter import uniforms
from cobre.stochastic._openings import OPENINGS, SIMULATION, TRAINING, openings, out_of_sample

MATRIX = [[1.0, 0.8, -0.3], [0.8, 1.0, 0.1], [-0.3, 0.1, 1.0]]


def test_a_number_depends_on_seed_stage_opening_and_entity_only():
    large = openings(3, [4, 5, 6], [20, 30, 10], dimension=7)
    small = openings(3, [5], [11], dimension=3)
    assert small[0].tobytes() == np.ascontiguousarray(large[1][:11, :3]).tobytes()


def test_no_number_comes_twice():
    tables = [
        *openings(3, range(5), [50] * 5, 7),
        *openings(4, range(5), [50] * 5, 7),
        *out_of_sample(3, range(50), range(5), 7),
        *out_of_sample(3, range(50), range(5), 7, purpose=TRAINING),
        *out_of_sample(3, range(50), range(5), 7, iteration=1, purpose=TRAINING),
    ]
    numbers = np.concatenate([table.ravel() for table in tables])
    assert len(np.unique(numbers)) == len(numbers) == 25 * 50 * 7


def test_draws_of_trajectories_share_no_point_with_noise():
    """They have the bare purposes 0 and 1 as their last coordinate; noise has 256 and more."""
    noise = openings(3, [1], [1], 2)[0]
    assert not np.array_equal(uniforms(3, 1, 0, 0, OPENINGS), uniforms(3, 1, 0, 0, 256 + OPENINGS))
    assert noise.shape == (1, 2)


def test_stages_with_one_number_share_their_noise():
    first, second = openings(3, [8, 8], [4, 6], 3)
    assert np.array_equal(first, second[:4])


@pytest.mark.parametrize(
    "make",
    [lambda n, c: openings(1, [0], [n], 4, c)[0], lambda n, c: out_of_sample(1, range(n), [0], 4, c)[0]],
)
def test_correlations_are_those_asked_for(make):
    """Five standard errors, for numbers that never change; entity 1 is in no group."""
    count = 20_000
    noise = make(count, Correlation({"all": ([3, 0, 2], MATRIX)}))
    expected = np.eye(4)
    expected[np.ix_([3, 0, 2], [3, 0, 2])] = MATRIX
    assert np.abs(np.cov(noise.T, bias=True) - expected).max() < 5 * (2 / count) ** 0.5
    assert np.abs(noise.mean(axis=0)).max() < 5 / count**0.5


def test_independent_entities_keep_their_bits():
    plain = openings(1, [0], [9], 4)[0]
    correlated = openings(1, [0], [9], 4, Correlation({"all": ([3, 0, 2], MATRIX)}))[0]
    assert np.array_equal(plain[:, [1, 3]], correlated[:, [1, 3]])
    assert not np.any(plain[:, [0, 2]] == correlated[:, [0, 2]])


def test_the_factor_is_cholesky_s():
    z = openings(1, [0], [5], 3)[0]
    correlated = openings(1, [0], [5], 3, Correlation({"all": (range(3), MATRIX)}))[0]
    np.testing.assert_allclose(correlated, z @ np.linalg.cholesky(MATRIX).T, rtol=1e-13)


def test_perfect_correlation_is_allowed():
    for sign in (1.0, -1.0):
        noise = openings(1, [0], [5], 2, Correlation({"twins": ([0, 1], [[1, sign], [sign, 1]])}))[0]
        assert np.array_equal(noise[:, 0], sign * noise[:, 1])


def test_profiles_by_stage():
    profile = Correlation({"twins": ([0, 1], [[1, 1], [1, 1]])})
    first, second = openings(1, [0, 1], [5, 5], 2, [None, profile])
    assert not np.any(first[:, 0] == first[:, 1])
    assert np.array_equal(second[:, 0], second[:, 1])


@pytest.mark.parametrize("dimension", [0, 1, 2, 5])
def test_any_dimension(dimension):
    assert openings(1, [0], [3], dimension)[0].shape == (3, dimension)
    assert out_of_sample(1, [0, 9], [0], dimension)[0].shape == (2, dimension)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"a": ([0, 1], [[1, 0.5]])}, "group 'a' has 2 entities and a matrix of shape"),
        ({"a": ([], [])}, "at least one entity"),
        ({"a": ([0, 1], [[1, 0.5], [0.4, 1]])}, "not symmetric: 0.5 for entities 0 and 1"),
        ({"a": ([4, 7], [[1, 0.5], [0.5, 0.9]])}, "diagonal: 0.9 for entities 7 and 7"),
        ({"a": ([4, 7], [[1, 1.5], [1.5, 1]])}, "beyond 1: 1.5 for entities 4 and 7"),
        ({"a": ([4, 7], [[1, np.nan], [np.nan, 1]])}, "not symmetric: nan"),
        ({"a": ([0, 1], [[1, 0], [0, 1]]), "b": ([1], [[1]])}, "entity 1 is in group 'a' and again in 'b'"),
        ({"a": ([0, 0], [[1, 0], [0, 1]])}, "again in 'a'"),
        (
            {"a": ([5, 6, 7], [[1, 0.9, -0.9], [0.9, 1, 0.8], [-0.9, 0.8, 1]])},
            "first those of entity 7, the strongest of which is -0.9 with entity 5",
        ),
    ],
)
def test_what_is_no_correlation_is_refused(groups, words):
    with pytest.raises(ValueError, match=words):
        Correlation(groups)


def test_arguments_that_do_not_go_together():
    profile = Correlation({"a": ([0, 3], np.eye(2))})
    with pytest.raises(ValueError, match="2 stages and 1 numbers of openings"):
        openings(1, [0, 1], [3], 2)
    with pytest.raises(ValueError, match="1 stages and 2 correlations"):
        openings(1, [0], [3], 4, [profile, profile])
    with pytest.raises(ValueError, match="positions from 0 to 2"):
        out_of_sample(1, [0], [3], 3, profile)
    with pytest.raises(ValueError, match="purpose"):
        out_of_sample(1, [0], [3], 3, purpose=OPENINGS)
    assert SIMULATION != TRAINING
