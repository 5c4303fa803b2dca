"""What models leave unexplained, against the same sums written out, and NumPy's correlations."""

import numpy as np
import pytest

from cobre.stochastic import SeasonModel, consistent, residual_correlations, residuals


def model(mean, std, *coefficients):
    return SeasonModel(mean, std, np.array(coefficients), 1.0, 2)


def test_residuals_are_what_the_lags_do_not_explain():
    history = np.array([[10.0], [4.0], [14.0], [8.0]])  # two seasons, two years
    models = [(model(12.0, 2.0, 0.5), model(6.0, 4.0, 0.25, -0.5))]
    assert residuals(history, models).ravel().tolist()[2:] == [
        1.0 - 0.5 * -0.5,
        0.5 - (0.25 * 1.0 - 0.5 * -0.5),
    ]
    assert np.isnan(residuals(history, models)[:2]).all()  # their past is not known


def test_a_river_that_does_not_vary_has_no_noise():
    history = np.array([[5.0], [7.0]])
    assert residuals(history, [(model(5.0, 0.0),)]).ravel().tolist() == [0.0, 0.0]


def test_what_was_not_observed_is_unknown_and_so_is_what_follows_from_it():
    history = np.array([[1.0], [np.nan], [3.0], [4.0]])
    found = residuals(history, [(model(0.0, 1.0, 0.5),)]).ravel()
    assert np.isnan(found).tolist() == [True, True, True, False]
    assert found[3] == 4.0 - 1.5


def test_correlations_are_those_of_what_a_pair_has_in_common():
    random = np.random.default_rng(1)
    noise = random.normal(size=(200, 3))
    noise[:, 1] += noise[:, 0]
    noise[random.random(noise.shape) < 0.1] = np.nan
    (found,) = residual_correlations(noise, 1)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(noise[:, i]) & ~np.isnan(noise[:, j])
        assert found[i, j] == found[j, i] == pytest.approx(np.corrcoef(noise[both, i], noise[both, j])[0, 1])
    assert np.diag(found).tolist() == [1.0] * 3


@pytest.mark.parametrize(("years", "own"), [(30, True), (29, False)])
def test_seasons_with_few_observations_share_one_matrix(years, own):
    noise = np.random.default_rng(2).normal(size=(2 * years, 2))
    noise[::2, 1] += noise[::2, 0]
    first, second = residual_correlations(noise, 2)
    wanted = np.corrcoef((noise[::2] if own else noise).T)
    assert first == pytest.approx(wanted)
    assert (first[0, 1] != second[0, 1]) == own


def test_rivers_that_do_not_vary_are_independent():
    noise = np.column_stack([np.zeros(40), np.arange(40.0)])
    assert residual_correlations(noise, 1)[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_matrix_is_changed_only_where_it_contradicts_itself():
    random = np.random.default_rng(3)
    fewer_years_than_rivers = np.corrcoef(random.normal(size=(12, 8)))
    assert consistent(fewer_years_than_rivers) == pytest.approx(fewer_years_than_rivers, abs=1e-11)
    wrong = np.array([[1.0, 0.9, -0.2], [0.9, 1.0, 0.9], [-0.2, 0.9, 1.0]])
    assert np.linalg.eigvalsh(wrong)[0] < -0.1
    found = consistent(wrong)
    assert np.linalg.eigvalsh(found)[0] > -1e-12
    assert np.diag(found).tolist() == [1.0] * 3
    assert found[0, 2] / found[0, 1] == pytest.approx(-0.2 / 0.9)
