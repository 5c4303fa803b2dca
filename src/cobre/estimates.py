"""Sample means with confidence intervals, and the gap between a mean and a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, Self

from cobre.elementary import square


@dataclass(frozen=True)
class Estimate:
    """Sample mean with its standard deviation.

    Attributes:
        mean: mean of the sample.
        standard_deviation: standard deviation, with n - 1 in the denominator; 0 for a sample of one.
        count: size of the sample.
    """

    mean: float
    standard_deviation: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return the estimate from a sample; its order does not affect any bit.

        >>> Estimate.of([1.0, 2.0, 3.0])
        Estimate(mean=2.0, standard_deviation=1.0, count=3)
        """
        if not len(values):
            raise ValueError("no values; give at least one")
        mean = math.fsum(values) / len(values)
        squares = math.fsum(square(value - mean) for value in values)
        return cls(mean, math.sqrt(squares / max(len(values) - 1, 1)), len(values))

    def half_width(self, confidence: float = 0.95) -> float:
        """Return the half-width of the mean's confidence interval; infinite for a sample of one.

        >>> round(Estimate(mean=0.0, standard_deviation=10.0, count=100).half_width(), 2)
        1.96
        """
        if self.count < 2:
            return math.inf
        quantile = NormalDist().inv_cdf((1 + confidence) / 2)
        return quantile * self.standard_deviation / math.sqrt(self.count)


def relative_gap(bound: float, mean: float, sense: Literal["min", "max"] = "min") -> float | None:
    """Return the gap between a mean and a bound as a share of the bound; None where it is undefined.

    It is undefined unless the bound is positive and both are finite: a share of zero has no meaning, and a
    share of a negative number has the wrong sign. A negative gap is a mean better than the bound, by sampling
    error.

    >>> relative_gap(100.0, 110.0), relative_gap(100.0, 90.0, "max"), relative_gap(-100.0, 110.0)
    (0.1, 0.1, None)
    """
    return _gap(bound, mean, sense, 1)


def gap_percent(bound: float, mean: float) -> float | None:
    """Return `relative_gap` of a cost in percent, rounded once, as written to files.

    >>> gap_percent(100.0, 107.0), gap_percent(0.0, 107.0)
    (7.0, None)
    """
    return _gap(bound, mean, "min", 100)


def _gap(bound: float, mean: float, sense: Literal["min", "max"], scale: int) -> float | None:
    if not (0 < bound < math.inf and math.isfinite(mean)):
        return None
    worse = mean - bound if sense == "min" else bound - mean
    return scale * worse / bound
