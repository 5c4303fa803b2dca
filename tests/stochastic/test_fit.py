"""Fitted models against the models that made the data, and against NumPy."""

import numpy as np
import pytest

from cobre.stochastic import generator
from cobre.stochastic._fit import _contributions, estimate
from cobre.stochastic._par import residual_ratios

MEANS = [100.0, 80.0, 30.0, 55.0]
STDS = [20.0, 12.0, 5.0, 9.0]


def history(model, years, seed=1, means=MEANS, stds=STDS):
    """Inflows of a known model, by the recursion that defines it, after a century to forget its start."""
    ratios, seasons = residual_ratios(model), len(model)
    noise, z, rows = generator(seed).normal(size=(years + 100, seasons)), [0.0] * 12, []
    for year in range(years + 100):
        for season, psi in enumerate(model):
            value = sum(c * z[k] for k, c in enumerate(psi)) + ratios[season] * noise[year, season]
            z = [value, *z[:-1]]
            if year >= 100:
                rows.append((year, season, means[season] + stds[season] * value))
    return rows


def standardised(rows, seasons):
    table = np.array([value for *_, value in rows]).reshape(-1, seasons)
    return ((table - table.mean(axis=0)) / table.std(axis=0)).ravel()


KNOWN = [[0.7], [0.4, 0.3], [0.6], [0.3, 0.0, 0.4]]


def test_a_long_series_gives_back_its_model():
    """Standard errors of coefficients are about 1/√years."""
    fitted = estimate(history(KNOWN, 20_000), 4, max_order=3)
    for season, (model, psi) in enumerate(zip(fitted, KNOWN, strict=True)):
        expected = np.zeros(len(model.coefficients))
        expected[: len(psi)] = psi
        assert len(model.coefficients) >= len(psi)
        np.testing.assert_allclose(model.coefficients, expected, atol=5 / 20_000**0.5)
        assert model.ratio == pytest.approx(residual_ratios(KNOWN)[season], rel=0.03)
        assert model.mean_m3s == pytest.approx(MEANS[season], rel=0.02)
        assert model.std_m3s == pytest.approx(STDS[season], rel=0.03)
        assert model.observations == 20_000


def test_coefficients_are_those_of_least_squares():
    """The normal equations of a long series are the Yule-Walker equations but for its ends."""
    rows = history(KNOWN, 2_000)
    z = standardised(rows, 4)
    for season, model in enumerate(estimate(rows, 4, max_order=3)):
        order = len(model.coefficients)
        at = np.arange(season + 4, len(z), 4)
        past = np.stack([z[at - k] for k in range(1, order + 1)], axis=1)
        expected = np.linalg.lstsq(past, z[at], rcond=None)[0]
        np.testing.assert_allclose(model.coefficients, expected, atol=2e-3)


def test_one_season_of_one_lag_in_closed_form():
    rows = history([[0.6]], 500)
    z = standardised(rows, 1)
    rho = (z[1:] * z[:-1]).mean()
    (model,) = estimate(rows, 1, max_order=1)
    assert model.coefficients.tolist() == pytest.approx([rho])
    assert model.ratio == pytest.approx((1 - rho**2) ** 0.5)
    table = np.array([value for *_, value in rows])
    assert (model.mean_m3s, model.std_m3s) == pytest.approx((table.mean(), table.std()))


@pytest.mark.parametrize("max_order", [1, 4])
def test_a_season_that_its_past_explains_wholly_keeps_all_its_noise(max_order):
    """Correlations of exactly 1. The ratios and coefficients are those that cobre-python 0.5.1 exports."""
    rows = [(y, m, mean * (1.25 if y % 2 else 0.75)) for y in range(40) for m, mean in enumerate(MEANS)]
    first, *others = estimate(rows, 4, max_order=max_order)
    assert first.coefficients.tolist() == []  # it falls after each rise
    assert [model.coefficients.tolist() for model in others] == [[1.0]] * 3
    assert {model.ratio for model in (first, *others)} == {1.0}


def test_orders_are_the_largest_significant_lag():
    """Partial autocorrelations by NumPy; those of true order 0 are within the bounds 95 times in 100."""
    rows = history([[], [], [], []], 400)
    orders = [len(model.coefficients) for model in estimate(rows, 4)]
    assert sum(order > 0 for order in orders) <= 1
    assert [len(m.coefficients) for m in estimate(history(KNOWN, 3000), 4, max_order=1)] == [1, 1, 1, 1]


def test_order_zero_as_the_limit():
    assert all(
        len(m.coefficients) == 0 and m.ratio == 1 for m in estimate(history(KNOWN, 50), 4, max_order=0)
    )


