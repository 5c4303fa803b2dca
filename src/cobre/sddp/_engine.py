"""The engine of one rank: a solver and a pool of cuts per node of the problem.

States, costs and cuts in here are those of minimisation. `sign` turns them into the user's and back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cobre.comm import BackendCommunicator
from cobre.errors import SolveError
from cobre.logs import logger
from cobre.lp import (
    Floats,
    Ints,
    LinearProgram,
    NextStages,
    SolveFailure,
    SparseMatrix,
    StageSolver,
    States,
    StepBatch,
    ThreadPool,
    TrialBatch,
    highs_of,
    realized,
    solve,
    take_statistics,
)
from cobre.sddp._cuts import CutPool
from cobre.sddp._graph import depth_of, outcomes
from cobre.sddp._method import Method
from cobre.sddp.problem import ROOT, MultistageProblem
from cobre.sddp.risk import Expectation

_log = logger(__name__)


@dataclass
class Statistics:
    """Counts and times of solving.

    Attributes:
        solves: linear programmes solved. Equal ones are solved once by each rank that meets them.
        rounds: runs of the solver: more than one where cuts were found to be violated.
        iterations: of the simplex method.
        retries: runs that needed more than the usual way.
        solver_s: seconds in the solver, summed over threads.
        solving_s: seconds of solving, the solver's included, summed over threads.
    """

    solves: int = 0
    rounds: int = 0
    iterations: int = 0
    retries: int = 0
    solver_s: float = 0.0
    solving_s: float = 0.0

    def add(self, other: Statistics) -> None:
        """Add the counts and times of another."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


Solves = TypeVar("Solves", StepBatch, TrialBatch)


@dataclass(frozen=True, eq=False)
class NodeBatch(Generic[Solves]):
    """A batch of solves, and what names those that fail.

    Attributes:
        solves: the batch.
        nodes: of its stages.
        states: of its tasks.
        table: of its realisations; None if they are the nodes' own.
    """

    solves: Solves
    nodes: Sequence[int]
    states: Floats
    table: Floats | None = None


