"""Fitting periodic autoregressive models to past inflows.

Means and standard deviations by season, coefficients by the periodic Yule-Walker equations, orders by the
significance of the last coefficient, as in Hipel and McLeod 1994, chapter 14. Variances divide by the number
of observations, not by one less: then autocorrelations and coefficients fit each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

import numpy as np

from cobre.stochastic._linear import Floats, solve

#: Two-sided, of 95 %.
SIGNIFICANT = 1.96


@dataclass(frozen=True, eq=False)
class SeasonModel:
    """The inflow of a season: ``z = Σ coefficients[k - 1] · z of k seasons ago + ratio · η``.

    There ``z = (inflow - mean) / std``, each with the moments of its own season.

    Attributes:
        mean_m3s: of the observations.
        std_m3s: of the observations.
        coefficients: one for each lag from 1 on; may be empty.
        ratio: what of the standard deviation the past does not explain.
        observations: how many there were.
    """

    mean_m3s: float
    std_m3s: float
    coefficients: Floats
    ratio: float
    observations: int


def estimate(
    history: Iterable[tuple[int, int, float]],
    seasons: int,
    *,
    max_order: int = 6,
    max_coefficient: float | None = None,
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

    Raises:
        ValueError: a season has fewer than two observations, is unknown, or one of its years comes twice.

    >>> years = [(year, 0, 100.0 + 10 * (-1) ** year) for year in range(40)]
    >>> model = estimate(years, seasons=1, max_order=1)[0]
    >>> model.mean_m3s, model.std_m3s, model.coefficients.tolist()
    (100.0, 10.0, [])
    """
    past = _Past(history, seasons)
    models = [past.model(season, max_order) for season in range(seasons)]
    for season, model in enumerate(models):
        if max_coefficient is not None and np.any(np.abs(model.coefficients) > max_coefficient):
            models[season] = _without_past(model)
    return tuple(_reduced(past, models, max_order))


class _Past:
    """Observations by season, their moments, and what is computed of them."""

    def __init__(self, history: Iterable[tuple[int, int, float]], seasons: int) -> None:
        self.seasons = seasons
        self.values: list[dict[int, float]] = [{} for _ in range(seasons)]
        for year, season, value in history:
            if not 0 <= season < seasons:
                raise ValueError(
                    f"an observation of year {year} is of season {season}; there are {seasons} from 0 on"
                )
            if year in self.values[season]:
                raise ValueError(f"season {season} of year {year} is observed twice")
            self.values[season][year] = float(value)
        for season, values in enumerate(self.values):
            if len(values) < 2:
                raise ValueError(f"season {season} has {len(values)} observations; two are needed at least")
        self.moments = [_moments(list(values.values())) for values in self.values]
        self._known: dict[tuple[int, int], float] = {}

    def correlation(self, season: int, lag: int) -> float:
        """Of a season with the one ``lag`` before it; 0 if one of them does not vary."""
        season %= self.seasons
        if (season, lag) not in self._known:
            self._known[season, lag] = self._correlation(season, lag)
        return self._known[season, lag]

    def _correlation(self, season: int, lag: int) -> float:
        years_ago, other = (lag - season + self.seasons - 1) // self.seasons, (season - lag) % self.seasons
        (mean, std), (other_mean, other_std) = self.moments[season], self.moments[other]
        now, then = self.values[season], self.values[other]
        both = [year for year in sorted(now) if year - years_ago in then]
        if std == 0 or other_std == 0 or not both:
            return 0.0
        covariance = fsum((now[year] - mean) * (then[year - years_ago] - other_mean) for year in both) / len(
            both
        )
        return min(max(covariance / (std * other_std), -1.0), 1.0)

    def yule_walker(self, season: int, order: int) -> tuple[Floats, float] | None:
        """Coefficients and what variance they leave; None if the equations are singular or leave none."""
        rhs = np.array([self.correlation(season, lag) for lag in range(1, order + 1)])
        matrix = np.eye(order)
        for i in range(order):
            for j in range(i + 1, order):
                matrix[i, j] = matrix[j, i] = self.correlation(season - i - 1, j - i)
        psi = solve(matrix, rhs)
        if psi is None:
            return None
        variance = 1.0 - fsum(psi * rhs)
        return (psi, min(variance, 1.0)) if variance > 0 else None

    def model(self, season: int, max_order: int) -> SeasonModel:
        """The model of the largest significant order."""
        mean, std = self.moments[season]
        count = len(self.values[season])
        best = SeasonModel(mean, std, np.zeros(0), 1.0, count)
        if std == 0:
            return best
        for order in range(1, max_order + 1):
            fitted = self.yule_walker(season, order)
            if fitted is None:
                break
            psi, variance = fitted
            if abs(psi[-1]) > SIGNIFICANT / sqrt(count):
                best = SeasonModel(mean, std, psi, sqrt(variance), count)
        return best if len(best.coefficients) == 0 or best.coefficients[0] >= 0 else _without_past(best)


def _reduced(past: _Past, models: list[SeasonModel], max_order: int) -> list[SeasonModel]:
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


def _without_past(model: SeasonModel) -> SeasonModel:
    return replace(model, coefficients=np.zeros(0), ratio=1.0)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation; the usual value and 0 where inflows hardly vary."""
    count = len(values)
    if all(abs(value - values[0]) < 1e-6 for value in values):
        return values[0], 0.0
    if sum(value < 0 for value in values) <= 0.1 * count:
        usual, times = Counter(sorted(round(value) for value in values)).most_common(1)[0]
        if times > 0.5 * count:
            return float(usual), 0.0
    mean = fsum(values) / count
    return mean, sqrt(fsum((value - mean) ** 2 for value in values) / count)
