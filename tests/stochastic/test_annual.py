"""Models with the mean of the past year, against plain matrices and against a model that made the history."""

import numpy as np
import pytest

from cobre.stochastic import estimate, openings, residuals

MEANS = 100 + 40 * np.cos(np.pi * np.arange(12) / 6)
STD = 20.0


def history(years, psi=0.35, phi=(0.4, 0.2), seed=3):
    """Years by months of a known model, and the noise that made them: in units of each month's deviation."""
    (noise,) = openings(seed, [0], [12 * (years + 30)], 1)
    z = np.zeros(len(noise))
    for t in range(12, len(z)):
        past = z[t - 12 : t][::-1]
        lags = phi[: 1 + t % 2]  # one in even months, two in odd ones
        z[t] = np.dot(lags, past[: len(lags)]) + psi * past.mean() + 0.6 * noise[t, 0]
    z = z[12 * 30 :].reshape(years, 12)
    return MEANS + STD * z


def rows(values, first=1950):
    return [
        (first + year, month, value)
        for year, own in enumerate(values.tolist())
        for month, value in enumerate(own)
    ]


def correlations(values, month, order):
    """Of a month, those before it up to the order, and the mean of the past year: one after the other."""
    flat = values.ravel()
    year = np.array(
        [np.nan if t < 11 or t == len(flat) - 1 else flat[t - 11 : t + 1].mean() for t in range(len(flat))]
    )

    def deviations(series, lag):
        """Of the season so long before the month, standardised and in years: NaN where there is none."""
        at = np.arange(month, len(flat), 12) - lag
        own = np.arange((month - lag) % 12, len(flat), 12)
        known = series[own][~np.isnan(series[own])]
        found = np.where(at >= 0, series[at], np.nan)
        return (found - known.mean()) / known.std(), len(known)

    columns = [deviations(flat, lag) for lag in range(order + 1)] + [deviations(year, 1)]
    matrix = np.eye(order + 2)
    for i, (one, count) in enumerate(columns):
        for j, (other, others) in enumerate(columns):
            both = ~np.isnan(one * other)
            pairs = both.sum() if order + 1 not in (i, j) else max(count, others)
            if i != j:
                matrix[i, j] = (one * other)[both].sum() / pairs
    return matrix


@pytest.mark.parametrize("month", range(12))
def test_coefficients_solve_the_equations_of_their_order(month):
    values = history(40)
    model = estimate(rows(values), 12, annual=True)[month]
    order = len(model.coefficients)
    matrix = correlations(values, month, order)
    wanted = np.linalg.solve(matrix[1:, 1:], matrix[0, 1:])
    assert [*model.coefficients, model.annual.coefficient] == pytest.approx(wanted.tolist(), abs=1e-9)
    assert model.ratio == pytest.approx(np.sqrt(1 - wanted @ matrix[0, 1:]), abs=1e-9)
    flat = values.ravel()
    years = [flat[t - 12 : t].mean() for t in range(12, len(flat)) if t % 12 == month]
    assert model.annual.mean_m3s == pytest.approx(np.mean(years))
    assert model.annual.std_m3s == pytest.approx(np.std(years))


@pytest.mark.parametrize("month", range(12))
def test_the_order_is_the_largest_significant_partial_correlation(month):
    """By the inverse of the correlations; unless later seasons reduced it, it is the one of the model."""
    values = history(40, psi=0.1)
    model = estimate(rows(values), 12, annual=True)[month]
    significant = []
    for lag in range(1, 7):
        inverse = np.linalg.inv(correlations(values, month, lag))
        partial = -inverse[0, lag] / np.sqrt(inverse[0, 0] * inverse[lag, lag])
        if abs(partial) > 1.96 / np.sqrt(40):
            significant.append(lag)
    assert len(model.coefficients) in {max(significant, default=1), *range(max(significant, default=1))}
    assert len(model.coefficients) >= min(1, len(significant))


def test_a_long_history_tells_the_model_that_made_it():
    models = estimate(rows(history(4000)), 12, max_order=2, annual=True)
    for month, model in enumerate(models):
        known = (0.4, 0.2)[: 1 + month % 2]
        for lag, (psi, wanted) in enumerate(zip(model.coefficients, known, strict=False), 1):
            assert psi * model.std_m3s / models[month - lag].std_m3s == pytest.approx(wanted, abs=0.05)
        year = model.annual.coefficient * model.std_m3s / model.annual.std_m3s
        assert year == pytest.approx(0.35, abs=0.12)
        assert model.ratio * model.std_m3s == pytest.approx(0.6 * STD, rel=0.04)


def test_residuals_are_what_the_model_does_not_explain():
    """In m³/s: less than the lags and the year add to the mean of the season."""
    values = history(30)
    models = estimate(rows(values), 12, annual=True)
    found = residuals(values.reshape(-1, 1), [models])[:, 0]
    flat, means = values.ravel(), np.array([model.mean_m3s for model in models])
    assert np.isnan(found[:12]).all()
    for t in range(12, len(flat), 17):
        model = models[t % 12]
        before = [(t - lag) % 12 for lag in range(1, 13)]
        z = (flat[t] - model.mean_m3s) / model.std_m3s
        for lag, psi in enumerate(model.coefficients, 1):
            z -= psi * (flat[t - lag] - means[before[lag - 1]]) / models[before[lag - 1]].std_m3s
        year = flat[t - 12 : t].mean() - means.mean()
        assert found[t] == pytest.approx(z - model.annual.coefficient * year / model.annual.std_m3s, abs=1e-9)


def test_a_season_without_lags_keeps_the_year():
    """Above the limit of coefficients, and where the first would be negative."""
    values = history(40)
    free = estimate(rows(values), 12, annual=True)
    bounded = estimate(rows(values), 12, annual=True, max_coefficient=0.1)
    assert all(len(model.coefficients) == 0 for model in bounded)
    assert all(model.annual.coefficient != 0 for model in bounded)
    assert any(
        one.annual.coefficient != other.annual.coefficient for one, other in zip(free, bounded, strict=True)
    )
    for month, model in enumerate(bounded):
        rho = correlations(values, month, 0)[0, 1]
        assert model.annual.coefficient == pytest.approx(rho, abs=1e-9)
        assert model.ratio == pytest.approx(np.sqrt(1 - rho**2), abs=1e-9)


def test_years_with_a_gap_do_not_count():
    values = history(30)
    known = [row for row in rows(values) if row[:2] != (1960, 5)]
    models, whole = (estimate(one, 12, annual=True) for one in (known, rows(values)))
    assert models[6].annual.mean_m3s != whole[6].annual.mean_m3s
    with pytest.raises(ValueError, match="twelve before it without a gap"):
        estimate([row for row in rows(values) if row[1] != 5 or row[0] % 2], 12, annual=True)
