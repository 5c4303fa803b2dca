"""Simulating a policy: trajectories of any sampling, as tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.comm import BackendCommunicator
from cobre.errors import InvalidProblem, PolicyFileError
from cobre.estimates import Estimate
from cobre.lp import Floats, Ints
from cobre.sddp import _forward
from cobre.sddp._checkpoint import restore
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Wanted
from cobre.sddp._graph import value_bounds
from cobre.sddp._method import Method
from cobre.sddp._parallel import on_ranks
from cobre.sddp._visits import Recorder, Visit, VisitTable, Watcher
from cobre.sddp.events import Listener, SimulationProgress
from cobre.sddp.policy import Policy
from cobre.sddp.problem import MultistageProblem
from cobre.sddp.sampling import SIMULATION, Draw, InSample, Sampling

#: How many trajectories a rank simulates in one go, and how much memory what is seen of them may take. More
#: would be no faster, and who waits would hear of it more rarely.
BATCH, BATCH_BYTES = 64, 1 << 27


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """What happened on all trajectories.

    Attributes:
        table: one row per trajectory and step: ``trajectory``, ``step`` (from 0), ``node``, ``realization``
            (its number among those sampled from), ``cost`` (not discounted), ``<state>_in`` and
            ``<state>_out`` for each state, and the columns and duals asked for; null where a node has none.
        totals: the discounted cost or reward of each trajectory.
        estimate: of the mean of the totals.
    """

    table: pa.Table
    totals: Floats

    @property
    def estimate(self) -> Estimate:
        """The mean of the totals, and how certain it is."""
        return Estimate.of(self.totals.tolist())


def simulate(  # noqa: PLR0913
    problem: MultistageProblem,
    policy: Policy,
    trajectories: int | None = None,
    *,
    seed: int = 0,
    sampling: Sampling | None = None,
    depth: int | None = None,
    columns: Sequence[str] = (),
    duals: Sequence[str] = (),
    listeners: Sequence[Listener] | Listener = (),
    comm: BackendCommunicator | None = None,
    num_workers: int | None = None,
    backend: str = "shm",
    threads: int = 1,
) -> SimulationResult:
    """Follow a policy on many trajectories.

    Args:
        problem: what the policy is for: that which it was trained on, or one with the same nodes and states.
        policy: what to follow.
        trajectories: how many; 1000 unless given, or as many as the sampling has.
        seed: of the draws, which are others than those of a training with the same seed.
        sampling: which way trajectories go; by their probabilities unless given.
        depth: as for `train`.
        columns: names of columns whose values to record.
        duals: names of rows whose duals to record.
        listeners: called with each event, in the process that calls this.
        comm: as for `train`.
        num_workers: as for `train`.
        backend: as for `train`.
        threads: as for `train`.

    Raises:
        InvalidProblem: something is wrong with the problem or an argument; all of it is listed.
        PolicyFileError: the policy does not fit the problem.
        SolveError: a linear programme has no solution.
        WorkerError: a worker failed; its own error is the cause.
    """
    method = _method(policy, trajectories, seed, sampling, depth)
    found = []
    for what, names, of in (("column", columns, "column_names"), ("row", duals, "row_names")):
        known = {name for node in problem.nodes for name in getattr(node.program, of)}
        found += [f"no node has a {what} {name!r}" for name in names if name not in known]
    bounds = _checked(problem, policy, method, found)
    run = _TableRun(problem, bounds, policy, method, threads, tuple(columns), tuple(duals))
    return on_ranks(run, comm, num_workers, backend, listeners)


def follow(  # noqa: PLR0913
    problem: MultistageProblem,
    policy: Policy,
    recorder: Recorder,
    trajectories: int | None = None,
    *,
    seed: int = 0,
    sampling: Sampling | None = None,
    depth: int | None = None,
    listeners: Sequence[Listener] | Listener = (),
    comm: BackendCommunicator | None = None,
    num_workers: int | None = None,
    backend: str = "shm",
    threads: int = 1,
) -> Floats:
    """Simulate as `simulate` does, giving all columns and duals of all nodes to a recorder as they come.

    Ranks keep nothing, so there may be more of it than memory.

    Args:
        problem: as for `simulate`.
        policy: as for `simulate`.
        recorder: called on each rank with what that rank simulates.
        trajectories: as for `simulate`.
        seed: as for `simulate`.
        sampling: as for `simulate`.
        depth: as for `simulate`.
        listeners: as for `simulate`.
        comm: as for `simulate`.
        num_workers: as for `simulate`.
        backend: as for `simulate`.
        threads: as for `simulate`.

    Returns:
        The discounted cost or reward of each trajectory.
    """
    method = _method(policy, trajectories, seed, sampling, depth)
    run = _FollowRun(problem, _checked(problem, policy, method, []), policy, method, threads, recorder)
    return on_ranks(run, comm, num_workers, backend, listeners)


def _method(
    policy: Policy, trajectories: int | None, seed: int, sampling: Sampling | None, depth: int | None
) -> Method:
    sampling = sampling or InSample()
    count = trajectories if trajectories is not None else sampling.natural_count or 1000
    return Method(count, seed, cuts=policy.method["cuts"], sampling=sampling, depth=depth)


def _checked(problem: MultistageProblem, policy: Policy, method: Method, found: list[str]) -> Floats:
    """The value bounds of a problem that can be simulated."""
    found = [*problem.findings(), *method.findings(problem), *found]
    if found:
        raise InvalidProblem(found)
    bounds = value_bounds(problem)  # raises if there is none, before any worker starts
    if reason := policy.fits(problem):
        raise PolicyFileError("the policy", reason)
    policy.warn_of_another_solver()
    return bounds


def estimate_costs(engine: Engine, replications: int, iteration: int) -> tuple[Estimate, tuple[float, ...]]:
    """Simulate with the policy as it is; return the estimate of the total and the mean of each step.

    A collective.
    """
    own = engine.block(replications)
    draw = Draw(engine.method.seed, iteration, own.start, len(own), replications, engine.depth, SIMULATION)
    paths = _forward.walk(engine, engine.method.sampling.sample(engine.problem, draw))
    record = np.zeros((len(own), engine.depth + 1))
    record[:, : len(paths.costs)] = np.where(paths.nodes >= 0, paths.costs, 0.0).T
    record[:, -1] = paths.totals(engine.discounts)
    whole = engine.sign * _gathered(engine, record, replications)
    steps = tuple(Estimate.of(costs.tolist()).mean for costs in whole[:, :-1].T)
    return Estimate.of(whole[:, -1].tolist()), steps


def _gathered(engine: Engine, own: Floats, count: int) -> Floats:
    """The rows of all ranks, each of which has its block of ``count``."""
    width = own.shape[1]
    whole = np.empty((count, width))
    counts = [len(engine.block(count, rank)) * width for rank in range(engine.comm.size)]
    engine.comm.allgatherv(np.ascontiguousarray(own).reshape(-1), whole.reshape(-1), counts)
    return whole


Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class _Run(Generic[Result]):
    problem: MultistageProblem
    value_bounds: Floats
    policy: Policy
    method: Method
    threads: int

    def __call__(self, comm: BackendCommunicator, listeners: Sequence[Listener]) -> Callable[[], Result]:
        """Simulate. A collective: every rank can have the same result."""
        bounds, threads = self.value_bounds, self.threads
        with Engine(self.problem, self.method, comm, value_bounds=bounds, threads=threads) as engine:
            restore(self.policy, engine)
            return self._simulated(engine, listeners)

    def _simulated(self, engine: Engine, listeners: Sequence[Listener]) -> Callable[[], Result]:
        raise NotImplementedError

    def _batches(
        self, engine: Engine, wanted: Sequence[Wanted], listeners: Sequence[Listener]
    ) -> Iterator[tuple[range, Floats, list[Visit]]]:
        """This rank's trajectories, some at a time: which, what they cost in all, and what they saw."""
        own, total = engine.block(self.method.trajectories), self.method.trajectories
        progress = _Progress(engine, total, listeners)
        watcher = Watcher(engine, wanted)
        batch = max(1, min(BATCH, BATCH_BYTES // watcher.bytes_per_trajectory()))
        for first in range(own.start, own.stop, batch):
            size = min(batch, own.stop - first)
            draw = Draw(self.method.seed, 0, first, size, total, engine.depth, SIMULATION)
            paths, visits = watcher.walk(draw)
            totals = paths.totals(engine.discounts)
            yield range(first, first + size), totals, visits
            progress.tell(engine.sign * totals)


class _Progress:
    """Tells on rank 0 how far a simulation is; others are about as far."""

    def __init__(self, engine: Engine, total: int, listeners: Sequence[Listener]) -> None:
        self._size, self._total = engine.comm.size, total
        self._listeners = listeners if engine.comm.rank == 0 else ()
        self._begun = time.monotonic()
        self._done: list[float] = []
        self.tell(np.empty(0))

    def tell(self, totals: Floats) -> None:
        """These are done, too."""
        if not self._listeners:
            return
        self._done += totals.tolist()
        done = min(len(self._done) * self._size, self._total)
        estimate = Estimate.of(self._done) if self._done else None
        event = SimulationProgress(done, self._total, time.monotonic() - self._begun, estimate)
        for listener in self._listeners:
            listener(event)


@dataclass(frozen=True, eq=False)
class _TableRun(_Run[SimulationResult]):
    columns: tuple[str, ...]
    duals: tuple[str, ...]

    def _simulated(self, engine: Engine, listeners: Sequence[Listener]) -> Callable[[], SimulationResult]:
        columns, depth = VisitTable(self.problem, self.columns, self.duals), engine.depth
        parts = [np.empty((0, depth * columns.width + 1))]
        for which, totals, visits in self._batches(engine, columns.wanted(), listeners):
            rows = columns.rows(visits, which.start, len(which), depth)
            parts.append(np.concatenate([rows, totals[:, None]], axis=1))
        whole = _gathered(engine, np.concatenate(parts), self.method.trajectories)
        totals = engine.sign * whole[:, -1]
        return lambda: SimulationResult(columns.table(whole[:, :-1], depth), totals)


@dataclass(frozen=True, eq=False)
class _FollowRun(_Run[Floats]):
    recorder: Recorder

    def _simulated(self, engine: Engine, listeners: Sequence[Listener]) -> Callable[[], Floats]:
        programs = [node.program for node in self.problem.nodes]
        wanted = [Wanted(_all(program.columns), _all(program.rows)) for program in programs]
        parts = [np.empty((0, 1))]
        for _, totals, visits in self._batches(engine, wanted, listeners):
            self.recorder(visits)
            parts.append(totals[:, None])
        whole = engine.sign * _gathered(engine, np.concatenate(parts), self.method.trajectories)[:, 0]
        return lambda: whole


def _all(count: int) -> Ints:
    return np.arange(count, dtype=np.int32)
