"""The tables of a training, column by column: what each is, and from which measurement it is filled.

Names, types and order are those of Cobre's output format 2.0. Columns that this package does not measure are
null, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from cobre.elements.tables import Column
from cobre.estimates import gap_percent


class Filled(NamedTuple):
    """A column with its source: a function of an `Iteration`, or of a rank's times."""

    column: Column
    value: Callable[[Any], Any]


@dataclass(frozen=True)
class Iteration:
    """A finished iteration, the source of most columns.

    Attributes:
        event: with the fields of `cobre.sddp.IterationFinished`.
        seconds: its duration.
        active_before: cuts in use before it.
    """

    event: Any
    seconds: float
    active_before: int

    @property
    def cuts_removed(self) -> int:
        """Cuts set aside by selection."""
        event = self.event
        return int(self.active_before + event.cuts_added + event.cuts_revived - event.cuts_active)

    @property
    def gap_percent(self) -> float | None:
        """The gap between the bound and the mean cost; None where they are of different quantities."""
        event = self.event
        return gap_percent(event.bound, event.estimate.mean) if event.risk_neutral else None

    @property
    def overhead_s(self) -> float:
        """Time outside both passes and selection."""
        event = self.event
        counted: float = event.forward_s + event.backward_s + event.selection_s
        return max(0.0, self.seconds - counted)

    @property
    def solving_ms(self) -> float:
        """Time of solving, summed over ranks and threads."""
        seconds: list[float] = [times.solving_s for times in self.event.ranks]
        return 1000 * math.fsum(seconds)


def _number(name: str, unit: str, meaning: str, source: str, kind: str = "float64") -> Filled:
    """A column of the numbers of one attribute."""
    return Filled(Column(name, kind, unit, meaning), attrgetter(source))


def _count(name: str, meaning: str, source: str, kind: str = "int64") -> Filled:
    return _number(name, "count", meaning, source, kind)


def _milliseconds(name: str, meaning: str, source: str) -> Filled:
    seconds = attrgetter(source)
    return Filled(Column(name, "int64", "ms", meaning), lambda record: round(1000 * seconds(record)))


def _constant(name: str, kind: str, meaning: str, value: Any, unit: str = "id") -> Filled:
    return Filled(Column(name, kind, unit, meaning, nullable=True), lambda _: value)


def _unmeasured(kind: str, *names: str) -> Iterator[Filled]:
    for name in names:
        unit = "ms" if name.endswith("_ms") else "id" if name.endswith("_id") else "count"
        yield _constant(name, kind, "not measured, always null", None, unit)


CONVERGENCE = (
    _number(
        "lower_bound",
        "$",
        "bound on the expected cost, or the risk-adjusted one with risk measures, after the iteration",
        "event.bound",
    ),
    _number("upper_bound_mean", "$", "mean cost of the iteration's trajectories", "event.estimate.mean"),
    _number("upper_bound_std", "$", "standard deviation of these", "event.estimate.standard_deviation"),
    Filled(
        Column(
            "gap_percent",
            "float64",
            "%",
            "from the bound to the mean; null unless the bound is positive, and with a risk measure",
            True,
        ),
        attrgetter("gap_percent"),
    ),
    _count("cuts_added", "cuts added", "event.cuts_added", "int32"),
    _count("cuts_removed", "cuts set aside by selection", "cuts_removed", "int32"),
    _count("cuts_active", "cuts in use, over all stages", "event.cuts_active"),
    _milliseconds("time_forward_ms", "time in the forward pass", "event.forward_s"),
    _milliseconds("time_backward_ms", "time in the backward pass", "event.backward_s"),
    _milliseconds("time_total_ms", "time of the iteration", "seconds"),
    _count("forward_passes", "trajectories", "event.estimate.count", "int32"),
    _count("lp_solves", "linear programmes that both passes consist of", "event.programmes"),
)

