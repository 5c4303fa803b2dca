"""State of a run as its events have reported it, and the phrases that every view uses for it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from cobre.estimates import Estimate, relative_gap
from cobre.formatting import clock, count, gap_text
from cobre.sddp import (
    GuardTripped,
    IterationFinished,
    Remaining,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
)

_GUARDS = {
    "value_corrected": "an inaccurate value was recomputed",
    "cut_rejected": "a cut above a known value was rejected",
    "bound_above": "the bound exceeds sampled costs: it is wrong, or they missed rare, expensive scenarios",
}


@dataclass
class ProgressState:
    """State of one training or one simulation.

    Attributes:
        started: description of the training; None for a simulation.
        simulation: latest progress of the simulation; None for a training.
        recent: the last iterations, the newest at the end.
        bounds: bound after each iteration of this session.
        updated_s: time of the last event, on this process's clock.
    """

    started: TrainingStarted | None = None
    simulation: SimulationProgress | None = None
    recent: deque[IterationFinished] = field(default_factory=lambda: deque(maxlen=32))
    bounds: list[float] = field(default_factory=list)
    updated_s: float = field(default_factory=time.monotonic)

    def update(self, event: IterationFinished | SimulationProgress) -> None:
        """Add an event."""
        if isinstance(event, SimulationProgress):
            self.simulation = event
        else:
            self.recent.append(event)
            self.bounds.append(event.bound)
        self.updated_s = time.monotonic()

    @property
    def last(self) -> IterationFinished | None:
        """The last finished iteration; None before the first."""
        return self.recent[-1] if self.recent else None

    @property
    def limit(self) -> int | None:
        """The iteration limit, if there is one."""
        return self.started.iteration_limit if self.started else None

    @property
    def side(self) -> str:
        """The side of the bound: ``"lower"`` when minimising, ``"upper"`` when maximising."""
        return "lower" if self.started is None or self.started.sense == "min" else "upper"

    @property
    def since_update_s(self) -> float:
        """Seconds since the last event."""
        return time.monotonic() - self.updated_s

    @property
    def iteration(self) -> int:
        """Number of the last finished iteration, those before a resumption included."""
        if self.last is not None:
            return self.last.iteration
        return self.started.first_iteration - 1 if self.started else 0

    def describe_start(self) -> list[str]:
        """Return lines that describe the problem, the ranks and the stopping rules."""
        event = self.started
        if event is None:
            return []
        threads = f" ({event.threads_reason})" if event.threads_reason else ""
        merging = [event.merging] if event.merging else []
        return [
            f"training {count(event.nodes, 'node')} with {count(event.states, 'state')}, "
            f"{count(event.trajectories, 'trajectory', 'trajectories')} per iteration, on "
            f"{count(event.ranks, 'rank')} of {count(event.threads, 'thread')}{threads} over {event.backend}",
            *merging,
            f"stopping rule: {event.stop}",
        ]

    def describe_bound(self, bound: float, estimate: Estimate) -> str:
        """Return bound, mean and gap in one line; without the gap where it is undefined."""
        gap = self.gap(bound, estimate.mean)
        return f"bound {bound:.6g}, {_mean_text(estimate)}" + (
            "" if gap is None else f", gap {gap_text(gap)}"
        )

    def gap(self, bound: float, mean: float) -> float | None:
        """Return the relative gap between mean and bound; None where it is undefined."""
        if self.started is None:
            return relative_gap(bound, mean)
        # With a risk measure the bound is on another quantity than the mean.
        return relative_gap(bound, mean, self.started.sense) if self.started.risk_neutral else None

    def describe_end(self, event: TrainingFinished) -> str:
        """Return a line with the reason why training stopped, and its result."""
        return (
            f"stopped: {event.reason}; {count(event.iterations, 'iteration')}, "
            f"{self.describe_bound(event.bound, event.estimate)}, {event.seconds:.1f} s"
        )


def describe_guard(event: GuardTripped) -> str:
    """Return a warning about a numerical problem that the engine has noticed and handled."""
    return (
        f"iteration {event.iteration}, node {event.node!r}: {_GUARDS[event.kind]} "
        f"({event.claimed:.8g}, expected {event.found:.8g})"
    )


def _mean_text(estimate: Estimate) -> str:
    half = f" ± {estimate.half_width():.2g}" if estimate.count > 1 else ""
    return f"mean {estimate.mean:.6g}{half}"


def time_left(remaining: Remaining | None, since_update_s: float = 0.0) -> str:
    """Return the remaining time of a training; empty if there is no estimate.

    >>> time_left(Remaining(60.0, 60.0, "100 iterations"))
    '1:00 left'
    >>> time_left(Remaining(5.0, 60.0, "100 iterations"), since_update_s=10.0)
    'at most 50 s left'
    """
    if remaining is None or remaining.latest_s is None:
        return ""
    left = max(0.0, remaining.latest_s - since_update_s)
    sure = remaining.earliest_s >= 0.9 * remaining.latest_s
    return f"{clock(left)} left" if sure else f"at most {clock(left)} left"


def describe_simulation(event: SimulationProgress) -> list[str]:
    """Return rate, remaining time and mean so far of a simulation, the most important first."""
    parts = []
    if event.done and event.seconds > 0:
        parts.append(f"{event.done / event.seconds:.3g}/s")
    if event.done and (left := (event.total - event.done) * event.seconds / event.done):
        parts.append(f"{clock(left)} left")
    # At the end the mean of rank 0's share would pass for that of all scenarios.
    if event.estimate is not None and event.done < event.total:
        parts.append(_mean_text(event.estimate))
    return parts
