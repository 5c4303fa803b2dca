"""Simulating a policy: trajectories of any sampling, as tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.comm import BackendCommunicator
from cobre.errors import InvalidProblem, PolicyFileError
from cobre.lp._program import Floats, Ints
from cobre.sddp import _forward
from cobre.sddp._checkpoint import restore
from cobre.sddp._engine import Engine
from cobre.sddp._forward import Paths, Wanted
from cobre.sddp._method import Method
from cobre.sddp._parallel import on_ranks
from cobre.sddp._value_bound import value_bounds
from cobre.sddp.events import Listener, SimulationProgress
from cobre.sddp.policy import Policy
from cobre.sddp.problem import MultistageProblem
from cobre.sddp.sampling import SIMULATION, Draw, InSample, Sampling
from cobre.sddp.stopping import Estimate

#: How many trajectories a rank simulates in one go.
BATCH = 256


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
    sampling = sampling or InSample()
    count = trajectories if trajectories is not None else sampling.natural_count or 1000
    method = Method(count, seed, cuts=policy.method["cuts"], sampling=sampling, depth=depth)
    found = [*problem.findings(), *method.findings(problem)]
    for what, names, of in (("column", columns, "column_names"), ("row", duals, "row_names")):
        known = {name for node in problem.nodes for name in getattr(node.program, of)}
        found += [f"no node has a {what} {name!r}" for name in names if name not in known]
    if found:
        raise InvalidProblem(found)
    bounds = value_bounds(problem)  # raises if there is none, before any worker starts
    if reason := policy.fits(problem):
        raise PolicyFileError("the policy", reason)
    policy.warn_of_another_solver()
    run = _Run(problem, bounds, policy, method, tuple(columns), tuple(duals), threads)
    return on_ranks(run, comm, num_workers, backend, listeners)


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


@dataclass(frozen=True, eq=False)
class _Run:
    problem: MultistageProblem
    value_bounds: Floats
    policy: Policy
    method: Method
    columns: tuple[str, ...]
    duals: tuple[str, ...]
    threads: int

    def __call__(
        self, comm: BackendCommunicator, listeners: Sequence[Listener]
    ) -> Callable[[], SimulationResult]:
        """Simulate. A collective: every rank can have the same result."""
        bounds, threads = self.value_bounds, self.threads
        with Engine(self.problem, self.method, comm, value_bounds=bounds, threads=threads) as engine:
            restore(self.policy, engine)
            return self._simulated(engine, listeners)

    def _simulated(self, engine: Engine, listeners: Sequence[Listener]) -> Callable[[], SimulationResult]:
        own, begun = engine.block(self.method.trajectories), time.monotonic()
        wanted = {number: self._wanted(number) for number in range(len(engine.solvers))}
        parts = []
        for first in range(own.start, own.stop, BATCH):
            size = min(BATCH, own.stop - first)
            draw = Draw(self.method.seed, 0, first, size, self.method.trajectories, engine.depth, SIMULATION)
            paths = _forward.walk(engine, self.method.sampling.sample(self.problem, draw), wanted=wanted)
            parts.append(self._record(engine, paths))
            if engine.comm.rank == 0:
                done = (first + size - own.start) * engine.comm.size  # others are about as far
                progress = SimulationProgress(
                    min(done, self.method.trajectories), self.method.trajectories, time.monotonic() - begun
                )
                for listener in listeners:
                    listener(progress)
        empty = np.empty((0, engine.depth * self._width(engine) + 1))
        whole = _gathered(engine, np.concatenate([*parts, empty]), self.method.trajectories)
        return lambda: SimulationResult(self._table(engine, whole[:, :-1]), engine.sign * whole[:, -1])

    def _wanted(self, number: int) -> Wanted:
        program = self.problem.nodes[number].program

        def places(names: Sequence[str], known: Sequence[str]) -> Ints:
            return np.array([known.index(name) for name in names if name in known], np.int32)

        return Wanted(places(self.columns, program.column_names), places(self.duals, program.row_names))

    def _width(self, engine: Engine) -> int:
        return 3 + 2 * engine.states + len(self.columns) + len(self.duals)

    def _record(self, engine: Engine, paths: Paths) -> Floats:
        """Per trajectory, the numbers of all its steps, and its total; what there is not is NaN."""
        steps, count = paths.nodes.shape
        record = np.full((count, engine.depth, self._width(engine)), np.nan)
        filled = record[:, :steps]
        filled[:, :, 0] = paths.nodes.T
        filled[:, :, 1] = paths.rows.T
        filled[:, :, 2] = engine.sign * paths.costs.T
        states = paths.states.transpose(1, 0, 2)
        filled[:, :, 3 : 3 + engine.states] = states[:, :-1]
        filled[:, :, 3 + engine.states : 3 + 2 * engine.states] = states[:, 1:]
        at = 3 + 2 * engine.states
        for names, kept, of, sign in (
            (self.columns, paths.columns, "column_names", 1.0),
            (self.duals, paths.duals, "row_names", engine.sign),
        ):
            for number, values in kept.items():
                known = getattr(self.problem.nodes[number].program, of)
                here = np.equal(paths.nodes.T, number)
                own = [i for i, name in enumerate(names) if name in known]
                for j, i in enumerate(own):
                    filled[:, :, at + i][here] = sign * values[:, :, j].T[here]
            at += len(names)
        filled[paths.nodes.T < 0] = np.nan
        totals = paths.totals(engine.discounts)[:, None]
        return np.concatenate([record.reshape(count, engine.depth * self._width(engine)), totals], axis=1)

    def _table(self, engine: Engine, numbers: Floats) -> pa.Table:
        rows = numbers.reshape(-1, self._width(engine))
        visited = np.flatnonzero(rows[:, 0] >= 0)
        rows = rows[visited]
        nodes = rows[:, 0].astype(np.int32)
        names = pa.array([node.name for node in self.problem.nodes])
        columns: dict[str, Any] = {
            "trajectory": pa.array(visited // engine.depth, pa.int32()),
            "step": pa.array(visited % engine.depth, pa.int32()),
            "node": pa.DictionaryArray.from_arrays(pa.array(nodes), names),
            "realization": pa.array(rows[:, 1].astype(np.int32)),
            "cost": pa.array(rows[:, 2]),
        }
        labels = [f"{state}_in" for state in self.problem.states]
        labels += [f"{state}_out" for state in self.problem.states]
        for i, label in enumerate([*labels, *self.columns, *self.duals]):
            values = rows[:, 3 + i]
            columns[label] = pa.array(values, mask=np.isnan(values))
        return pa.table(columns)