ITERATION_TIMINGS = (
    _constant("rank", "int32", "rank that measured: always 0", 0),
    *_unmeasured("int32", "worker_id"),
    _milliseconds("forward_wall_ms", "time in the forward pass", "event.forward_s"),
    _milliseconds("backward_wall_ms", "time in the backward pass", "event.backward_s"),
    _milliseconds("cut_selection_ms", "time in cut selection", "event.selection_s"),
    *_unmeasured(
        "int64",
        "mpi_allreduce_ms",
        "cut_sync_ms",
        "lower_bound_ms",
        "state_exchange_ms",
        "cut_batch_build_ms",
        "bwd_setup_ms",
        "bwd_load_imbalance_ms",
        "bwd_scheduling_overhead_ms",
        "fwd_setup_ms",
        "fwd_load_imbalance_ms",
        "fwd_scheduling_overhead_ms",
    ),
    _milliseconds("overhead_ms", "time of the iteration that none of these has", "overhead_s"),
)

RANK_TIMINGS = (
    _number("rank", "id", "which rank", "rank", "int32"),
    _milliseconds("forward_time_ms", "time in the forward pass, waiting for others included", "forward_s"),
    _milliseconds("backward_time_ms", "time in the backward pass, likewise", "backward_s"),
    _milliseconds("communication_time_ms", "of these, time with or waiting for others", "communication_s"),
    _milliseconds("idle_time_ms", "of that, time waiting for the last to come", "waiting_s"),
    _count("lp_solves", "linear programmes it solved; of equal ones one", "solves"),
    _count("scenarios_processed", "trajectories it had", "trajectories", "int32"),
)

SOLVER_ITERATIONS = (
    _constant("phase", "string", "not told apart, always null", None, ""),
    _constant("stage", "int32", "not told apart, always null", None),
    _constant("opening", "int32", "not told apart, always null", None),
    _constant("rank", "int32", "null: over all ranks", None),
    _constant("worker_id", "int32", "null: over all threads", None),
    _count("lp_solves", "linear programmes solved", "event.solves", "uint32"),
    _count(
        "lp_successes", "of these with a solution: all, as one without ends the run", "event.solves", "uint32"
    ),
    _count("lp_retries", "of these at the second attempt", "event.retries", "uint32"),
    Filled(Column("lp_failures", "uint32", "count", "of these without a solution: 0"), lambda _: 0),
    *_unmeasured("uint32", "retry_attempts", "basis_offered", "basis_consistency_failures"),
    _count("simplex_iterations", "simplex iterations they took", "event.simplex_iterations", "uint64"),
    _number("solve_time_ms", "ms", "time of solving, summed over ranks and threads", "solving_ms"),
    *_unmeasured("float64", "load_model_time_ms", "set_bounds_time_ms", "basis_set_time_ms"),
    *_unmeasured("uint64", "basis_reconstructions"),
)

SOLVER_RETRIES = (
    _constant("phase", "string", "not told apart, always null", None, ""),
    _constant("stage", "int32", "not told apart, always null", None),
    Filled(Column("retry_level", "uint32", "count", "attempts after the first: 1"), lambda _: 1),
    _count("count", "linear programmes solved at this attempt", "event.retries", "uint64"),
)

#: Tables that a training fills, by their names: the columns after ``iteration``. ``timing/mpi_ranks`` has a
#: row per rank, ``solver/retry_histogram`` one per iteration with retries, the others one per iteration.
FILLED: dict[str, tuple[Filled, ...]] = {
    "convergence": CONVERGENCE,
    "timing/iterations": ITERATION_TIMINGS,
    "timing/mpi_ranks": RANK_TIMINGS,
    "solver/iterations": SOLVER_ITERATIONS,
    "solver/retry_histogram": SOLVER_RETRIES,
}

BOUNDS = (
    Column("entity_type_code", "int8", "code", "kind of the entity"),
    Column("entity_id", "int32", "id", "id of the entity"),
    Column("stage_id", "int32", "id", "number of the stage, from 0"),
    Column("block_id", "int32", "id", "null: for all blocks", True),
    Column("bound_type_code", "int8", "code", "kind of the bound"),
    Column("bound_value", "float64", "of the bound", "the bound"),
)


def _columns(name: str) -> tuple[Column, ...]:
    kind = "uint32" if name.startswith("solver/") else "int32"  # as the format has it
    number = Column("iteration", kind, "id", "number of the iteration, from 1")
    return (number, *(filled.column for filled in FILLED[name]))


#: The tables of a training by the names of their files in ``training/``, without ending.
TRAINING: dict[str, tuple[Column, ...]] = {
    **{name: _columns(name) for name in FILLED},
    "dictionaries/bounds": BOUNDS,
}
