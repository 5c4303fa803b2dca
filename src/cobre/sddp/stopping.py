"""Stopping rules of training.

Rules look at a `Progress` after every iteration. They keep no state of their own, so a resumed run decides
as the undisturbed one would have. Combine them with ``|`` and ``&``.

>>> rule = IterationLimit(100) | (BoundStalling(10) & Statistical())
>>> print(rule)
100 iterations, or (bound stalling over 10 iterations within 0.0001, and bound in the 95 % interval of costs)
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from typing import Any, ClassVar

from cobre.elementary import square
from cobre.sddp._progress import Progress, Remaining, SimulationRecord

#: A bound may miss an interval by this share of its size: equal numbers differ by as much after solving.
ROUNDING = 1e-9


class StoppingRule(ABC):
    """Decides after every iteration whether to stop. Rules are values: frozen dataclasses of numbers."""

    #: Its name in ``config.json`` and in results; made from the class's name unless given.
    name: ClassVar[str]
    #: Completes "training stopped by ..." in reports; the name unless given.
    label: ClassVar[str]
    #: Whether it finds that training has converged, and is no mere limit.
    converged: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        cls.name = own.get("name", re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower())
        cls.label = own.get("label", cls.name)

    @abstractmethod
    def reached(self, progress: Progress) -> str | None:
        """Return in words why to stop now, or None to go on.

        It must be a function of ``progress`` alone, and give the same answer when asked again.
        """

    def fired(self, progress: Progress) -> tuple[StoppingRule, ...]:
        """Return the rules, of those that it consists of, because of which training stops now."""
        return () if self.reached(progress) is None else (self,)

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """Return how far it is from stopping; unknown unless overridden.

        Called after iterations at which it did not stop, for display; nothing depends on the answer.

        Args:
            progress: as for `reached`.
            seconds_of: what so many more iterations are expected to take.
        """
        return Remaining()

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types; equal rules have equal specs. A rule with other fields overrides it."""
        return {"rule": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}  # type: ignore[arg-type]

    @property
    def iteration_limit(self) -> int | None:
        """The iteration after which it stops at the latest; None if there is none."""
        return None

    def __or__(self, other: StoppingRule) -> AnyOf:
        """Stop when one of both says so."""
        if not isinstance(other, StoppingRule):
            return NotImplemented
        return AnyOf(_parts(self, AnyOf) + _parts(other, AnyOf))

    def __and__(self, other: StoppingRule) -> AllOf:
        """Stop when both say so after the same iteration."""
        if not isinstance(other, StoppingRule):
            return NotImplemented
        return AllOf(_parts(self, AllOf) + _parts(other, AllOf))


@dataclass(frozen=True)
class IterationLimit(StoppingRule):
    """Stop after so many iterations, those before a resumption included.

    >>> print(IterationLimit(50))
    50 iterations
    """

    label = "the iteration limit"

    limit: int

    def __post_init__(self) -> None:
        _whole(self, "limit", 1)

    def __str__(self) -> str:
        return f"{self.limit} iterations"

    @property
    def iteration_limit(self) -> int:
        """The limit."""
        return self.limit

    def reached(self, progress: Progress) -> str | None:
        """Stop at the limit."""
        return f"the limit of {self.limit} iterations" if progress.iteration >= self.limit else None

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """Return the expected time of the iterations up to the limit."""
        left = seconds_of(max(0, self.limit - progress.iteration))
        return Remaining(left, left, str(self))


@dataclass(frozen=True)
class TimeLimit(StoppingRule):
    """Stop after the first iteration that ends later than this. The only rule that depends on the machine.

    >>> print(TimeLimit(3600))
    3600 s
    """

    label = "the time limit"

    seconds: float

    def __post_init__(self) -> None:
        _positive(self, "seconds")

    def __str__(self) -> str:
        return f"{self.seconds:g} s"

    def reached(self, progress: Progress) -> str | None:
        """Stop when the time is over."""
        return f"the time limit of {self.seconds:g} s" if progress.seconds >= self.seconds else None

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """Return the time that is left, and with the iteration in which it ends."""
        left = max(0.0, self.seconds - progress.seconds)
        return Remaining(left, left + seconds_of(1), str(self))