class Engine:
    """Solvers, cuts and warm-start bases of all nodes on one rank. A context manager: it frees the cuts."""

    #: The number of the beginning among the nodes.
    ROOT = -1

    def __init__(  # noqa: PLR0913
        self,
        problem: MultistageProblem,
        method: Method,
        comm: BackendCommunicator,
        *,
        value_bounds: Floats,
        threads: int = 1,
        folder: Path | None = None,
    ) -> None:
        self.problem, self.method, self.comm = problem, method, comm
        self.folder = folder or Path()
        self.sign = 1.0 if problem.sense == "min" else -1.0
        self.depth = depth_of(problem, method.depth)
        self.value_bounds = value_bounds
        self.discounts = np.array([node.discount for node in problem.nodes])
        self.outcomes = outcomes(problem)
        self.has_children = np.array([bool(follows.children) for follows in self.outcomes])
        self.risks = [method.risk_at(name) for name in (*problem.index, ROOT)]
        number = {state: i for i, state in enumerate(problem.states)}
        self.initial = np.array(
            [problem.initial_state.get(state, 0.0) for state in problem.states], np.float64
        )
        self.threads = ThreadPool(threads)
        self.solvers = [
            StageSolver(
                self.threads,
                node.program,
                node.noise,
                States(
                    len(number),
                    {number[state]: column for state, column in node.incoming.items()},
                    {number[state]: column for state, column in node.outgoing.items()},
                ),
                sign=self.sign,
                discount=node.discount if follows.children else 0.0,
                value_bound=bound if follows.children else 0.0,
                families=self.families(i),
            )
            for i, (node, follows, bound) in enumerate(
                zip(problem.nodes, self.outcomes, self.value_bounds, strict=False)
            )
        ]
        #: By node, and last for the root, what may come next.
        self.next_stages = [
            NextStages([self.solvers[child] for child in follows.children], ends=follows.ends)
            for follows in self.outcomes
        ]
        self.pools = [CutPool(comm, solver) for solver in self.solvers]
        self.bases: list[Ints | None] = [None] * len(self.solvers)
        self._meetings_s: list[float] = []

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self.pools:
            pool.close()

    @property
    def states(self) -> int:
        """The number of state variables."""
        return len(self.initial)

    @property
    def risk_neutral(self) -> bool:
        """True if the bound is of the expected cost, which the trajectories sample."""
        return all(isinstance(measure, Expectation) for measure in self.risks)

    def families(self, node: int) -> int:
        """Return the number of values that follow a node: one, and for multi cut also one per outcome."""
        return 1 + (self.outcomes[node].count if self.method.cuts == "multi" else 0)

    def block(self, count: int, rank: int | None = None) -> range:
        """Return the part of ``count`` things that is a rank's, this one's unless given."""
        rank = self.comm.rank if rank is None else rank
        return range(count * rank // self.comm.size, count * (rank + 1) // self.comm.size)

    def set_basis(self, node: int, basis: Ints) -> None:
        """Set the warm-start basis of a node, from which solves begin that have none of their own.

        Raises:
            ValueError: it is not a basis of the node's programme.
        """
        self.solvers[node].native.set_start(basis)
        self.bases[node] = basis

    def take_statistics(self) -> Statistics:
        """Return what solving took since the last call."""
        taken = take_statistics([solver.native for solver in self.solvers])
        total = Statistics(**{field.name: getattr(taken, field.name) for field in fields(Statistics)})
        if total.retries:
            _log.warning("%d of %d runs of the solver were retries", total.retries, total.rounds)
        return total

    @contextmanager
    def communicating(self) -> Iterator[None]:
        """Measure the time of a collective; all ranks call the same ones, in the same order."""
        begun = time.perf_counter()
        yield
        self._meetings_s.append(time.perf_counter() - begun)

    def take_meetings(self) -> list[float]:
        """Return the seconds of each collective since the last call."""
        taken, self._meetings_s = self._meetings_s, []
        return taken

    def solve(
        self,
        batches: Sequence[NodeBatch[Any]],
        counter: NDArray[np.int64] | None = None,
        seconds: Floats | None = None,
    ) -> None:
        """Solve batches as one job, shared by the ranks that have this counter in their memory.

        The time of each unit is written to ``seconds``, if given.

        Raises:
            SolveError: a task has no solution; its programme is saved.
        """
        try:
            solve(self.threads, [batch.solves for batch in batches], counter, seconds)
        except SolveFailure as exc:
            batch = batches[exc.batch]
            raise self._solve_error(exc, batch.nodes[exc.stage], batch) from None

    def save(self, label: str, node: int, state: Floats) -> str | None:
        """Save a node's programme, with its first realisation, for users to inspect. A collective."""
        saved: str | None = None
        if self.comm.rank == 0:
            saved = self._write(label, node, 0, state, self.solvers[node].table)
        written = np.array([saved is not None])
        self.comm.broadcast(written)
        return str(self._path(label, node, 0)) if written[0] else None

    def _solve_error(self, failure: SolveFailure, node: int, batch: NodeBatch[Any]) -> SolveError:
        """Name a failure, and save its programme."""
        named, state = self.problem.nodes[node], batch.states[failure.task]
        table = self.solvers[node].table if batch.table is None else batch.table
        label = failure.status.split()[0].lower()
        return SolveError(
            failure.status,
            named.name,
            failure.row if batch.table is None else None,
            {name: float(state[self.problem.states.index(name)]) for name in named.incoming},
            self._write(label, node, failure.row, state, table),
            self.comm.rank if self.comm.size > 1 else None,
        )

    def _path(self, label: str, node: int, row: int) -> Path:
        name = "".join(c if c.isalnum() else "_" for c in self.problem.nodes[node].name)
        return self.folder / f"{label}_node_{name}_realisation_{row}.mps"

    def _write(self, label: str, node: int, row: int, state: Floats, table: Floats) -> str | None:
        """Write a programme to a file; return its path, None if that cannot be."""
        path = self._path(label, node, row)
        values = table[row] * self.solvers[node].costs_of(np.ones(len(self.problem.nodes[node].noise.places)))
        try:
            highs_of(self._in_user_units(node, state, values)).writeModel(str(path))
        except OSError:
            return None
        return str(path) if path.exists() else None

    def _in_user_units(self, node: int, state: Floats, values: Floats) -> LinearProgram:
        """The programme in the user's units, the incoming state fixed, all cuts in it."""
        named, pool = self.problem.nodes[node], self.pools[node]
        program = realized(named.program, named.noise.places, values)
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        for name, column in named.incoming.items():
            lower[column] = upper[column] = state[self.problem.states.index(name)]
        families = self.families(node)
        cuts = pool.rows()[pool.active]
        which = pool.families[pool.active]
        places = [
            (named.outgoing[name], i) for i, name in enumerate(self.problem.states) if name in named.outgoing
        ]
        rows = [*program.matrix.rows]
        columns = [*program.matrix.columns]
        numbers = [*program.matrix.values]
        first, follows = program.rows, program.columns
        for i, (cut, family) in enumerate(zip(cuts, which, strict=True)):
            for column, j in (*places, (follows + family, -1)):
                rows.append(first + i)
                columns.append(column)
                numbers.append(1.0 if j < 0 else -cut[1 + j])
        for i, mixture in enumerate(pool.mixtures):
            rows += [first + len(cuts) + i] * families
            columns += range(follows, follows + families)
            numbers += [1.0, *(-mixture)]
        added = len(cuts) + len(pool.mixtures)
        return replace(
            program,
            costs=np.concatenate([self.sign * program.costs, [self.discounts[node]], np.zeros(families - 1)]),
            offset=self.sign * program.offset,
            matrix=SparseMatrix.from_entries((first + added, follows + families), rows, columns, numbers),
            row_lower=np.concatenate([program.row_lower, cuts[:, 0], np.zeros(len(pool.mixtures))]),
            row_upper=np.concatenate([program.row_upper, np.full(added, np.inf)]),
            column_lower=np.concatenate([lower, [self.value_bounds[node]], np.full(families - 1, -np.inf)]),
            column_upper=np.concatenate([upper, np.full(families, np.inf)]),
            column_names=(*program.column_names, *(f"value_{f}" for f in range(families))),
            row_names=(*program.row_names, *(f"cut_{i}" for i in range(added))),
        )
