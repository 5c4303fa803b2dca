"""Simulating a policy: trajectories of any sampling, as tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.comm import BackendCommunicator
from cobre.errors import PolicyFileError
from cobre.estimates import Estimate
from cobre.lp import Floats, Ints
from cobre.sddp import _forward
from cobre.sddp._checkpoint import restore
from cobre.sddp._engine import Engine
from cobre.sddp._exchange import gather_records
from cobre.sddp._forward import Wanted
from cobre.sddp._method import Method, require_valid
from cobre.sddp._sharing import share_numbers
from cobre.sddp._structure import Structure
from cobre.sddp._visits import Recorder, Visit, VisitTable, Watcher
from cobre.sddp.events import Listener, RankSolves, SimulationFinished, SimulationProgress
from cobre.sddp.execution import ExecutionOptions, RankContext, execute
from cobre.sddp.policy import Policy
from cobre.sddp.problem import MultistageProblem
from cobre.sddp.sampling import SIMULATION, Draw, InSample, Sampling

#: How many trajectories a rank simulates in one go, and how much memory what is seen of them may take. More
#: would be no faster, and who waits would hear of it more rarely.
BATCH, BATCH_BYTES = 64, 1 << 27


@dataclass(frozen=True, eq=False)
class SimulatedTrajectories:
    """Results of a simulation, for all trajectories.

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
    backend: str = "auto",
    threads: int | None = None,
) -> SimulatedTrajectories:
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
    found = []
    for what, names, of in (("column", columns, "column_names"), ("row", duals, "row_names")):
        known = {name for node in problem.nodes for name in getattr(node.program, of)}
        found += [f"no node has a {what} {name!r}" for name in names if name not in known]
    checked = partial(SimulationTask.checked, problem, policy, trajectories, seed, sampling, depth, found)
    options = ExecutionOptions(num_workers, backend, threads, comm=comm)
    task = options.together(checked)
    return execute(
        partial(task.tabulate, policy, columns=tuple(columns), duals=tuple(duals)),
        options,
        listeners,
        lambda: {**task.facts(policy), "columns": list(columns), "duals": list(duals)},
    )