@dataclass(frozen=True)
class BoundStalling(StoppingRule):
    """Stop when the bound has hardly moved over a number of iterations.

    Args:
        iterations: how many.
        tolerance: less than this share of the bound, or of 1 if it is smaller, is hardly.
    """

    label = "a stalled bound"
    converged = True

    iterations: int = 10
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        _whole(self, "iterations", 1)
        _positive(self, "tolerance")

    def __str__(self) -> str:
        return f"bound stalling over {self.iterations} iterations within {self.tolerance:g}"

    def reached(self, progress: Progress) -> str | None:
        """Compare the bound with that of so many iterations ago."""
        moved = _moved(progress.bounds, self.iterations)
        if not moved < self.tolerance:
            return None
        return f"the bound moved by {moved:.2g} of its size in {self.iterations} iterations"

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """At the earliest when the bound, should it stay as it is, was so for long enough."""
        return Remaining(seconds_of(_still_to_move(progress.bounds, self.iterations, self.tolerance)))


@dataclass(frozen=True)
class Statistical(StoppingRule):
    """Stop when the bound lies in the confidence interval of the policy's mean cost.

    A sample of few trajectories has a wide interval, into which a poor bound falls too (Shapiro 2011):
    combine it with `BoundStalling`, or give ``replications``. It says nothing useful where
    risk measures other than the expectation make the bound something else than a mean.

    Args:
        confidence: of the interval, between 0 and 1.
        replications: how many trajectories to simulate for it; unless given, the iteration's own are used.
        period: look only after every so many iterations.
    """

    label = "the statistical test"

    confidence: float = 0.95
    replications: int | None = None
    period: int = 1

    def __post_init__(self) -> None:
        _positive(self, "confidence")
        if not self.confidence < 1:
            raise ValueError(f"confidence is {self.confidence:g}; give a number between 0 and 1")
        if self.replications is not None:
            _whole(self, "replications", 2)
        _whole(self, "period", 1)

    def __str__(self) -> str:
        costs = "costs" if self.replications is None else f"{self.replications} simulated costs"
        period = "" if self.period == 1 else f", every {self.period} iterations"
        return f"bound in the {100 * self.confidence:.4g} % interval of {costs}{period}"

    def reached(self, progress: Progress) -> str | None:
        """Compare the bound with the side of the interval from which it comes."""
        if progress.iteration % self.period:
            return None
        if self.replications is None:
            estimate = progress.estimates[-1]
        else:
            estimate, _ = progress.simulate(self.replications)
        if estimate.count < 2:
            return None
        half = estimate.half_width(self.confidence)
        gap = estimate.mean - progress.bounds[-1]
        missing = (gap if progress.sense == "min" else -gap) - half
        if not missing <= ROUNDING * max(1.0, abs(estimate.mean)):
            return None
        return (
            f"the bound {progress.bounds[-1]:.6g} is in the {100 * self.confidence:.4g} % interval "
            f"{estimate.mean:.6g} ± {half:.2g} of the cost"
        )

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """At the earliest when it looks again."""
        return Remaining(seconds_of(self.period - progress.iteration % self.period))