def test_the_order_of_observations_means_nothing():
    rows = history(KNOWN, 60)
    shuffled = [rows[i] for i in generator(3).permutation(len(rows))]
    for one, other in zip(estimate(rows, 4), estimate(shuffled, 4), strict=True):
        assert one.coefficients.tobytes() == other.coefficients.tobytes()
        assert (one.mean_m3s, one.std_m3s, one.ratio) == (other.mean_m3s, other.std_m3s, other.ratio)


def test_gaps_pair_the_years_that_are_there():
    rows = history(KNOWN, 20_000)
    holes = [row for i, row in enumerate(rows) if i % 7 != 3]
    for model, psi in zip(estimate(holes, 4, max_order=3), KNOWN, strict=True):
        np.testing.assert_allclose(model.coefficients[: len(psi)], psi, atol=0.05)


def test_lags_reach_over_more_than_a_year():
    """A lag of three seasons in a year of two: only pairs of the right years show it."""
    rows = history([[0.3, 0.1, 0.7], []], 5_000, means=MEANS[:2], stds=STDS[:2])
    first, second = estimate(rows, 2, max_order=3)
    np.testing.assert_allclose(first.coefficients, [0.3, 0.1, 0.7], atol=0.05)
    assert len(second.coefficients) == 0 or abs(second.coefficients).max() < 0.1


@pytest.mark.parametrize(
    ("values", "moments"),
    [
        ([7.0] * 10, (7.0, 0.0)),
        ([3.0] * 6 + [1.0, 9.0, 4.0, 5.0], (3.0, 0.0)),
        ([3.0] * 5 + [1.0] * 5, (2.0, 1.0)),
    ],
)
def test_seasons_that_hardly_vary_are_constant(values, moments):
    rows = [(year, 0, value) for year, value in enumerate(values)]
    (model,) = estimate(rows, 1, max_order=0)
    assert (model.mean_m3s, model.std_m3s) == moments


def test_a_season_that_does_not_vary_has_no_past_and_is_none():
    rows = [(y, s, 5.0 if s == 1 else v) for y, s, v in history(KNOWN, 500)]
    fitted = estimate(rows, 4, max_order=3)
    assert fitted[1].std_m3s == 0
    assert len(fitted[1].coefficients) == 0
    assert len(fitted[2].coefficients) == 0 or fitted[2].coefficients[0] == 0


def test_a_negative_first_coefficient_is_no_hydrology():
    (model,) = estimate(history([[-0.7]], 300), 1)
    assert len(model.coefficients) == 0
    assert model.ratio == 1


def test_negative_influence_reduces_orders():
    """0.5 z₁ - 0.5 z₂: the influence of two seasons ago is 0.5² - 0.5 = -0.25."""
    rows = history([[0.5, -0.5]], 2_000)
    (model,) = estimate(rows, 1, max_order=2)
    assert len(model.coefficients) == 1
    (kept,) = estimate(history([[0.5, 0.3]], 2_000), 1, max_order=2)
    assert len(kept.coefficients) == 2
    assert _contributions([kept], 0)[1] == pytest.approx(kept.coefficients[0] ** 2 + kept.coefficients[1])


def test_influences_are_the_response_to_one_more_m3s():
    """An impulse response of the model in m³/s, by running it."""
    fitted = estimate(history(KNOWN, 3_000), 4, max_order=3)
    for season, model in enumerate(fitted):
        for lag, influence in enumerate(_contributions(fitted, season), 1):
            response = [1.0]
            for step in range(1, lag + 1):
                now = fitted[(season - lag + step) % 4]
                response.append(
                    sum(
                        c * now.std_m3s / fitted[(season - lag + step - k) % 4].std_m3s * response[step - k]
                        for k, c in enumerate(now.coefficients[:step], 1)
                    )
                )
            assert influence == pytest.approx(response[lag])
        assert len(model.coefficients) == len(_contributions(fitted, season))


def test_a_bound_on_coefficients():
    rows = history([[0.9]], 500)
    assert len(estimate(rows, 1, max_order=1, max_coefficient=0.5)[0].coefficients) == 0
    assert len(estimate(rows, 1, max_order=1, max_coefficient=0.99)[0].coefficients) == 1


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([(1, 0, 1.0)], "season 0 has 1 observations"),
        ([(1, 0, 1.0), (1, 0, 2.0)], "season 0 of year 1 is observed twice"),
        ([(1, 1, 1.0)], "of season 1; there are 1"),
    ],
)
def test_what_cannot_be_fitted_is_named(rows, words):
    with pytest.raises(ValueError, match=words):
        estimate(rows, 1)
