"""What a stage's programme needs of a periodic autoregressive model, against closed forms and recursions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobre.stochastic._par import Annual, autocorrelations, residual_ratios, resolve

COEFFICIENT = st.floats(-0.3, 0.3)  # at most three of them: their sum stays below 1, so all models are stable
MODEL = st.lists(st.lists(COEFFICIENT, max_size=3), min_size=1, max_size=5)


def stationary_covariance(standardised, ratios, years=150):
    """Covariance of the last values, by running ``P ← A P Aᵀ + Q`` season by season from zero."""
    lags = max(1, *(len(psi) for psi in standardised)) + 1
    covariance, result = np.zeros((lags, lags)), {}
    for _ in range(years):
        for season, (psi, ratio) in enumerate(zip(standardised, ratios, strict=True)):
            step = np.eye(lags, k=-1)
            step[0, : len(psi)] = psi
            covariance = step @ covariance @ step.T
            covariance[0, 0] += ratio**2
            result[season] = covariance
    return result


@given(MODEL)
def test_ratios_give_every_season_its_variance(model):
    """The variance of standardised inflows is 1, whatever season: an oracle that knows no Yule-Walker."""
    ratios = residual_ratios(model)
    rho = autocorrelations([np.array(psi) for psi in model])
    for season, covariance in stationary_covariance(model, ratios).items():
        np.testing.assert_allclose(np.diag(covariance), 1, rtol=1e-9)
        np.testing.assert_allclose(covariance[0, 1 : 1 + rho.shape[1]], rho[season], atol=1e-9)


@pytest.mark.parametrize("psi", [-0.9, 0.0, 0.5, 0.99])
def test_one_lag_in_closed_form(psi):
    assert residual_ratios([[psi]])[0] == pytest.approx((1 - psi**2) ** 0.5)
    assert autocorrelations([np.array([psi])])[0, 0] == pytest.approx(psi)


def test_two_lags_in_closed_form():
    """Box, Jenkins and Reinsel 2008, section 3.2.4: the first two autocorrelations and the variance."""
    one, two = 0.5, 0.3
    first = one / (1 - two)
    second = one * first + two
    np.testing.assert_allclose(autocorrelations([np.array([one, two])])[0], [first, second])
    expected = (1 + two) / (1 - two) * ((1 - two) ** 2 - one**2)
    assert residual_ratios([[one, two]])[0] ** 2 == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ([[0.5], [1.2]], "season 1"),
        ([[1.1]], "season 0"),
        ([[0.0, 1.5]], "season 0"),
        ([[0.4, 1.0]], "a root"),
    ],
)
def test_models_that_no_inflow_can_follow(model, words):
    with pytest.raises(ValueError, match=words):
        residual_ratios(model)


def test_without_coefficients_the_moments_are_the_model():
    model = resolve([100, 50], [30, 0], [[], []])
    assert model.base_m3s.tolist() == [100, 50]
    assert model.scale_m3s.tolist() == [30, 0]
    assert [len(psi) for psi in model.coefficients] == [0, 0]


@given(st.integers(0, 3), st.integers(1, 4), st.data())
def test_deviations_from_the_mean_follow_the_standardised_model(order, stages, data):
    """``(a - μ) / s`` computed both ways, from the same past and the same noise."""
    number = st.floats(1, 100)
    means = data.draw(st.lists(number, min_size=stages + order, max_size=stages + order))
    stds = data.draw(st.lists(number, min_size=stages + order, max_size=stages + order))
    inflows = data.draw(st.lists(number, min_size=order, max_size=order))
    psi = data.draw(
        st.lists(st.lists(COEFFICIENT, min_size=order, max_size=order), min_size=stages, max_size=stages)
    )
    ratios = np.full(stages, 0.7)
    model = resolve(
        means[order:],
        stds[order:],
        psi,
        ratios=ratios,
        past_means=means[:order][::-1],
        past_stds=stds[:order][::-1],
    )
    series = list(inflows)
    for stage in range(stages):
        now, noise = stage + order, 0.25 * (stage - 1)
        z = [(series[now - k] - means[now - k]) / stds[now - k] for k in range(1, order + 1)]
        expected = means[now] + stds[now] * (np.dot(psi[stage], z) + 0.7 * noise)
        lags = [series[now - k] for k in range(1, order + 1)]
        value = (
            model.base_m3s[stage] + np.dot(model.coefficients[stage], lags) + model.scale_m3s[stage] * noise
        )
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-6)
        series.append(value)


def test_the_reference_case_of_one_lag():
    """Mean 100 and coefficient 1/2 in all stages: half of the mean is certain."""
    model = resolve([100] * 3, [1e-10] * 3, [[0.5]] * 3, ratios=[1] * 3, past_means=[100], past_stds=[1e-10])
    assert model.base_m3s.tolist() == [50, 50, 50]
    assert [psi.tolist() for psi in model.coefficients] == [[0.5]] * 3
    assert model.scale_m3s.tolist() == [1e-10] * 3


def test_lags_to_what_does_not_vary_count_for_nothing():
    model = resolve([10, 20, 30], [0, 5, 6], [[], [0.5], [0.5, 0.25]], ratios=[1, 0.9, 0.8])
    assert model.coefficients[1].tolist() == [0]
    assert model.coefficients[2].tolist() == pytest.approx([0.6, 0])
    assert model.base_m3s.tolist() == pytest.approx([10, 20, 30 - 0.6 * 20])
    assert resolve([10, 20], [5, 0], [[], [0.5]], ratios=[1, 0.9]).scale_m3s.tolist() == [5, 0]


def test_the_mean_of_the_past_year_is_spread_over_its_stages():
    """Against the formula with the mean itself: ``s (Σ ψ* z + ψ (A - μ_A) / s_A)``."""
    rng = np.random.default_rng(1)
    means, stds, past = rng.uniform(50, 100, 13), rng.uniform(5, 10, 13), rng.uniform(50, 100, 12)
    year = Annual(coefficient=0.3, std_m3s=4.0)
    model = resolve(
        means[12:], stds[12:], [[0.4]], ratios=[0.5], annual=[year],
        past_means=means[11::-1].tolist(), past_stds=stds[11::-1].tolist(),
    )  # fmt: skip
    annual_term = 0.3 * (past.mean() - means[:12].mean()) / 4.0
    expected = means[12] + stds[12] * (0.4 * (past[11] - means[11]) / stds[11] + annual_term)
    assert model.base_m3s[0] + model.coefficients[0] @ past[::-1] == pytest.approx(expected)
    assert len(model.coefficients[0]) == 12
    flat = resolve([1] * 13, [1] * 13, [[]] * 13, ratios=[1] * 13, annual=[None] * 12 + [Annual(0.3, 0.0)])
    assert flat.coefficients[12].tolist() == [0] * 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2], [1], [[], []]), "2 means, 1 standard deviations"),
        (([1, 2], [1, -1], [[], []]), "stage 1: mean 2.0, standard deviation -1.0"),
        (([1, np.nan], [1, 1], [[], []]), "stage 1: mean nan"),
        (([1, 2], [1, 1], [[], [0.5]]), "stage 1 has coefficients; give the ratios"),
        (([1, 2], [1, 1], [[], [0.5]], [1]), "1 ratios for 2 stages"),
        (([1, 2], [1, 1], [[], [0.5]], [1, 1.5]), "stage 1: the ratio is 1.5"),
        (([1, 2], [1, 1], [[], [0.5]], [1, np.nan]), "stage 1: the ratio is nan"),
        (([1, 2], [1, 1], [[0.5], []], [1, 1]), "stage 0 has 1 lags"),
        (([1], [1], [[0.5]], [1], [1.0]), "1 means and 0 standard deviations before"),
    ],
)
def test_what_is_missing_or_impossible_is_named(arguments, words):
    names = ("mean_m3s", "std_m3s", "standardised", "ratios", "past_means")
    with pytest.raises(ValueError, match=words):
        resolve(**dict(zip(names, arguments, strict=False)))