def simulate_streaming(  # noqa: PLR0913
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
    backend: str = "auto",
    threads: int | None = None,
) -> Floats:
    """Simulate as `simulate` does, giving all columns and duals of all nodes to a recorder as they come.

    Ranks keep nothing, so there may be more of it than memory. `follow` is an alias of this function.

    Args:
        problem: as for `simulate`.
        policy: as for `simulate`.
        recorder: called on each rank with the visits of its trajectories.
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
    checked = partial(SimulationTask.checked, problem, policy, trajectories, seed, sampling, depth)
    options = ExecutionOptions(num_workers, backend, threads, comm=comm)
    task = options.together(checked)
    return execute(partial(task.stream, policy, recorder), options, listeners, partial(task.facts, policy))


follow = simulate_streaming


@dataclass(frozen=True, eq=False)
class SimulationTask:
    """A simulation that has been checked; its methods are called on every rank, and can be sent to workers.

    Attributes:
        problem: to simulate.
        method: of sampling, and of the policies to simulate.
        together: one rank simulates so many trajectories, from a multiple of this number on, in one batch.
        merged: the problem with fewer nodes that is solved in its place; None if it is solved as it is.
    """

    problem: MultistageProblem
    method: Method
    together: int = 1
    merged: Structure | None = None

    @classmethod
    def checked(  # noqa: PLR0913, PLR0917
        cls,
        problem: MultistageProblem,
        policy: Policy,
        trajectories: int | None = None,
        seed: int = 0,
        sampling: Sampling | None = None,
        depth: int | None = None,
        findings: Sequence[str] = (),
    ) -> Self:
        """Check a simulation before any worker starts. ``findings`` are further ones about arguments.

        The other arguments and the errors are those of `simulate`.
        """
        sampling = sampling or InSample()
        count = trajectories if trajectories is not None else sampling.natural_count or 1000
        method = Method(count, seed, cuts=policy.method["cuts"], sampling=sampling, depth=depth)
        require_valid(problem, method, findings)
        require_fitting(policy, problem)
        return cls(problem, method, merged=Structure.of_simulation(problem, method, policy))

    def facts(self, policy: Policy) -> dict[str, Any]:
        """Return what decides the bits of a simulation of a policy, in JSON's types."""
        return {"problem": self.problem.fingerprint, **self.method.spec(), "policy": policy.digest}

    def tabulate(
        self,
        policy: Policy,
        context: RankContext,
        *,
        columns: tuple[str, ...] = (),
        duals: tuple[str, ...] = (),
    ) -> SimulatedTrajectories:
        """Return the table of all trajectories. A collective."""
        wanted = VisitTable(self.problem, columns, duals)
        with self._engine(policy, context) as engine:
            depth = engine.depth
            parts = [np.empty((0, depth * wanted.width + 1))]
            for which, totals, visits in self._batches(engine, wanted.wanted(), context):
                rows = wanted.rows(visits, which.start, len(which), depth)
                parts.append(np.concatenate([rows, totals[:, None]], axis=1))
            whole = _gathered(engine, np.concatenate(parts), self._parts(engine))
            return SimulatedTrajectories(wanted.table(whole[:, :-1], depth), engine.sign * whole[:, -1])

    def stream(self, policy: Policy, recorder: Recorder, context: RankContext) -> Floats:
        """Give a recorder the visits of this rank's trajectories; return the totals of all. A collective."""
        wanted = [Wanted(_all(node.program.columns), _all(node.program.rows)) for node in self.problem.nodes]
        with self._engine(policy, context) as engine:
            parts = [np.empty((0, 1))]
            for _, totals, visits in self._batches(engine, wanted, context):
                recorder(visits)
                parts.append(totals[:, None])
            return engine.sign * _gathered(engine, np.concatenate(parts), self._parts(engine))[:, 0]

    @contextmanager
    def _engine(self, policy: Policy, context: RankContext) -> Iterator[Engine]:
        structure, threads = self._structure, context.threads
        policy, problem = structure.for_training(policy), structure.trained
        context.work_is_saved()
        share_numbers(problem, context)
        bounds = policy.value_bounds_of(problem)
        with (
            structure.naming_nodes(),
            Engine(problem, self.method, context.comm, value_bounds=bounds, threads=threads) as engine,
        ):
            restore(policy, engine)
            yield engine

    @property
    def _structure(self) -> Structure:
        return self.merged or Structure.of_itself(self.problem)

    def _batches(
        self, engine: Engine, wanted: Sequence[Wanted], context: RankContext
    ) -> Iterator[tuple[range, Floats, list[Visit]]]:
        """This rank's trajectories in batches: their numbers, their totals, and their visits."""
        own, total = self._parts(engine)[engine.comm.rank], self.method.trajectories
        progress = _ProgressReport(context, total)
        watcher, begun = Watcher(engine, self._structure, wanted), time.monotonic()
        most = min(BATCH, BATCH_BYTES // watcher.bytes_per_trajectory())
        batch = max(1, most // self.together) * self.together
        for first in range(own.start, own.stop, batch):
            size = min(batch, own.stop - first)
            draw = Draw(self.method.seed, 0, first, size, total, engine.depth, SIMULATION)
            paths, visits = watcher.walk(draw)
            totals = paths.totals(engine)
            yield range(first, first + size), totals, visits
            progress.add(engine.sign * totals)
        ranks = _solves_of_ranks(engine)
        context.emit(SimulationFinished(total, time.monotonic() - begun, ranks))

    def _parts(self, engine: Engine) -> list[range]:
        """The trajectories of each rank."""
        total, each = self.method.trajectories, self.together
        shares = [engine.block(-(-total // each), rank) for rank in range(engine.comm.size)]
        return [range(min(total, each * share.start), min(total, each * share.stop)) for share in shares]


def _solves_of_ranks(engine: Engine) -> tuple[RankSolves, ...]:
    """The solves of each rank, and their time. A collective."""
    taken = engine.take_statistics()
    own = RankSolves(engine.comm.rank, taken.solves, taken.iterations, taken.retries, taken.solving_s)
    return tuple(rank for (rank,) in gather_records(engine.comm, own))


class _ProgressReport:
    """Emits the progress of a simulation on rank 0; the others are about as far."""

    def __init__(self, context: RankContext, total: int) -> None:
        self._context, self._total = context, total
        self._begun = time.monotonic()
        self._done: list[float] = []
        self.add(np.empty(0))

    def add(self, totals: Floats) -> None:
        """Count finished trajectories."""
        if not self._context.listeners:
            return
        self._done += totals.tolist()
        done = min(len(self._done) * self._context.comm.size, self._total)
        estimate = Estimate.of(self._done) if self._done else None
        self._context.emit(SimulationProgress(done, self._total, time.monotonic() - self._begun, estimate))


def require_fitting(policy: Policy, problem: MultistageProblem) -> None:
    """Refuse a policy that does not fit a problem; warn if another version of the solver made it.

    Raises:
        PolicyFileError: it does not fit.
    """
    if reason := policy.fits(problem):
        raise PolicyFileError("the policy", reason)
    policy.warn_of_another_solver()


def estimate_costs(engine: Engine, replications: int, iteration: int) -> tuple[Estimate, tuple[float, ...]]:
    """Simulate with the policy as it is; return the estimate of the total and the mean of each step.

    A collective.
    """
    own = engine.block(replications)
    draw = Draw(engine.method.seed, iteration, own.start, len(own), replications, engine.depth, SIMULATION)
    paths = _forward.walk(engine, engine.method.sampling.sample(engine.problem, draw))
    record = np.zeros((len(own), engine.depth + 1))
    record[:, : len(paths.costs)] = np.where(paths.nodes >= 0, paths.costs, 0.0).T
    record[:, -1] = paths.totals(engine)
    parts = [engine.block(replications, rank) for rank in range(engine.comm.size)]
    whole = engine.sign * _gathered(engine, record, parts)
    steps = tuple(Estimate.of(costs.tolist()).mean for costs in whole[:, :-1].T)
    return Estimate.of(whole[:, -1].tolist()), steps


def _gathered(engine: Engine, own: Floats, parts: Sequence[range]) -> Floats:
    """The rows of all ranks, each of which has its part of them."""
    width = own.shape[1]
    whole = np.empty((parts[-1].stop, width))
    counts = [len(part) * width for part in parts]
    engine.comm.allgatherv(np.ascontiguousarray(own).reshape(-1), whole.reshape(-1), counts)
    return whole


def _all(count: int) -> Ints:
    return np.arange(count, dtype=np.int32)