@dataclass(frozen=True)
class SimulationStopping(StoppingRule):
    """Stop when neither the bound nor the simulated cost of any step changes any more.

    Every ``period`` iterations, if the bound is stable, the policy is simulated and its mean costs per step
    are compared with those of the last time.

    Args:
        replications: how many trajectories to simulate.
        period: look only after every so many iterations.
        bound_window: over how many iterations the bound must be stable.
        distance_tolerance: how far the costs may be from those before: the Euclidean norm of the relative
            differences, each relative to at least 1.
        bound_tolerance: how far the bound may have moved, relative to its size or 1.
    """

    name = "simulation"
    label = "stable simulations"
    converged = True

    replications: int = 100
    period: int = 20
    bound_window: int = 5
    distance_tolerance: float = 0.01
    bound_tolerance: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("replications", "period", "bound_window"):
            _whole(self, name, 1)
        _positive(self, "distance_tolerance")
        _positive(self, "bound_tolerance")

    def __str__(self) -> str:
        return f"stable bound and {self.replications} simulated costs, every {self.period} iterations"

    def reached(self, progress: Progress) -> str | None:
        """Simulate when it is time, and compare."""
        if progress.iteration % self.period:
            return None
        if not _moved(progress.bounds, self.bound_window) < self.bound_tolerance:
            return None
        # Another rule may have asked for simulations of another size.
        ours = [record for record in progress.simulations if record.replications == self.replications]
        earlier = [record for record in ours if record.iteration < progress.iteration]
        now = next((record for record in ours if record.iteration == progress.iteration), None)
        if now is None:
            _, costs = progress.simulate(self.replications)
            now = SimulationRecord(progress.iteration, tuple(costs), self.replications)
            progress.simulations.append(now)
        if not earlier:
            return None
        distance = _distance(now.step_costs, earlier[-1].step_costs)
        if not distance < self.distance_tolerance:
            return None
        return (
            f"the bound is stable, and simulated costs differ by {distance:.2g} from those of "
            f"iteration {earlier[-1].iteration}"
        )

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """At the earliest when it looks again; the first time there is nothing to compare with."""
        first = not any(record.replications == self.replications for record in progress.simulations)
        looks = self.period - progress.iteration % self.period
        return Remaining(seconds_of(looks + self.period * first))


