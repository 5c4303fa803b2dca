"""What is known of a run while it goes on, and the words for it: the same wherever it is shown."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field

from cobre._words import clock, count
from cobre.sddp._progress import Estimate, Remaining
from cobre.sddp.events import (
    GuardTripped,
    IterationFinished,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
)

GUARD_WORDS = {
    "value_corrected": "a value was wrong, and was computed again",
    "cut_rejected": "a cut was above a value that is known, and was not added",
    "bound_above": "the bound is beyond what trajectories cost: it is wrong, or they missed what is rare",
}


@dataclass
class Watch:
    """What the events of one training, or of one simulation, have told so far.

    Attributes:
        started: what training consists of; None for a simulation.
        simulation: how far the simulation is; None for a training.
        recent: the last iterations, the newest at the end.
        bounds: after the iterations of this session.
        heard_s: when the last of these was told, on this process's clock.
    """

    started: TrainingStarted | None = None
    simulation: SimulationProgress | None = None
    recent: deque[IterationFinished] = field(default_factory=lambda: deque(maxlen=32))
    bounds: list[float] = field(default_factory=list)
    heard_s: float = field(default_factory=time.monotonic)

    def take(self, event: IterationFinished | SimulationProgress) -> None:
        """Learn what an event says."""
        if isinstance(event, SimulationProgress):
            self.simulation = event
        else:
            self.recent.append(event)
            self.bounds.append(event.bound)
        self.heard_s = time.monotonic()

    @property
    def last(self) -> IterationFinished | None:
        """The iteration that ended last; None before the first."""
        return self.recent[-1] if self.recent else None

    @property
    def limit(self) -> int | None:
        """The last iteration, if there is a limit."""
        return self.started.iteration_limit if self.started else None

    @property
    def sense(self) -> str:
        """From where the bound comes."""
        return "lower" if self.started is None or self.started.sense == "min" else "upper"

    @property
    def ahead_s(self) -> float:
        """Seconds since something was told."""
        return time.monotonic() - self.heard_s

    @property
    def number(self) -> str:
        """The iteration, of how many."""
        done = self.last.iteration if self.last else self.started.first_iteration - 1 if self.started else 0
        return f"{done}/{self.limit}" if self.limit else str(done)

    def beginning(self) -> list[str]:
        """What is going to be trained, and until when."""
        event = self.started
        if event is None:
            return []
        return [
            f"training {count(event.nodes, 'node')} with {count(event.states, 'state')}, "
            f"{count(event.trajectories, 'trajectory', 'trajectories')} per iteration, on "
            f"{count(event.ranks, 'rank')} of {count(event.threads, 'thread')} over {event.backend}",
            f"until: {event.stop}",
        ]

    def figures(self, bound: float, estimate: Estimate) -> str:
        """Bound, mean and gap in one line."""
        gap = self.gap(bound, estimate.mean)
        return f"bound {bound:.6g}, {mean_words(estimate)}" + ("" if gap is None else f", gap {gap:.2%}")

    def gap(self, bound: float, mean: float) -> float | None:
        """By how much of the bound the mean is worse, below zero if it is better by chance; None at first."""
        # With risk the bound is on another number than the mean.
        risk_neutral = self.started is None or self.started.risk_neutral
        worse = mean - bound if self.sense == "lower" else bound - mean
        gap = worse / abs(bound) if risk_neutral and bound else math.inf
        return gap if abs(gap) <= 1 else None  # at first it says nothing

    def ending(self, event: TrainingFinished) -> str:
        """How training has ended."""
        return (
            f"stopped: {event.reason}; {count(event.iterations, 'iteration')}, "
            f"{self.figures(event.bound, event.estimate)}, {event.seconds:.1f} s"
        )


def guard_words(event: GuardTripped) -> str:
    """What a guard has noticed."""
    return (
        f"iteration {event.iteration}, node {event.node!r}: {GUARD_WORDS[event.kind]} "
        f"({event.claimed:.8g} and {event.found:.8g})"
    )


def mean_words(estimate: Estimate) -> str:
    """A mean, and how certain it is."""
    half = f" ± {estimate.half_width():.2g}" if estimate.count > 1 else ""
    return f"mean {estimate.mean:.6g}{half}"


def left_words(remaining: Remaining | None, ahead_s: float = 0.0) -> str:
    """How long it still takes: no more than is known, and nothing if nothing is.

    >>> left_words(Remaining(60.0, 60.0, "100 iterations"))
    '1:00 left'
    >>> left_words(Remaining(5.0, 60.0, "100 iterations"), ahead_s=10.0)
    'at most 50 s left'
    """
    if remaining is None or remaining.latest_s is None:
        return ""
    left = max(0.0, remaining.latest_s - ahead_s)
    sure = remaining.earliest_s >= 0.9 * remaining.latest_s
    return f"{clock(left)} left" if sure else f"at most {clock(left)} left"


def rest_s(event: SimulationProgress) -> float | None:
    """Seconds until a simulation ends; None before there is anything to go by."""
    return (event.total - event.done) * event.seconds / event.done if event.done else None


def simulation_words(event: SimulationProgress) -> list[str]:
    """How fast a simulation is, how long it still takes, and what it has found; the most important first."""
    rate = f"{event.done / event.seconds:.3g}/s" if event.done and event.seconds > 0 else ""
    rest = rest_s(event)
    left = f"{clock(rest)} left" if rest else ""
    # In the end the mean of one rank's part would pass for that of all.
    so_far = event.estimate if event.done < event.total else None
    mean = mean_words(so_far) if so_far is not None else ""
    return [part for part in (rate, left, mean) if part]
