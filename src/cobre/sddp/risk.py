"""Coherent risk measures: uncertain costs as one number.

A coherent measure is the worst expectation over a set of distributions. `RiskMeasure.weights` finds that
worst distribution, which is all that cuts and bounds need (Philpott, de Matos and Finardi 2013).

>>> import numpy as np
>>> measure = 0.5 * Expectation() + 0.5 * AVaR(0.25)
>>> measure.weights(np.array([[10.0, 40.0, 20.0, 30.0]]), np.full(4, 0.25))
array([[0.125, 0.625, 0.125, 0.125]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A sum of probabilities or weights may differ from 1 by this much.
TOLERANCE = 1e-9


class RiskMeasure(ABC):
    """The value of uncertain costs to a decision maker. Measures are values: frozen, comparable, picklable.

    Multiply measures by weights and add them to mix them; the weights must sum to 1.
    """

    @abstractmethod
    def weights(self, costs: Floats, probabilities: Floats) -> Floats:
        """Return the worst distribution for each row of ``costs``; its mean is the risk-adjusted cost.

        A row's bits depend on that row and ``probabilities`` alone, never on the other rows. Of equal costs
        the one with the lower index counts as the worse. Rewards must be given as negative costs.

        Args:
            costs: one row per unit of work, one column per outcome; the larger the worse.
            probabilities: one per outcome. An outcome of probability 0 gets weight 0.

        Returns:
            As ``costs``; no weight is negative, and each row sums to 1.

        Raises:
            ValueError: shapes do not fit, a cost is not finite, or these are no probabilities.
        """

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types; equal measures have equal specs."""

    def __mul__(self, weight: float) -> RiskMeasure:
        """Give it a weight, to be added to others."""
        return _mix(tuple((weight * inner, part) for inner, part in _terms(self)))

    __rmul__ = __mul__

    def __add__(self, other: RiskMeasure) -> RiskMeasure:
        """Mix two weighted measures."""
        if not isinstance(other, RiskMeasure):
            return NotImplemented
        return _mix(_terms(self) + _terms(other))


@dataclass(frozen=True)
class Expectation(RiskMeasure):
    """The mean: indifferent to risk.

    >>> Expectation().weights(np.array([[1.0, 2.0]]), np.array([0.25, 0.75]))
    array([[0.25, 0.75]])
    """

    def weights(self, costs: Floats, probabilities: Floats) -> Floats:
        """Return the probabilities themselves, once per row."""
        costs, probabilities = _checked(costs, probabilities)
        return np.tile(probabilities, (len(costs), 1))

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {"measure": "expectation"}


@dataclass(frozen=True)
class AVaR(RiskMeasure):
    """The mean of the worst share of outcomes: average value at risk, also called CVaR.

    Args:
        level: that share, above 0 and at most 1; 1 is the expectation.

    Raises:
        ValueError: there is no such share.

    >>> AVaR(0.5).weights(np.array([[1.0, 3.0, 2.0, 4.0]]), np.full(4, 0.25))
    array([[0. , 0.5, 0. , 0.5]])
    """

    level: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", _number(self.level, "the level of AVaR"))
        if not 0 < self.level <= 1:
            raise ValueError(
                f"the level of AVaR is {self.level:g}; give the share of the worst outcomes, "
                "above 0 and at most 1 (0.1 for the worst tenth)"
            )

    def weights(self, costs: Floats, probabilities: Floats) -> Floats:
        """Fill the share with the worst outcomes, the last of them as far as it fits."""
        costs, probabilities = _checked(costs, probabilities)
        if self.level == 1:
            return np.tile(probabilities, (len(costs), 1))
        worst_first = np.argsort(-costs, axis=1, kind="stable")
        offered = probabilities[worst_first]
        # Cumulative sums run from left to right whatever the array's shape; plain sums do not.
        before = np.zeros_like(offered)
        before[:, 1:] = np.cumsum(offered, axis=1)[:, :-1]
        taken = np.clip(self.level - before, 0.0, offered)
        # What was taken is the level but for rounding, unless the probabilities sum to less than that.
        taken /= np.cumsum(taken, axis=1)[:, -1:]
        weights = np.empty_like(taken)
        np.put_along_axis(weights, worst_first, taken, axis=1)
        return weights

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {"measure": "avar", "level": self.level}


@dataclass(frozen=True)
class WorstCase(RiskMeasure):
    """The worst outcome that can happen at all.

    >>> WorstCase().weights(np.array([[1.0, 3.0, 9.0]]), np.array([0.5, 0.5, 0.0]))
    array([[0., 1., 0.]])
    """

    def weights(self, costs: Floats, probabilities: Floats) -> Floats:
        """Put everything on the first of the worst outcomes."""
        costs, probabilities = _checked(costs, probabilities)
        worst = np.argmax(np.where(probabilities > 0, costs, -np.inf), axis=1)
        weights = np.zeros_like(costs)
        weights[np.arange(len(costs)), worst] = 1.0
        return weights

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {"measure": "worst_case"}


