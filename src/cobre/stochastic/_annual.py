"""Fitting models whose past year adds to their lags: PAR(p)-A.

The mean of the past twelve seasons is one more variable of the Yule-Walker equations, and what partial
autocorrelations are conditioned on. Correlations with it divide by the number of observations of whichever of
the two has more, as the years before the first full one count as average.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import fsum, sqrt

import numpy as np

from cobre.elementary import square
from cobre.stochastic._linear import Floats, solve
from cobre.stochastic._par import YEAR, Annual
from cobre.stochastic._past import SIGNIFICANT, Past, SeasonModel


class PastWithYears(Past):
    """Observations by season, and the means of the twelve that end with each.

    Raises:
        ValueError: some season has no observation that comes after twelve others.
    """

    def __init__(self, history: Iterable[tuple[int, int, float]], seasons: int) -> None:
        super().__init__(history, seasons)
        flat = {
            year * seasons + season: value
            for season, values in enumerate(self.values)
            for year, value in values.items()
        }
        self.years: list[dict[int, float]] = [{} for _ in range(seasons)]
        for row in sorted(flat):
            last = [flat.get(row - back) for back in range(YEAR)]
            known = [value for value in last if value is not None]
            if len(known) == YEAR and row + 1 in flat:
                self.years[row % seasons][row // seasons] = fsum(known) / YEAR
        if empty := [season for season, means in enumerate(self.years) if not means]:
            after = (empty[0] + 1) % seasons
            raise ValueError(f"season {after} has no observation with twelve before it without a gap")
        self.year_moments = [_population(list(means.values())) for means in self.years]

    def year_correlation(self, season: int, lag: int) -> float:
        """Of the year that ends with a season and the season ``lag`` before its last; -1 is the one after."""
        season %= self.seasons
        (mean, std), (other_mean, other_std) = (
            self.year_moments[season],
            self.moments[(season - lag) % self.seasons],
        )
        then = self.values[(season - lag) % self.seasons]
        if std == 0 or other_std == 0:
            return 0.0
        pairs = (
            (value, then.get((year * self.seasons + season - lag) // self.seasons))
            for year, value in sorted(self.years[season].items())
        )
        products = [(value - mean) * (other - other_mean) for value, other in pairs if other is not None]
        count = max(len(self.years[season]), len(then))
        return min(max(fsum(products) / count / (std * other_std), -1.0), 1.0)

    def joint(self, season: int, order: int) -> Floats:
        """Correlations of a season, those up to ``order`` before it, and the mean of the past year."""
        matrix = np.eye(order + 2)
        for i in range(order + 1):
            for j in range(i + 1, order + 1):
                matrix[i, j] = matrix[j, i] = self.correlation(season - i, j - i)
            matrix[i, -1] = matrix[-1, i] = self.year_correlation(season - 1, i - 1)
        return matrix

    def model(self, season: int, max_order: int) -> SeasonModel:
        """The model of the largest lag whose partial correlation is significant, of 1 at least."""
        partial = self._partial(season, max_order)
        if not partial or partial[0] == 0:
            return self.without_lags(season)
        limit = SIGNIFICANT / sqrt(len(self.values[season]))
        order = max((lag for lag, one in enumerate(partial, 1) if abs(one) > limit), default=1)
        model = self._fitted(season, order)
        return self.without_lags(season) if min(model.coefficients[:1], default=0.0) < 0 else model

    def without_lags(self, season: int) -> SeasonModel:
        """The model of a season that tells nothing of its past but the mean of the year."""
        return self._fitted(season, 0)

    def _partial(self, season: int, max_order: int) -> list[float]:
        """Correlations of a season with those before it, given all between and the past year."""
        found: list[float] = []
        for lag in range(1, max_order + 1):
            matrix = self.joint(season, lag)
            between, ends = [*range(1, lag), lag + 1], (0, lag)
            inner = matrix[np.ix_(between, between)]
            left = np.empty((2, 2))
            for j, end in enumerate(ends):
                explained = solve(inner, matrix[between, end])
                if explained is None:
                    return found
                for i, other in enumerate(ends):
                    left[i, j] = matrix[other, end] - fsum(matrix[other, between] * explained)
            variances = left[0, 0] * left[1, 1]
            found.append(min(max(left[0, 1] / sqrt(variances), -1.0), 1.0) if variances > 0 else 0.0)
        return found

    def _fitted(self, season: int, order: int) -> SeasonModel:
        """The model of an order by the Yule-Walker equations; one without a past if they tell nothing."""
        alone = super().without_lags(season)
        year_mean, year_std = self.year_moments[season - 1]
        if alone.std_m3s == 0 or year_std == 0:
            return alone
        matrix = self.joint(season, order)
        rhs = matrix[0, 1:]
        found = solve(matrix[1:, 1:], rhs)
        if found is None:
            return alone
        variance = 1.0 - fsum(found * rhs)
        ratio = sqrt(min(variance, 1.0)) if variance > 0 else 1.0
        annual = Annual(float(found[-1]), year_std, year_mean)
        return replace(alone, coefficients=found[:-1], ratio=ratio, annual=annual)


def _population(values: list[float]) -> tuple[float, float]:
    mean = fsum(values) / len(values)
    return mean, sqrt(fsum(square(value - mean) for value in values) / len(values))
