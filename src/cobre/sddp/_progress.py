"""How far a training is: what stopping rules look at, and what they say of the time that is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:  # it would load the LP solver, which readers of estimates do not need
    from cobre.sddp.problem import Sense


@dataclass(frozen=True)
class Estimate:
    """A mean that was sampled.

    Attributes:
        mean: of the sample.
        standard_deviation: of the sample, with n - 1 in the denominator; 0 for a sample of one.
        count: the size of the sample.
    """

    mean: float
    standard_deviation: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return the estimate from a sample, with the same bits whatever its order.

        >>> Estimate.of([1.0, 2.0, 3.0])
        Estimate(mean=2.0, standard_deviation=1.0, count=3)
        """
        if not len(values):
            raise ValueError("no values; give at least one")
        mean = math.fsum(values) / len(values)
        squares = math.fsum((value - mean) ** 2 for value in values)
        return cls(mean, math.sqrt(squares / max(len(values) - 1, 1)), len(values))

    def half_width(self, confidence: float = 0.95) -> float:
        """Return half the length of the mean's confidence interval; infinite for a sample of one.

        >>> round(Estimate(mean=0.0, standard_deviation=10.0, count=100).half_width(), 2)
        1.96
        """
        if self.count < 2:
            return math.inf
        quantile = NormalDist().inv_cdf((1 + confidence) / 2)
        return quantile * self.standard_deviation / math.sqrt(self.count)


@dataclass(frozen=True)
class SimulationRecord:
    """A simulation that a rule asked for.

    Attributes:
        iteration: after which it was made.
        step_costs: the mean cost of each step.
        replications: the number of trajectories.
    """

    iteration: int
    step_costs: tuple[float, ...]
    replications: int


@dataclass(frozen=True)
class Progress:
    """What a rule may look at after an iteration.

    Attributes:
        iteration: how many iterations are finished, at least 1.
        seconds: what the whole run has taken, earlier sessions of a resumed run included.
        bounds: the bound after each iteration.
        estimates: of the costs of each iteration's forward trajectories.
        sense: whether costs are minimised or rewards maximised.
        simulate: simulates so many trajectories with the policy as it is; returns the estimate of the total
            and the mean cost per step.
        simulations: what rules wish to find again later; kept in checkpoints. Rules append to it.
    """

    iteration: int
    seconds: float
    bounds: Sequence[float]
    estimates: Sequence[Estimate]
    sense: Sense
    simulate: Callable[[int], tuple[Estimate, tuple[float, ...]]]
    simulations: list[SimulationRecord]


@dataclass(frozen=True)
class Remaining:
    """How far a rule is from stopping, if iterations go on as the last ones went.

    Attributes:
        earliest_s: seconds before which it cannot stop; 0 if there is no telling.
        latest_s: seconds after which it will have stopped; None if there is no telling.
        rule: the rule that decides the latter, in words; empty if there is none.
    """

    earliest_s: float = 0.0
    latest_s: float | None = None
    rule: str = ""
