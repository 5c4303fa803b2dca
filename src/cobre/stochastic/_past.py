"""Past inflows by season: their moments and correlations, and the model that each season's suggest.

Variances divide by the number of observations, not by one less: then autocorrelations and coefficients fit
each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from cobre.elementary import square
from cobre.stochastic._linear import Floats, solve
from cobre.stochastic._par import Annual

#: Two-sided, of 95 %.
SIGNIFICANT = 1.96


@dataclass(frozen=True, eq=False)
class SeasonModel:
    """The inflow of a season: ``z = Σ coefficients[k - 1] · z of k seasons ago + ratio · η``.

    There ``z = (inflow - mean) / std``, each with the moments of its own season. With an annual component the
    past year adds ``annual.coefficient * (its mean - that of its seasons) / annual.std_m3s``.

    Attributes:
        mean_m3s: of the observations.
        std_m3s: of the observations.
        coefficients: one for each lag from 1 on; may be empty.
        ratio: what of the standard deviation the past does not explain.
        observations: how many there were.
        annual: the component of the past year; None without.
    """

    mean_m3s: float
    std_m3s: float
    coefficients: Floats
    ratio: float
    observations: int
    annual: Annual | None = None


class Past:
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
        """Coefficients and what variance they leave; None if the equations are singular.

        Where rounding, or a correlation of 1, leaves none, that is the whole variance, as in the original.
        """
        rhs = np.array([self.correlation(season, lag) for lag in range(1, order + 1)])
        matrix = np.eye(order)
        for i in range(order):
            for j in range(i + 1, order):
                matrix[i, j] = matrix[j, i] = self.correlation(season - i - 1, j - i)
        psi = solve(matrix, rhs)
        if psi is None:
            return None
        variance = 1.0 - fsum(psi * rhs)
        return psi, min(variance, 1.0) if variance > 0 else 1.0

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
        return best if len(best.coefficients) == 0 or best.coefficients[0] >= 0 else self.without_lags(season)

    def without_lags(self, season: int) -> SeasonModel:
        """The model of a season that its past tells nothing of."""
        mean, std = self.moments[season]
        return SeasonModel(mean, std, np.zeros(0), 1.0, len(self.values[season]))


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
    return mean, sqrt(fsum(square(value - mean) for value in values) / count)
