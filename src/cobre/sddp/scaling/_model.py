"""Expected time of an iteration on any number of ranks, from the times of its units on one.

A model: list scheduling of recorded units, as the engine shares them out, plus what every rank repeats and an
assumed network. It leaves out that cores share caches and memory, and that machines differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from heapq import heapreplace
from itertools import pairwise
from math import ceil, log2
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats

#: How ranks share the backward pass: whole trial states of each rank's own trajectories; the same in blocks
#: of realisations; or blocks from one queue per machine, as the engine does it.
Sharing = Literal["static", "blocks", "balanced"]
#: Samples of trajectories over which an expected time is the mean.
SAMPLES = 3


@dataclass(frozen=True)
class Repeated:
    """Seconds of an iteration outside of solves: fixed, per own trajectory, and per trajectory of all."""

    fixed_s: float = 0.0
    own_s: float = 0.0
    all_s: float = 0.0

    def seconds(self, own: int, total: int) -> float:
        """Return the seconds on a rank with so many trajectories of so many."""
        return self.fixed_s + own * self.own_s + total * self.all_s


@dataclass(frozen=True, eq=False)
class Workload:
    """Recorded times of a training on one rank and one thread.

    Attributes:
        forward: by step, the seconds of each recorded solve.
        backward: by step, from the beginning on, per recorded trial state the seconds of its blocks.
        openings: by step, the number of realisations to draw from; none if trajectories always differ.
        along: outside of solves in the forward pass, in which ranks do not meet.
        between: outside of solves elsewhere.
        path_bytes: per trajectory, gathered once.
        cut_bytes: per trajectory, gathered in each backward step.
    """

    forward: tuple[Floats, ...]
    backward: tuple[tuple[Floats, ...], ...]
    openings: tuple[int, ...]
    along: Repeated
    between: Repeated
    path_bytes: int
    cut_bytes: int


@dataclass(frozen=True)
class Layout:
    """Ranks on machines.

    Attributes:
        ranks: of the run.
        threads: of each rank.
        per_machine: ranks on each machine; the last one may have fewer.
        cores: of each machine.
    """

    ranks: int
    threads: int = 1
    per_machine: int = 64
    cores: int = 64

    @property
    def machines(self) -> list[range]:
        """The ranks of each machine."""
        starts = range(0, self.ranks, self.per_machine)
        return [range(start, min(start + self.per_machine, self.ranks)) for start in starts]

    @property
    def cores_used(self) -> int:
        """The number of cores on which something runs."""
        return sum(min(len(ranks) * self.threads, self.cores) for ranks in self.machines)

    @property
    def rank_places(self) -> float:
        """The number of ranks of a machine that can run at the same time with all their threads."""
        return self.cores / min(self.threads, self.cores)


#: Seconds of an allgatherv of so many bytes in all.
Collective = Callable[[float, Layout], float]


@dataclass(frozen=True)
class Network:
    """Time of collectives: recursive doubling, within a machine and then between machines.

    Attributes:
        meeting_s: two ranks of a machine meet.
        copy_byte_s: a byte is copied within a machine.
        latency_s: a message between two machines.
        byte_s: a byte through the network card of a machine.
    """

    meeting_s: float = 3e-7
    copy_byte_s: float = 2.1e-10
    latency_s: float = 2e-5
    byte_s: float = 1 / 2.8e9

    def __call__(self, total: float, layout: Layout) -> float:
        """Return the seconds of an allgatherv of so many bytes in all; none on one rank."""
        if layout.ranks == 1:
            return 0.0
        here, machines = min(layout.ranks, layout.per_machine), len(layout.machines)
        inside = ceil(log2(here)) * self.meeting_s + total * self.copy_byte_s
        between = ceil(log2(machines)) * self.latency_s + total * (machines - 1) / machines * self.byte_s
        return inside + between


@dataclass(frozen=True)
class Expected:
    """Expected seconds of an iteration, by what it spends them on.

    Attributes:
        forward_s: until the last rank has done its trajectories.
        backward_s: until the last unit of each step is done.
        repeated_s: outside of solves.
        collective_s: in collectives, waiting excluded.
    """

    forward_s: float
    backward_s: float
    repeated_s: float
    collective_s: float

    @property
    def seconds(self) -> float:
        """The iteration."""
        return self.forward_s + self.backward_s + self.repeated_s + self.collective_s

    @classmethod
    def mean(cls, of: Sequence[Self]) -> Self:
        """Return the mean."""
        return cls(*np.mean([list(vars(one).values()) for one in of], axis=0).tolist())


def makespan(units: Iterable[float], workers: int) -> float:
    """Return when workers that take units from a queue, in their order, have done the last.

    >>> makespan([3.0, 1.0, 1.0, 2.0], 2)
    4.0
    """
    free = [0.0] * workers
    for seconds in units:
        heapreplace(free, free[0] + seconds)
    return max(free)


def shared_seconds(work: Sequence[float], places: float) -> float:
    """Return when ranks that begin together have done their own work, on cores for so many at the same time.

    More ranks than places slow each other down alike.

    >>> shared_seconds([1.0, 3.0], 2), shared_seconds([1.0, 3.0], 1), shared_seconds([1.0, 3.0], 1.5)
    (3.0, 4.0, 3.333333333333333)
    """
    ordered = sorted(work)
    steps = (
        (longer - shorter) * max(1.0, (len(ordered) - done) / places)
        for done, (shorter, longer) in enumerate(pairwise([0.0, *ordered]))
    )
    return sum(steps)


class _Trial(NamedTuple):
    """A trial state: the first trajectory that has it, and the seconds of its blocks."""

    trajectory: int
    blocks: Floats


@dataclass(frozen=True, eq=False)
class _Iteration:
    """An iteration whose trajectories are drawn from recorded solves.

    Attributes:
        histories: by step, the number of what each trajectory has met so far, and at the beginning.
        forward: by step, the seconds of each trajectory's solve.
        backward: by step, from the beginning on.
    """

    histories: list[NDArray[np.intp]]
    forward: list[Floats]
    backward: list[list[_Trial]]

    @classmethod
    def drawn(cls, workload: Workload, trajectories: int, random: np.random.Generator) -> Self:
        """Draw so many trajectories. Those that have met the same so far share their solves."""
        history = np.zeros(trajectories, np.intp)
        histories = [history]
        for step in range(len(workload.forward)):
            if workload.openings:
                met = history * workload.openings[step] + random.integers(
                    workload.openings[step], size=trajectories
                )
            else:
                met = np.arange(trajectories)
            history = np.unique(met, return_inverse=True)[1].reshape(-1)
            histories.append(history)
        forward = [random.choice(seconds, trajectories) for seconds in workload.forward]
        backward = []
        for trials, history in zip(workload.backward, histories, strict=True):
            owners = np.unique(history, return_index=True)[1] if trials else ()
            picks = random.integers(max(1, len(trials)), size=len(owners))
            backward.append(
                [_Trial(int(owner), trials[pick]) for owner, pick in zip(owners, picks, strict=True)]
            )
        return cls(histories, forward, backward)

    def forward_units(self, step: int, own: range) -> Floats:
        """The solves of some trajectories at a step; equal ones are done once by a rank."""
        history = self.histories[step + 1][own.start : own.stop]
        return self.forward[step][own.start : own.stop][np.unique(history, return_index=True)[1]]


class ScalingModel:
    """Expected times of one iteration, for any number of trajectories and ranks.

    Args:
        workload: the recorded times.
        trajectories: of an iteration.
        network: what a collective takes.
        seed: of the draws of trajectories from recorded ones.
    """

    def __init__(
        self, workload: Workload, trajectories: int, network: Collective | None = None, seed: int = 0
    ) -> None:
        random = np.random.default_rng(seed)
        self._workload, self._trajectories, self._network = workload, trajectories, network or Network()
        self._iterations = [_Iteration.drawn(workload, trajectories, random) for _ in range(SAMPLES)]

    @cached_property
    def sequential_s(self) -> float:
        """Seconds on one rank and one thread."""
        return self.expected(Layout(1)).seconds

    def efficiency(self, layout: Layout, sharing: Sharing = "balanced") -> float:
        """Return the time on one core, over the time that all cores together spend."""
        return self.sequential_s / (layout.cores_used * self.expected(layout, sharing).seconds)

    def expected(self, layout: Layout, sharing: Sharing = "balanced") -> Expected:
        """Return what an iteration takes."""
        return Expected.mean([self._expected(one, layout, sharing) for one in self._iterations])

    def _expected(self, iteration: _Iteration, layout: Layout, sharing: Sharing) -> Expected:
        work, total, steps = self._workload, self._trajectories, len(iteration.backward)
        shares = [
            range(total * rank // layout.ranks, total * (rank + 1) // layout.ranks)
            for rank in range(layout.ranks)
        ]
        crowded = max(1.0, min(layout.ranks, layout.per_machine) / layout.rank_places)
        cuts_s = self._network(work.cut_bytes * total, layout)
        return Expected(
            self._forward_s(iteration, layout, shares),
            sum(self._step_s(trials, layout, shares, sharing) for trials in iteration.backward),
            crowded * work.between.seconds(max(map(len, shares)), total),
            self._network(work.path_bytes * total, layout) + steps * cuts_s,
        )

    def _forward_s(self, iteration: _Iteration, layout: Layout, shares: Sequence[range]) -> float:
        """Ranks do not meet before the end."""
        along, threads = self._workload.along, min(layout.threads, layout.cores)
        work = [
            along.seconds(len(own), self._trajectories)
            + sum(
                makespan(iteration.forward_units(step, own).tolist(), threads)
                for step in range(len(iteration.forward))
            )
            for own in shares
        ]
        return max(
            shared_seconds(work[here.start : here.stop], layout.rank_places) for here in layout.machines
        )

    @staticmethod
    def _step_s(trials: Sequence[_Trial], layout: Layout, shares: Sequence[range], sharing: Sharing) -> float:
        """All meet after the step."""
        by_rank: list[list[float]] = [[] for _ in shares]
        ends = np.array([own.stop for own in shares])
        for trial in trials:
            rank = int(np.searchsorted(ends, trial.trajectory, side="right"))
            by_rank[rank] += [float(trial.blocks.sum())] if sharing == "static" else trial.blocks.tolist()
        on_machine = partial(_machine_s, layout=layout, queue=sharing == "balanced")
        return max(on_machine(by_rank[here.start : here.stop]) for here in layout.machines)


def _machine_s(by_rank: Sequence[Sequence[float]], layout: Layout, *, queue: bool) -> float:
    """Seconds of a backward step on a machine."""
    if queue:
        units = [seconds for own in by_rank for seconds in own]
        return makespan(units, min(len(by_rank) * layout.threads, layout.cores))
    threads = min(layout.threads, layout.cores)
    return shared_seconds([makespan(own, threads) for own in by_rank], layout.rank_places)
