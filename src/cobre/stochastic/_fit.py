"""Fitting periodic autoregressive models to past inflows.

Means and standard deviations by season, coefficients by the periodic Yule-Walker equations, orders by the
significance of the last coefficient, as in Hipel and McLeod 1994, chapter 14.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cobre.stochastic._annual import PastWithYears
from cobre.stochastic._past import Past, SeasonModel


def estimate(
    history: Iterable[tuple[int, int, float]],
    seasons: int,
    *,
    max_order: int = 6,
    max_coefficient: float | None = None,
    annual: bool = False,
) -> tuple[SeasonModel, ...]:
    """Return the model of each season that past inflows suggest.

    The order of a season is the largest lag, up to ``max_order``, whose partial autocorrelation is beyond
    ``1.96 / √observations``. A season has no coefficients if the first would be negative or its inflows do
    not vary: all the same, or more than half of them at one integer. Where the influence of an inflow on a
    later one, through all inflows between, would be negative, the order is reduced.

    Args:
        history: year, season from 0 on, and inflow in m³/s, in any order; gaps are allowed.
        seasons: how many a year has.
        max_order: the longest lag.
        max_coefficient: a season with a larger one has none at all.
        annual: add the mean of the past twelve seasons to each model, PAR(p)-A. Partial autocorrelations are
            then those given that mean, the order is 1 at least, and coefficients are fitted together with its
            own; a season without coefficients keeps the annual component.

    Raises:
        ValueError: a season has fewer than two observations, is unknown, or one of its years comes twice.

    >>> years = [(year, 0, 100.0 + 10 * (-1) ** year) for year in range(40)]
    >>> model = estimate(years, seasons=1, max_order=1)[0]
    >>> model.mean_m3s, model.std_m3s, model.coefficients.tolist()
    (100.0, 10.0, [])
    """
    past = PastWithYears(history, seasons) if annual else Past(history, seasons)
    models = [past.model(season, max_order) for season in range(seasons)]
    for season, model in enumerate(models):
        if max_coefficient is not None and np.any(np.abs(model.coefficients) > max_coefficient):
            models[season] = past.without_lags(season)
    return tuple(_reduced(past, models, max_order))


def _reduced(past: Past, models: list[SeasonModel], max_order: int) -> list[SeasonModel]:
    """Lower orders until no past inflow has a negative influence."""
    ceilings = [max_order] * len(models)
    while True:
        failing = [m for m in range(len(models)) if min(_contributions(models, m), default=0.0) < 0]
        if not failing:
            return models
        for season in failing:
            ceilings[season] -= 1
            # A ceiling of 0 leaves nothing to fail, so this ends.
            models[season] = past.model(season, ceilings[season])


def _contributions(models: Sequence[SeasonModel], season: int) -> list[float]:
    """The influence of each lag on a season, directly and through the seasons between, in m³/s per m³/s."""
    order = len(models[season].coefficients)
    row = [_direct(models, season, lag) for lag in range(order)]
    result = row[:1]
    for step in range(1, order):
        row = [row[0] * _direct(models, season - step, lag) + row[lag + 1] for lag in range(order - step)]
        result.append(row[0])
    return result


def _direct(models: Sequence[SeasonModel], season: int, lag: int) -> float:
    model, before = models[season % len(models)], models[(season - lag - 1) % len(models)]
    if lag >= len(model.coefficients) or before.std_m3s == 0:
        return 0.0
    return float(model.coefficients[lag]) * model.std_m3s / before.std_m3s
