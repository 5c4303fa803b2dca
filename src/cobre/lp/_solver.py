"""The native solver of one node's programme, for many states and realisations at once.

All objectives are costs to be minimised; callers that maximise change the signs before and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cobre.lp._cut_layout import CutLayout
from cobre.lp._noise import TARGETS, Noise
from cobre.lp._program import Floats, Ints, LinearProgram
from cobre.lp._scaling import scales_of

try:
    from cobre import _lp
except ImportError as exc:
    raise ImportError(
        f"the LP solver cannot be loaded: {exc}. It needs the HiGHS of highspy; another package that brings "
        "a HiGHS of its own (ortools does) clashes with it when imported first"
    ) from exc

if _lp.HIGHS_LIBRARY != _lp.HIGHS_HEADERS:
    raise ImportError(
        f"cobre was built for HiGHS {_lp.HIGHS_HEADERS}, but the process has loaded {_lp.HIGHS_LIBRARY}; "
        f"install highspy=={_lp.HIGHS_HEADERS}, and import cobre before what brings a HiGHS of its own"
    )

HIGHS_VERSION: str = _lp.HIGHS_LIBRARY

ThreadPool: TypeAlias = _lp.ThreadPool
StepBatch: TypeAlias = _lp.StepBatch
TrialBatch: TypeAlias = _lp.TrialBatch
aggregate_cuts, largest_excess, take_statistics = _lp.aggregate, _lp.largest_excess, _lp.take_statistics

NO_PLACES: Ints = np.empty(0, np.int32)
NO_SLOTS: Ints = np.empty((0, 0), np.int32)


class SolveFailure(Exception):
    """A task of a batch has no solution. The caller knows the names, and turns it into an error for users."""

    def __init__(self, batch: int, stage: int, task: int, row: int, status: str) -> None:
        super().__init__(batch, stage, task, row, status)
        self.batch, self.stage, self.task, self.row, self.status = batch, stage, task, row, status


class Steps(NamedTuple):
    """The solutions of a batch of steps, by task."""

    costs: Floats
    objectives: Floats
    outgoing: Floats
    columns: Floats
    duals: Floats

    @classmethod
    def of(cls, batch: StepBatch, which: NDArray[np.intp]) -> Self:
        """Return the results of some tasks of a batch that has been solved."""
        return cls(*(getattr(batch, name)[which] for name in cls._fields))


@dataclass(frozen=True)
class States:
    """The columns through which state variables enter and leave one programme, by number of the variable."""

    count: int
    incoming: Mapping[int, int]
    outgoing: Mapping[int, int]


class StageSolver:
    """One programme with its realisations, its cuts, and stored warm starts.

    A task of a batch is an incoming state with its realisations; `solve` solves batches. ``native`` has what
    needs no more than a call: cuts (``add_block``, ``extend_cuts``, ``activate``) and the warm start
    (``start``, ``set_start``).

    Args:
        threads: the threads that solve.
        program: the programme, without the value of what follows.
        noise: its realisations.
        states: the columns of state variables.
        sign: -1 where the programme's costs are rewards.
        discount: the weight of the value that follows.
        value_bound: a lower bound on that value, as a cost.
        families: 1, or 1 and the number of outcomes for one value per outcome (multi cut).
        dual_simplex: whether our own solver comes first; otherwise HiGHS solves all.
        reduce: whether what is known before a solve leaves the programme; for comparisons.
    """

    def __init__(  # noqa: PLR0913  it is the meeting point of all that a node is
        self,
        threads: ThreadPool,
        program: LinearProgram,
        noise: Noise,
        states: States,
        *,
        sign: float = 1.0,
        discount: float = 1.0,
        value_bound: float = 0.0,
        families: int = 1,
        dual_simplex: bool = True,
        reduce: bool = True,
    ) -> None:
        scales = scales_of(program, noise)
        incoming = sorted(states.incoming.items(), key=lambda pair: pair[1])  # HiGHS wants ascending columns
        outgoing = sorted(states.outgoing.items())
        self.states = states.count
        #: A cost of about the size of the programme's own: differences far below it are rounding.
        self.cost_unit = 1.0 / scales.cost
        self._flips = np.array([sign if target == "cost" else 1.0 for target, _ in noise.places])
        self.table = self.costs_of(noise.table)
        where = [_row_and_column(target, place) for target, place in noise.places]
        scaled = _lp.Program(
            costs=sign * program.costs * scales.column * scales.cost,
            column_lower=program.column_lower / scales.column,
            column_upper=program.column_upper / scales.column,
            row_lower=program.row_lower * scales.row,
            row_upper=program.row_upper * scales.row,
            starts=program.matrix.starts,
            rows=program.matrix.rows,
            values=program.matrix.values
            * scales.row[program.matrix.rows]
            * scales.column[program.matrix.columns],
        )
        spec = _lp.StageSpec(
            states=states.count,
            in_states=_ints([state for state, _ in incoming]),
            in_columns=_ints([column for _, column in incoming]),
            out_states=_ints([state for state, _ in outgoing]),
            out_columns=_ints([column for _, column in outgoing]),
            targets=_ints([TARGETS.index(target) for target, _ in noise.places]),
            target_rows=_ints([row for row, _ in where]),
            target_columns=_ints([column for _, column in where]),
            column_scale=scales.column,
            row_scale=scales.row,
            cost_scale=scales.cost,
            discount=discount,
            offset=sign * program.offset,
            value_bound=value_bound,
            families=families,
            dual_simplex=dual_simplex,
            reduce=reduce,
            tour=_tour(self.table),
        )
        self.native = _lp.NativeStage(threads, scaled, spec, self.table)
        #: How blocks of cuts are laid out in memory.
        self.cut_layout = CutLayout(self.native.cut_sections(), self.native.cut_places())

    def arranged(self, cuts: Floats) -> Floats:
        """Return cuts, each an intercept and slopes, as a block."""
        block = np.zeros(len(cuts) * self.cut_layout.width)
        self.cut_layout.write(block, 0, cuts)
        return block

    def costs_of(self, table: Floats) -> Floats:
        """Return a table of realisations as the solver takes it: rewards as costs."""
        if np.all(self._flips == 1.0):
            return np.ascontiguousarray(table)  # openings stay where they are: in memory that ranks share
        return np.ascontiguousarray(table * self._flips)

    def step(  # noqa: PLR0913
        self,
        incoming: Floats,
        rows: Ints,
        *,
        table: Floats | None = None,
        saves: Ints | None = None,
        ends: Ints = NO_SLOTS,
        iteration: int = -1,
        columns: Ints = NO_PLACES,
        duals: Ints = NO_PLACES,
    ) -> StepBatch:
        """Return a batch that solves one realisation per task, from the stage's own warm start.

        Args:
            incoming: per task, the incoming state.
            rows: per task, its realisation: a row of ``table``.
            table: realisations as of ``costs_of``; the programme's own unless given.
            saves: per task, the slot to store its end in as a warm start; -1 stores nothing.
            ends: the slots, of ``native.slot_size`` numbers or more.
            iteration: recorded for cuts that are tight; -1 records nothing.
            columns: whose values to return.
            duals: rows whose duals to return.
        """
        return StepBatch(
            self.native,
            states=incoming,
            table=self.table if table is None else table,
            rows=rows,
            saves=np.full(len(rows), -1, np.int32) if saves is None else saves,
            ends=ends,
            iteration=iteration,
            columns=columns,
            duals=duals,
        )


class NextStages:
    """The stages that may come next, and the values and slopes of all their openings after trial states.

    Args:
        solvers: the stages.
        ends: whether there is an outcome more, without a stage, whose value is 0.
    """

    def __init__(self, solvers: Sequence[StageSolver], *, ends: bool = False) -> None:
        self._stages = [solver.native for solver in solvers]
        #: The number of outcomes: openings of all stages, in their order, and the end.
        self.outcomes = sum(len(solver.table) for solver in solvers) + ends

    def trial(  # noqa: PLR0913
        self,
        states: Floats,
        went: Ints,
        firsts: Ints,
        starts: Ints,
        *,
        ends: Ints = NO_SLOTS,
        out: tuple[Floats, NDArray[np.float64]] | None = None,
        iteration: int = -1,
        second_opinion: bool = False,
    ) -> TrialBatch:
        """Return a batch that solves all openings for each trial state: ``values`` and ``slopes`` by outcome.

        Args:
            states: per task, the trial state.
            went: per task, the stage to which its trajectory went on, by number; -1 if to none.
            firsts: the opening of that stage to begin with; -1 is any.
            starts: the slot to begin from there; -1 for the stage's own warm start, as in all other stages.
            ends: the slots.
            out: where to put values and slopes.
            iteration: as for `StageSolver.step`.
            second_opinion: each opening from scratch, by the general solver.
        """
        shape = (len(states), self.outcomes)
        values, slopes = out or (np.zeros(shape), np.zeros((*shape, states.shape[1])))
        return TrialBatch(
            self._stages,
            states=states,
            next=went,
            firsts=firsts,
            starts=starts,
            ends=ends,
            values=values,
            slopes=slopes,
            iteration=iteration,
            second_opinion=second_opinion,
        )


def solve(
    threads: ThreadPool,
    batches: Sequence[StepBatch | TrialBatch],
    counter: NDArray[np.int64] | None = None,
    seconds: Floats | None = None,
) -> None:
    """Solve batches as one job; their attributes then have the results.

    Args:
        threads: that solve.
        batches: of any stages.
        counter: a number that processes share, 0 at first: each then solves some units of the same job.
        seconds: where to write the processor time of each unit: of a task, or of a task's block of openings.

    Raises:
        SolveFailure: a task has no solution; the first of them, in the order of batches, stages and tasks.
    """
    failure = threads.solve(list(batches), counter, seconds)
    if failure is not None:
        status = failure.message if failure.status == "failed" else failure.status
        raise SolveFailure(failure.batch, failure.stage, failure.task, failure.row, status)


def cut_heights(cuts: Floats, states: Floats) -> Floats:
    """Return the values of cuts, each an intercept and slopes, at states: states by cuts."""
    wide = np.zeros((len(cuts), _lp.cut_width(cuts.shape[1] - 1)))  # with zeros at the end, to whole vectors
    wide[:, : cuts.shape[1]] = cuts
    return _lp.evaluate(wide, np.ascontiguousarray(states))


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int32)


def _row_and_column(target: str, place: int | tuple[int, int]) -> tuple[int, int]:
    if isinstance(place, tuple):
        return place
    return (place, -1) if target in ("rhs", "row_lower", "row_upper") else (-1, place)


def _tour(table: Floats) -> Ints:
    """An order of realisations in which each is near the one before: a solver then has less to do.

    Each time the nearest of those left, from the first one on; ties go to the lower number.
    """
    with np.errstate(invalid="ignore"):
        spread = np.nan_to_num(np.std(table, axis=0))
    points = np.nan_to_num(table[:, spread > 0] / spread[spread > 0], posinf=0.0, neginf=0.0)
    left = np.ones(len(table), bool)
    tour = [0]
    for _ in range(len(table) - 1):
        left[tour[-1]] = False
        distances = np.sum((points - points[tour[-1]]) ** 2, axis=1)
        tour.append(int(np.argmin(np.where(left, distances, np.inf))))
    return _ints(tour)
