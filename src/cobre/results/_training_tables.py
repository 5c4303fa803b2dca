"""The tables of a training, column by column.

Names, types and order are those of Cobre's output format 2.0. Columns that this package does not measure are
null, and say so.
"""

from __future__ import annotations

from cobre.elements.tables import Column

_NOT_MEASURED = "not measured, always null"


def _integers(unit: str, *columns: tuple[str, str], kind: str = "int64") -> tuple[Column, ...]:
    return tuple(Column(name, kind, unit, meaning) for name, meaning in columns)


def _unmeasured(kind: str, *names: str) -> tuple[Column, ...]:
    return tuple(
        Column(name, kind, "ms" if name.endswith("_ms") else "count", _NOT_MEASURED, True) for name in names
    )


ITERATION = Column("iteration", "int32", "id", "number of the iteration, from 1")

CONVERGENCE = (
    ITERATION,
    Column("lower_bound", "float64", "$", "bound on the value of the problem, after the iteration"),
    Column("upper_bound_mean", "float64", "$", "mean cost of the iteration's trajectories"),
    Column("upper_bound_std", "float64", "$", "standard deviation of these"),
    Column(
        "gap_percent", "float64", "%", "from the bound to the mean; null unless the bound is positive", True
    ),
    *_integers(
        "count", ("cuts_added", "cuts added"), ("cuts_removed", "cuts set aside by selection"), kind="int32"
    ),
    *_integers("count", ("cuts_active", "cuts in use, over all stages")),
    *_integers(
        "ms",
        ("time_forward_ms", "time in the forward pass"),
        ("time_backward_ms", "time in the backward pass"),
        ("time_total_ms", "time of the iteration"),
    ),
    *_integers("count", ("forward_passes", "trajectories"), kind="int32"),
    *_integers("count", ("lp_solves", "linear programmes that both passes consist of")),
)

ITERATION_TIMINGS = (
    ITERATION,
    Column("rank", "int32", "id", "rank that measured: always 0", True),
    Column("worker_id", "int32", "id", _NOT_MEASURED, True),
    *_integers(
        "ms",
        ("forward_wall_ms", "time in the forward pass"),
        ("backward_wall_ms", "time in the backward pass"),
        ("cut_selection_ms", "time in cut selection"),
    ),
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
    *_integers("ms", ("overhead_ms", "time of the iteration that none of these has")),
)

RANK_TIMINGS = (
    ITERATION,
    Column("rank", "int32", "id", "which rank"),
    *_integers(
        "ms",
        ("forward_time_ms", "time in the forward pass, waiting for others included"),
        ("backward_time_ms", "time in the backward pass, likewise"),
        ("communication_time_ms", "of these, time with or waiting for others"),
        ("idle_time_ms", "of that, time waiting for the last to come"),
    ),
    *_integers("count", ("lp_solves", "linear programmes it solved; of equal ones one")),
    *_integers("count", ("scenarios_processed", "trajectories it had"), kind="int32"),
)

SOLVER_ITERATIONS = (
    Column("iteration", "uint32", "id", "number of the iteration, from 1"),
    Column("phase", "string", "", "not told apart, always null", True),
    Column("stage", "int32", "id", "not told apart, always null", True),
    Column("opening", "int32", "id", "not told apart, always null", True),
    Column("rank", "int32", "id", "null: over all ranks", True),
    Column("worker_id", "int32", "id", "null: over all threads", True),
    *_integers(
        "count",
        ("lp_solves", "linear programmes solved"),
        ("lp_successes", "of these with a solution: all, as one without ends the run"),
        ("lp_retries", "of these at the second attempt"),
        ("lp_failures", "of these without a solution: 0"),
        kind="uint32",
    ),
    *_unmeasured("uint32", "retry_attempts", "basis_offered", "basis_consistency_failures"),
    *_integers("count", ("simplex_iterations", "simplex iterations they took"), kind="uint64"),
    Column("solve_time_ms", "float64", "ms", "time of solving, summed over ranks and threads"),
    *_unmeasured("float64", "load_model_time_ms", "set_bounds_time_ms", "basis_set_time_ms"),
    *_unmeasured("uint64", "basis_reconstructions"),
)

BOUNDS = (
    Column("entity_type_code", "int8", "code", "kind of the entity"),
    Column("entity_id", "int32", "id", "id of the entity"),
    Column("stage_id", "int32", "id", "number of the stage, from 0"),
    Column("block_id", "int32", "id", "null: for all blocks", True),
    Column("bound_type_code", "int8", "code", "kind of the bound"),
    Column("bound_value", "float64", "of the bound", "the bound"),
)

#: The tables of a training by the names of their files in ``training/``, without ending.
TRAINING: dict[str, tuple[Column, ...]] = {
    "convergence": CONVERGENCE,
    "timing/iterations": ITERATION_TIMINGS,
    "timing/mpi_ranks": RANK_TIMINGS,
    "solver/iterations": SOLVER_ITERATIONS,
    "dictionaries/bounds": BOUNDS,
}
