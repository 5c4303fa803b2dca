"""Residuals of a periodic autoregressive model on a history, and their correlations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cobre.stochastic._linear import Floats, NotPositive, cholesky
from cobre.stochastic._par import YEAR
from cobre.stochastic._past import SeasonModel

#: A season with fewer observations that a pair of rivers shares is taken together with all others.
FEWEST_PAIRS = 30


def residuals(history: ArrayLike, models: Sequence[Sequence[SeasonModel]]) -> Floats:
    """Return the noise that would have made a history: ``z - Σ coefficients · z of k seasons ago``.

    Args:
        history: inflows in m³/s, seasons of successive years by rivers; NaN where nothing was observed.
        models: of each river, one for each season of the year.

    Returns:
        Noise in the shape of the history, not divided by the models' ratios; NaN where it cannot be known.
    """
    values = np.asarray(history, dtype=np.float64)
    noise = np.full(values.shape, np.nan)
    for river, model in enumerate(models):
        mean, std = np.array([(season.mean_m3s, season.std_m3s) for season in model]).T
        years = values[:, river].reshape(-1, len(model))
        observed = ~np.isnan(years)
        z = np.divide(years - mean, std, out=np.where(observed, 0.0, np.nan), where=observed & (std > 0))
        noise[:, river] = (_unexplained(z, model) - _of_the_year(years - mean, model)).ravel()
    return noise


def _unexplained(z: Floats, model: Sequence[SeasonModel]) -> Floats:
    """Years by seasons, of one river: without what its lags explain."""
    result = z.copy()
    for season, own in enumerate(model):
        for lag, coefficient in enumerate(own.coefficients, 1):
            result[:, season] -= coefficient * _earlier(z, lag)[:, season]
    return result


def _of_the_year(deviations: Floats, model: Sequence[SeasonModel]) -> Floats:
    """Years by seasons, of one river: what annual components explain; 0 without."""
    result = np.zeros(deviations.shape)
    if any(own.annual for own in model):
        total = np.zeros(deviations.shape)
        for lag in range(1, YEAR + 1):
            total += _earlier(deviations, lag)
        for season, own in enumerate(model):
            if own.annual is not None and own.annual.std_m3s > 0:
                result[:, season] = own.annual.coefficient / own.annual.std_m3s * total[:, season] / YEAR
    return result


def _earlier(values: Floats, lag: int) -> Floats:
    """Years by seasons, so many seasons earlier; NaN before the first."""
    past = np.full(values.size, np.nan)
    past[lag:] = values.ravel()[:-lag]
    return past.reshape(values.shape)


def residual_correlations(noise: Floats, seasons: int) -> tuple[Floats, ...]:
    """Return the correlation matrix of the noise of each season.

    A season in which some pair of rivers has fewer than 30 observations together has that of all seasons.
    Each correlation is taken over all that its pair has in common, so matrices may contradict themselves
    where histories have gaps: see `consistent`.

    Args:
        noise: seasons of successive years by rivers, as `residuals` returns.
        seasons: of a year.
    """
    together = _correlation(noise)[0]
    result = []
    for season in range(seasons):
        own, pairs = _correlation(noise[season::seasons])
        result.append(own if pairs.min(initial=FEWEST_PAIRS) >= FEWEST_PAIRS else together)
    return tuple(result)


def _correlation(noise: Floats) -> tuple[Floats, Floats]:
    """Correlations, and over how many observations each was taken.

    Sums run over time, elementwise, so their bits depend on no library.
    """
    known = ~np.isnan(noise)
    values = np.where(known, noise, 0.0)
    shape = (noise.shape[1],) * 2
    pairs, sums = np.zeros(shape), np.zeros(shape)
    for now, there in zip(values, known, strict=True):
        pairs += there[:, None] & there
        sums += now[:, None] * there
    means = sums / np.maximum(pairs, 1)
    products, squares = np.zeros(shape), np.zeros(shape)
    for now, there in zip(values, known, strict=True):
        from_mean = (now[:, None] - means) * (there[:, None] & there)
        products += from_mean * from_mean.T
        squares += from_mean * from_mean
    scale = np.sqrt(squares) * np.sqrt(squares.T)
    usable = (pairs > 1) & (np.minimum(squares, squares.T) > np.finfo(float).eps ** 2 * pairs)
    rho = np.clip(np.divide(products, scale, out=np.zeros(shape), where=usable), -1.0, 1.0)
    np.fill_diagonal(rho, 1.0)
    return rho, pairs


def consistent(matrix: ArrayLike) -> Floats:
    """Return a correlation matrix as it is, or, where it contradicts itself, drawn towards independence.

    Correlations are multiplied by ``1 - 2**-k``, with the largest k from 40 on that is enough.

    >>> consistent([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]).tolist()
    [[1.0, 0.45, -0.45], [0.45, 1.0, 0.45], [-0.45, 0.45, 1.0]]
    """
    given = np.asarray(matrix, dtype=np.float64)
    given = (given + given.T) / 2
    for share in [0.0, *(2.0**-k for k in range(40, -1, -1))]:
        result = given * (1 - share)
        np.fill_diagonal(result, 1.0)
        try:
            cholesky(result)
        except NotPositive:
            continue
        return result
    raise ValueError("the matrix has elements that are no numbers")