@dataclass(frozen=True)
class Mixture(RiskMeasure):
    """Some measures, each with a weight. Usually written ``0.5 * Expectation() + 0.5 * AVaR(0.1)``.

    Args:
        parts: pairs of a weight and a measure; the weights are not negative and sum to 1.

    Raises:
        ValueError: the weights are others.

    >>> 0.5 * Expectation() + 0.5 * AVaR(0.1) == Mixture(((0.5, Expectation()), (0.5, AVaR(0.1))))
    True
    """

    parts: tuple[tuple[float, RiskMeasure], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _checked_parts(self.parts))
        if abs(_total(self.parts) - 1) > TOLERANCE:
            raise ValueError(f"the weights of a mixture sum to {_total(self.parts):.12g}; they must sum to 1")

    def weights(self, costs: Floats, probabilities: Floats) -> Floats:
        """Add the parts' weights, in the order of the parts."""
        costs, probabilities = _checked(costs, probabilities)
        total = np.zeros_like(costs)
        for weight, measure in self.parts:
            total += weight * measure.weights(costs, probabilities)
        return total

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        parts = [{"weight": weight, **measure.spec()} for weight, measure in self.parts]
        return {"measure": "mixture", "parts": parts}


def EAVaR(weight: float, level: float) -> Mixture:  # noqa: N802  it reads as one of the measures
    """Return ``weight`` of the expectation and the rest of `AVaR` at ``level``.

    Raises:
        ValueError: the weight is not from 0 to 1, or `AVaR` refuses the level.

    >>> EAVaR(0.75, 0.1)
    Mixture(parts=((0.75, Expectation()), (0.25, AVaR(level=0.1))))
    """
    weight = _number(weight, "the weight of the expectation")
    if not 0 <= weight <= 1:
        raise ValueError(f"the weight of the expectation is {weight:g}; give a number from 0 to 1")
    return Mixture(((weight, Expectation()), (1 - weight, AVaR(level))))


#: The measures that a stage of a case can have, by the names that input models in `cobre.inputs` give them.
NAMED: dict[str, Callable[..., RiskMeasure]] = {
    "expectation": Expectation,
    "eavar": EAVaR,
}


def from_spec(spec: Mapping[str, Any]) -> RiskMeasure:
    """Return a measure from its name in `NAMED` and its arguments.

    >>> from_spec({"measure": "eavar", "weight": 0.75, "level": 0.1}) == EAVaR(0.75, 0.1)
    True
    """
    arguments = dict(spec)
    return NAMED[arguments.pop("measure")](**arguments)


@dataclass(frozen=True)
class _Unfinished(RiskMeasure):
    """Weighted measures to which others are still to be added."""

    parts: tuple[tuple[float, RiskMeasure], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _checked_parts(self.parts))

    def weights(self, costs: Floats, probabilities: Floats) -> Floats:
        raise self._refusal()

    def spec(self) -> dict[str, Any]:
        raise self._refusal()

    def _refusal(self) -> ValueError:
        total = _total(self.parts)
        return ValueError(
            f"the weights of {self.parts} sum to {total:.12g}; "
            f"add measures with a weight of {1 - total:.12g} in all"
        )


def _terms(measure: RiskMeasure) -> tuple[tuple[float, RiskMeasure], ...]:
    return measure.parts if isinstance(measure, Mixture | _Unfinished) else ((1.0, measure),)


def _mix(parts: tuple[tuple[float, RiskMeasure], ...]) -> RiskMeasure:
    total = _total(parts)
    if total > 1 + TOLERANCE:
        raise ValueError(f"the weights of a mixture sum to {total:.12g}; they must sum to 1")
    return Mixture(parts) if total >= 1 - TOLERANCE else _Unfinished(parts)


def _total(parts: Sequence[tuple[float, RiskMeasure]]) -> float:
    return sum(weight for weight, _ in parts)


def _checked_parts(parts: Sequence[tuple[float, RiskMeasure]]) -> tuple[tuple[float, RiskMeasure], ...]:
    if not parts:
        raise ValueError("a mixture of no measures; give pairs of a weight and a measure")
    for weight, measure in parts:
        if not isinstance(measure, RiskMeasure):
            raise ValueError(f"{measure!r} in a mixture is not a risk measure; give pairs (weight, measure)")
        if not _number(weight, "a weight of a mixture") >= 0:
            raise ValueError(f"a weight of a mixture is {weight:g}; give numbers from 0 to 1 that sum to 1")
    return tuple((float(weight), measure) for weight, measure in parts)


def _number(value: float, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} is {value!r}; give a number") from error


def _checked(costs: Floats, probabilities: Floats) -> tuple[Floats, Floats]:
    costs, probabilities = np.asarray(costs, np.float64), np.asarray(probabilities, np.float64)
    if costs.ndim != 2 or probabilities.shape != costs.shape[1:] or not probabilities.size:
        raise ValueError(
            f"costs of shape {costs.shape} and probabilities of shape {probabilities.shape}; give costs as "
            "(units, outcomes) and one probability per outcome, at least one"
        )
    if not np.all(np.isfinite(costs)):
        raise ValueError("a cost is not a finite number")
    total = float(np.cumsum(probabilities)[-1])
    if not (np.all(probabilities >= 0) and abs(total - 1) <= TOLERANCE):
        raise ValueError(f"the probabilities {probabilities} must not be negative, and sum to 1")
    return costs, probabilities