@dataclass(frozen=True)
class AnyOf(StoppingRule):
    """Stop when one of the rules says so; they are asked in order. Usually written with ``|``."""

    rules: tuple[StoppingRule, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", _checked_rules(self.rules))

    def __str__(self) -> str:
        return ", or ".join(_inner(rule) for rule in self.rules)

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {"rule": "AnyOf", "rules": [rule.spec() for rule in self.rules]}

    @property
    def iteration_limit(self) -> int | None:
        """The smallest of the rules' limits."""
        return min(
            (limit for rule in self.rules if (limit := rule.iteration_limit) is not None), default=None
        )

    def reached(self, progress: Progress) -> str | None:
        """Return the first reason."""
        return next((reason for rule in self.rules if (reason := rule.reached(progress)) is not None), None)

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """As far as the nearest."""
        each = [rule.remaining(progress, seconds_of) for rule in self.rules]
        earliest = min(one.earliest_s for one in each)
        known = [one for one in each if one.latest_s is not None]
        return replace(min(known, key=_latest, default=Remaining()), earliest_s=earliest)

    def fired(self, progress: Progress) -> tuple[StoppingRule, ...]:
        """Return that of the first reason."""
        return next((fired for rule in self.rules if (fired := rule.fired(progress))), ())


@dataclass(frozen=True)
class AllOf(StoppingRule):
    """Stop when all of the rules say so after the same iteration. Usually written with ``&``."""

    rules: tuple[StoppingRule, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", _checked_rules(self.rules))

    def __str__(self) -> str:
        return ", and ".join(_inner(rule) for rule in self.rules)

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {"rule": "AllOf", "rules": [rule.spec() for rule in self.rules]}

    @property
    def iteration_limit(self) -> int | None:
        """The largest of the rules' limits, if each has one."""
        limits = [limit for rule in self.rules if (limit := rule.iteration_limit) is not None]
        return max(limits) if len(limits) == len(self.rules) else None

    def reached(self, progress: Progress) -> str | None:
        """Ask every rule, since one may leave a record for later, and return all reasons."""
        reasons = [rule.reached(progress) for rule in self.rules]
        given = [reason for reason in reasons if reason is not None]
        return "; ".join(given) if len(given) == len(reasons) else None

    def remaining(self, progress: Progress, seconds_of: Callable[[int], float]) -> Remaining:
        """As far as the farthest. Rules that know their latest end are limits, and stay reached."""
        each = [rule.remaining(progress, seconds_of) for rule in self.rules]
        earliest = max(one.earliest_s for one in each)
        known = all(one.latest_s is not None for one in each)
        return replace(max(each, key=_latest) if known else Remaining(), earliest_s=earliest)

    def fired(self, progress: Progress) -> tuple[StoppingRule, ...]:
        """Return those of all reasons."""
        fired = [rule.fired(progress) for rule in self.rules]
        return tuple(rule for each in fired for rule in each) if all(fired) else ()


#: The rules of this module by their names. A case can use those that have an input model in `cobre.inputs`.
RULES: dict[str, type[StoppingRule]] = {
    rule.name: rule for rule in (IterationLimit, TimeLimit, BoundStalling, Statistical, SimulationStopping)
}


def stopped_by(names: str) -> str:
    """Return in words what stopped a training, from the names of rules joined by ``+``.

    >>> stopped_by("iteration_limit+bound_stalling"), stopped_by("of another kind")
    ('the iteration limit and a stalled bound', 'of another kind')
    """
    return " and ".join(RULES[name].label if name in RULES else name for name in names.split("+"))


def as_rule(stop: int | StoppingRule | Sequence[int | StoppingRule]) -> StoppingRule:
    """Return the rule meant: an integer is a limit of iterations, a sequence any of its rules.

    Raises:
        ValueError: it is none of these.

    >>> as_rule([100, TimeLimit(60)])
    AnyOf(rules=(IterationLimit(limit=100), TimeLimit(seconds=60.0)))
    """
    if isinstance(stop, StoppingRule):
        return stop
    if isinstance(stop, int) and not isinstance(stop, bool):
        return IterationLimit(stop)
    if isinstance(stop, Sequence) and not isinstance(stop, str):
        return AnyOf(tuple(as_rule(rule) for rule in stop))
    raise ValueError(f"{stop!r} is no stopping rule; give a number of iterations, a rule, or a list of them")


def _moved(bounds: Sequence[float], window: int) -> float:
    """The relative change of the bound over the last ``window`` iterations."""
    if len(bounds) <= window:
        return math.inf
    return abs(bounds[-1] - bounds[-1 - window]) / max(1.0, abs(bounds[-1]))


def _still_to_move(bounds: Sequence[float], window: int, tolerance: float) -> int:
    """Iterations with an unchanged bound until it has hardly moved over ``window``."""
    size = max(1.0, abs(bounds[-1]))
    ago = enumerate(reversed(bounds))
    same = next((i for i, bound in ago if not abs(bounds[-1] - bound) / size < tolerance), len(bounds))
    return max(1, window + 1 - same)


def _latest(remaining: Remaining) -> float:
    return math.inf if remaining.latest_s is None else remaining.latest_s


def _distance(new: Sequence[float], old: Sequence[float]) -> float:
    # On a cyclic graph trajectories end at random, so one simulation can have steps that the other has not.
    pairs = zip_longest(new, old, fillvalue=0.0)
    return math.sqrt(math.fsum(square((after - before) / max(1.0, abs(before))) for after, before in pairs))


def _parts(rule: StoppingRule, kind: type[AnyOf] | type[AllOf]) -> tuple[StoppingRule, ...]:
    return rule.rules if isinstance(rule, kind) else (rule,)


def _inner(rule: StoppingRule) -> str:
    return f"({rule})" if isinstance(rule, AnyOf | AllOf) else str(rule)


def _checked_rules(rules: Sequence[StoppingRule]) -> tuple[StoppingRule, ...]:
    if not rules:
        raise ValueError("no stopping rules; give at least one, for instance a number of iterations")
    for rule in rules:
        if not isinstance(rule, StoppingRule):
            raise ValueError(f"{rule!r} is no stopping rule")
    return tuple(rules)


def _whole(rule: StoppingRule, name: str, least: int) -> None:
    value = getattr(rule, name)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is {value!r}; give a whole number, {least} or more")


def _positive(rule: StoppingRule, name: str) -> None:
    value = getattr(rule, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{name} is {value!r}; give a number above 0")
    object.__setattr__(rule, name, float(value))  # 1 and 1.0 are one rule, with one spec
