"""Training progress: inputs of stopping rules and of the remaining-time estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cobre.estimates import Estimate

if TYPE_CHECKING:  # it would load the LP solver, which readers of events do not need
    from cobre.sddp.problem import Sense


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
    """Training progress after an iteration: input of stopping rules and of the remaining-time estimate.

    Attributes:
        iteration: number of finished iterations, at least 1.
        seconds: run time so far, earlier sessions of a resumed run included.
        bounds: the bound after each iteration.
        estimates: of the costs of each iteration's forward trajectories.
        sense: whether costs are minimised or rewards maximised.
        simulate: simulates so many trajectories with the policy as it is; returns the estimate of the total
            and the mean cost per step.
        simulations: records that rules keep for later; saved in checkpoints. Rules append to it.
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
    """Estimated time until a rule stops the training, if iterations go on as the last ones went.

    Attributes:
        earliest_s: seconds before which it cannot stop; 0 if there is no telling.
        latest_s: seconds after which it will have stopped; None if there is no telling.
        rule: the rule that decides the latter, in words; empty if there is none.
    """

    earliest_s: float = 0.0
    latest_s: float | None = None
    rule: str = ""
