"""Events of training and simulation. Rank 0 emits them for the run; a listener is any callable.

>>> events = []
>>> listener = events.append
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cobre.estimates import Estimate
from cobre.sddp._progress import Remaining

if TYPE_CHECKING:  # it would load the LP solver, which readers of events do not need
    from cobre.sddp.problem import Sense


@dataclass(frozen=True)
class TrainingStarted:
    """Training is about to begin, or to go on.

    Attributes:
        nodes: how many the problem has.
        states: how many the problem has.
        trajectories: how many each iteration samples.
        ranks: how many processes take part.
        threads: how many rank 0 uses; others do likewise, unless their machines differ.
        backend: over which they communicate.
        first_iteration: 1, or where a resumed run goes on.
        stop: the stopping rule in words.
        iteration_limit: the iteration after which it stops at the latest, if the rule has a limit.
        risk_neutral: whether bound and estimate are about the same thing, the expected value.
        sense: ``"min"`` if costs are minimised, and the bound is a lower one; ``"max"`` for rewards.
        threads_reason: for this number of threads.
        merging: which nodes were merged, or why none were although some could be; empty for most problems.
    """

    nodes: int
    states: int
    trajectories: int
    ranks: int
    threads: int
    backend: str
    first_iteration: int
    stop: str
    iteration_limit: int | None = None
    risk_neutral: bool = True
    sense: Sense = "min"
    threads_reason: str = ""
    merging: str = ""


@dataclass(frozen=True)
class RankTimes:
    """The work and times of one rank in an iteration.

    Attributes:
        rank: its number.
        forward_s: seconds in the forward pass, waiting for others included.
        backward_s: seconds in the backward pass, likewise.
        communication_s: seconds of these in which it communicated or waited for other ranks.
        solving_s: seconds of solving, summed over its threads.
        solves: linear programmes that it solved.
        trajectories: that were its own.
        waiting_s: seconds of ``communication_s`` in which it waited for the last rank to arrive.
        selection_s: seconds in cut selection.
    """

    # A field added here is exchanged between ranks and kept in checkpoints as it is. It needs a default, so
    # that older checkpoints can be read.
    rank: int
    forward_s: float = 0.0
    backward_s: float = 0.0
    communication_s: float = 0.0
    solving_s: float = 0.0
    solves: int = 0
    trajectories: int = 0
    waiting_s: float = 0.0
    selection_s: float = 0.0

    @property
    def wall_s(self) -> float:
        """Seconds that the iteration took this rank."""
        return self.forward_s + self.backward_s + self.selection_s


@dataclass(frozen=True)
class IterationFinished:
    """An iteration is complete.

    Attributes:
        iteration: its number, from 1.
        bound: after it.
        estimate: of the cost of its forward trajectories.
        cuts_added: by it, over all nodes.
        cuts_active: after cut selection, over all nodes.
        programmes: that both passes consist of; the same whatever the number of ranks.
        solves: linear programmes solved by it, over all ranks; of equal ones each rank solves one.
        simplex_iterations: these took.
        retries: solves that needed a second attempt.
        forward_s: seconds in the forward pass.
        backward_s: seconds in the backward pass.
        selection_s: seconds in cut selection.
        seconds: elapsed so far, earlier sessions of a resumed run included.
        ranks: what it was to each of them.
        remaining: how far the stopping rule is; None after the last iteration.
        risk_neutral: whether bound and estimate are of the same quantity, the expected value, so that
            there is a gap between them.
        raw_bound: what this iteration has computed, while ``bound`` is the best so far; None if it was not
            recorded then.
        cuts_repeated: cuts that were not added, being equal bit for bit to one that is there.
        cuts_revived: of these, the ones that selection had left out.
    """

    iteration: int
    bound: float
    estimate: Estimate
    cuts_added: int
    cuts_active: int
    programmes: int
    solves: int
    simplex_iterations: int
    retries: int
    forward_s: float
    backward_s: float
    selection_s: float
    seconds: float
    ranks: tuple[RankTimes, ...] = ()
    remaining: Remaining | None = None
    risk_neutral: bool = True
    raw_bound: float | None = None
    cuts_repeated: int = 0
    cuts_revived: int = 0


@dataclass(frozen=True)
class GuardTripped:
    """A consistency check failed and was handled; training continues.

    Attributes:
        kind: ``"value_corrected"``: the value of a trial state was computed again, by another method;
            ``"cut_rejected"``: a cut that is above the value at another trial state was not added;
            ``"bound_above"``: the bound is beyond what the trajectories of some iterations cost, by far more
            than sampling explains, or these missed rare, expensive scenarios.
        iteration: in which.
        node: at which; ``"root"`` for the beginning.
        claimed: the value, cut or bound that was doubted.
        found: what speaks against it: the value as it should be, or the mean of what was sampled.
    """

    kind: str
    iteration: int
    node: str
    claimed: float
    found: float


@dataclass(frozen=True)
class CheckpointWritten:
    """The run up to ``iteration`` is saved in the file ``path``."""

    path: str
    iteration: int


@dataclass(frozen=True)
class TrainingFinished:
    """Training has ended.

    Attributes:
        reason: the stopping rule's, in words.
        iterations: finished in all.
        bound: the last.
        estimate: of the last iteration's trajectories.
        seconds: elapsed, earlier sessions of a resumed run included.
    """

    reason: str
    iterations: int
    bound: float
    estimate: Estimate
    seconds: float


@dataclass(frozen=True)
class SimulationProgress:
    """``done`` of ``total`` trajectories are simulated, ``seconds`` after the simulation began.

    ``estimate`` is of the total of a trajectory, from those that rank 0 has done; None if it has done none.
    """

    done: int
    total: int
    seconds: float
    estimate: Estimate | None = None


@dataclass(frozen=True)
class RankSolves:
    """Solves of a rank in a simulation, and their time.

    Attributes:
        rank: which one.
        solves: linear programmes that it solved; of equal ones one.
        simplex_iterations: these took.
        retries: solves that needed a second attempt.
        solving_s: seconds of solving, summed over threads.
    """

    rank: int
    solves: int
    simplex_iterations: int
    retries: int
    solving_s: float


@dataclass(frozen=True)
class SimulationFinished:
    """All trajectories are simulated, ``seconds`` after the simulation began; ``ranks`` is what it took."""

    trajectories: int
    seconds: float
    ranks: tuple[RankSolves, ...]


Event = (
    TrainingStarted
    | IterationFinished
    | GuardTripped
    | CheckpointWritten
    | TrainingFinished
    | SimulationProgress
    | SimulationFinished
)
Listener = Callable[[Event], None]


def to_dict(event: Event) -> dict[str, Any]:
    """Return the event in JSON's types, its name first; a number that is not finite becomes None.

    >>> to_dict(CheckpointWritten("policy.cobre", 7))
    {'event': 'checkpoint_written', 'path': 'policy.cobre', 'iteration': 7}
    """
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    return {"event": name, **_plain(dataclasses.asdict(event))}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    # JSON has no word for infinity, and readers refuse what Python would write.
    return None if isinstance(value, float) and not math.isfinite(value) else value
