"""Recording of what the units of a training take, for the model of scaling."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats
from cobre.sddp._cuts import make_cuts
from cobre.sddp._engine import Engine, NodeBatch
from cobre.sddp._trained import TrainedPolicy
from cobre.sddp.events import Event, IterationFinished, Listener
from cobre.sddp.execution import ExecutionOptions
from cobre.sddp.sampling import InSample
from cobre.sddp.scaling._model import Repeated, Workload
from cobre.sddp.stopping import AllOf, AnyOf, IterationLimit, TimeLimit
from cobre.sddp.training import TrainingTask

ALONE = ExecutionOptions(threads=1, backend="local")
#: Iterations of training at most. The second half of them is recorded: at first, few cuts make solves easy.
ITERATIONS = 40
#: The number of openings of a trial state that are about one unit: as in ``native/core/lp/stage.cpp``.
BLOCK = 10


class _Job(NamedTuple):
    """One job.

    Attributes:
        begun_s: on the clock of this process's processor time, so that a busy machine matters little.
        ended_s: likewise, after the recording.
        recording_s: of this time what the engine itself does not take.
        shared: whether ranks would share it: a step of the backward pass.
        tasks: per task, the seconds of its units.
        openings: of the first stage in it.
        cuts_s: of making the cuts of its trial states.
    """

    begun_s: float
    ended_s: float
    recording_s: float
    shared: bool
    tasks: list[Floats]
    openings: int
    cuts_s: float

    @property
    def units_s(self) -> float:
        return float(sum(task.sum() for task in self.tasks))


@dataclass(eq=False)
class _Record:
    """The jobs of some iterations. A listener."""

    ended_s: float = 0.0
    jobs: list[_Job] = field(default_factory=list)
    iterations: list[_Iteration] = field(default_factory=list)
    cut_bytes: int = 0
    path_bytes: int = 0

    @property
    def goes_back(self) -> bool:
        """True once the backward pass of the iteration under way has begun."""
        return any(job.shared for job in self.jobs)

    def __call__(self, event: Event) -> None:
        if not isinstance(event, IterationFinished):
            return
        now = time.process_time()
        self.iterations.append(_Iteration.of(self.jobs, now - self.ended_s))
        self.ended_s, self.jobs = now, []


class _Iteration(NamedTuple):
    """One iteration, divided.

    Attributes:
        forward: the jobs of the forward pass.
        backward: those of the backward pass.
        along_s: between jobs of the forward pass.
        cuts_s: of making cuts of own trial states.
        between_s: all that remains.
    """

    forward: list[_Job]
    backward: list[_Job]
    along_s: float
    cuts_s: float
    between_s: float

    @classmethod
    def of(cls, jobs: Sequence[_Job], seconds: float) -> _Iteration:
        first = next(place for place, job in enumerate(jobs) if job.shared)
        forward, backward = list(jobs[:first]), list(jobs[first:])
        along = sum(later.begun_s - job.ended_s for job, later in pairwise(forward))
        cuts = sum(job.cuts_s for job in backward)
        known = sum(job.units_s + job.recording_s for job in jobs)
        return cls(forward, backward, along, cuts, seconds - known - along - cuts)


class RecordingEngine(Engine):
    """An engine that records the time of each unit."""

    def __init__(self, record: _Record, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._record = record
        record.ended_s = time.process_time()
        record.path_bytes = 8 * ((self.depth + 1) * self.states + 3 * self.depth + 1)
        record.cut_bytes = 8 * (self.states + 4)

    def solve(
        self,
        batches: Sequence[NodeBatch[Any]],
        counter: NDArray[np.int64] | None = None,
        seconds: Floats | None = None,
    ) -> None:
        """Solve batches, and record how long each unit took."""
        if counter is None and self._record.goes_back:  # for a guard, on every rank
            super().solve(batches)
            return
        entered = time.process_time()
        blocks = [
            [1] if counter is None else [blocks_of(len(self.solvers[node].table)) for node in batch.nodes]
            for batch in batches
        ]
        sizes = [len(batch.states) * sum(each) for batch, each in zip(batches, blocks, strict=True)]
        seconds = np.zeros(sum(sizes))
        begun = time.process_time()
        super().solve(batches, counter, seconds)
        solving = time.process_time() - begun
        if seconds.any():  # what comes with each unit, as handing it out, is shared as the units are
            seconds *= solving / seconds.sum()
        tasks: list[Floats] = []
        for units, each in zip(np.split(seconds, np.cumsum(sizes)[:-1]), blocks, strict=bool(batches)):
            tasks += _by_task(units, each)
        cuts_s = 0.0 if counter is None else sum(self._seconds_of_cuts(batch) for batch in batches)
        table = self.solvers[batches[0].nodes[0]].table if batches else ()
        left = time.process_time()
        self._record.jobs.append(
            _Job(entered, left, left - entered - solving, counter is not None, tasks, len(table), cuts_s)
        )

    def _seconds_of_cuts(self, batch: NodeBatch[Any]) -> float:
        """Seconds of making cuts of solves, which are made once more for it."""
        children, values = tuple(batch.nodes), batch.solves.values
        parent = next(
            number
            for number, follows in enumerate(self.outcomes)
            if follows.children == children and len(follows.probabilities) == values.shape[1]
        )
        node = self.ROOT if parent == len(self.solvers) else parent
        begun = time.process_time()
        make_cuts(self, node, batch.states, values, batch.solves.slopes)
        return time.process_time() - begun


def blocks_of(openings: int) -> int:
    """Return the number of units that the openings of one trial state are."""
    return max(1, (openings + BLOCK // 2) // BLOCK)


def _by_task(units: Floats, blocks: Sequence[int]) -> list[Floats]:
    """Units as a job has them, stage by stage, by the task that they belong to."""
    tasks = len(units) // sum(blocks)
    ends = np.cumsum([tasks * each for each in blocks])[:-1]
    parts = [part.reshape(tasks, each) for part, each in zip(np.split(units, ends), blocks, strict=True)]
    return list(np.concatenate(parts, axis=1))


def record_workload(
    task: TrainingTask,
    seconds: float,
    listeners: Sequence[Listener] = (),
    iterations: int = ITERATIONS,
) -> Workload:
    """Train for some iterations on one rank and one thread; return what their units took.

    It trains with all trajectories and then, to tell what grows with them, with a quarter of them. Time is
    looked at after each iteration, of which each training has two at least.

    Args:
        task: whose problem and method; nothing is saved.
        seconds: after which to stop, about.
        listeners: called with the events of both trainings.
        iterations: after which to stop at the latest.
    """
    whole, trained = _recorded(task, iterations, 0.7 * seconds, listeners)
    record = _second_half(whole)
    count = task.method.trajectories
    few = replace(task.method, trajectories=max(1, count // 4))
    part = TrainingTask.checked(task.structure.given, few, 1, warm_start=trained)
    less = _second_half(_recorded(part, max(2, iterations // 4), 0.2 * seconds, listeners)[0])
    steps = min(len(iteration.forward) for iteration in record)
    forward = [
        np.concatenate([units for iteration in record for units in iteration.forward[step].tasks])
        for step in range(steps)
    ]
    backward = [
        tuple(units for iteration in record for units in iteration.backward[-1 - step].tasks)
        for step in range(steps + 1)
    ]
    in_sample = isinstance(task.method.sampling, InSample)
    sizes = few.trajectories, count
    along_fixed, along_each = _line(sizes, (_median(less, "along_s"), _median(record, "along_s")))
    fixed, each = _line(sizes, (_median(less, "between_s"), _median(record, "between_s")))
    return Workload(
        tuple(forward),
        tuple(backward),
        tuple(job.openings for job in record[-1].forward[:steps]) if in_sample else (),
        Repeated(along_fixed, own_s=along_each),
        Repeated(fixed, own_s=_median(record, "cuts_s") / count, all_s=each),
        whole.path_bytes,
        whole.cut_bytes,
    )


def _recorded(
    task: TrainingTask, iterations: int, seconds: float, listeners: Sequence[Listener]
) -> tuple[_Record, TrainedPolicy]:
    """Train for so many iterations, fewer if time is up, but two at least: the first has no warm starts."""
    record = _Record()
    rule = AnyOf((IterationLimit(iterations), AllOf((IterationLimit(2), TimeLimit(seconds)))))
    recording = replace(
        task, rule=rule, checkpoint=None, start=task.start, engine=partial(RecordingEngine, record)
    )
    return record, recording.run(ALONE, [record, *listeners])


def _second_half(record: _Record) -> list[_Iteration]:
    return record.iterations[(len(record.iterations) + 1) // 2 :]


def _median(iterations: Sequence[_Iteration], name: str) -> float:
    return float(np.median([getattr(iteration, name) for iteration in iterations]))


def _line(sizes: tuple[int, int], seconds: tuple[float, float]) -> tuple[float, float]:
    """Intercept and slope through two points, neither below 0."""
    (few, many), (less, more) = sizes, seconds
    slope = max(0.0, (more - less) / (many - few)) if many > few else 0.0
    return max(0.0, more - slope * many), slope
