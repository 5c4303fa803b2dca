from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


HIGHS_LIBRARY: str = '1.15.1'

def uses_avx2() -> bool:
    """Whether these kernels use AVX2."""

HIGHS_HEADERS: str = '1.15.1'

class DefaultFloatEnvironment:
    """A context in which this thread rounds to nearest and keeps subnormals."""

    def __init__(self) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

class ThreadPool:
    """Threads that solve, shared by the programmes of a run."""

    def __init__(self, threads: int) -> None: ...

    def __len__(self) -> int: ...

    def solve(self, batches: Sequence[Batch], next: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None = None, seconds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None) -> Failure | None:
        """
        Solve batches as one job, shared by all that have this counter in their memory, and write the seconds of each unit; return the first task that has no solution, if there is one.
        """

class Program:
    """A linear programme in scaled units, its matrix by columns."""

    def __init__(self, *, costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], column_lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], column_upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class StageSpec:
    """The stage around a programme: states, random numbers, scales."""

    def __init__(self, *, states: int, in_states: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], in_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out_states: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], target_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], target_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], column_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost_scale: float, discount: float, offset: float, value_bound: float, families: int, dual_simplex: bool, reduce: bool, tour: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Statistics:
    """Counts and times of solving, summed over threads."""

    @property
    def solves(self) -> int: ...

    @property
    def rounds(self) -> int: ...

    @property
    def iterations(self) -> int: ...

    @property
    def retries(self) -> int: ...

    @property
    def solver_s(self) -> float: ...

    @property
    def solving_s(self) -> float: ...

class Failure:
    """A task without a solution."""

    @property
    def batch(self) -> int: ...

    @property
    def task(self) -> int: ...

    @property
    def row(self) -> int: ...

    @property
    def stage(self) -> int: ...

    @property
    def status(self) -> str: ...

    @property
    def message(self) -> str: ...

class NativeStage:
    """One programme, its cuts, and an instance of it per thread."""

    def __init__(self, threads: ThreadPool, program: Program, spec: StageSpec, openings: object) -> None: ...

    @property
    def solver_size(self) -> tuple[int, int]:
        """The rows and columns that are left for the solver, without cuts."""

    def cut_places(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Return which of a cut's numbers are the intercept and the slopes."""

    def cut_sections(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        Return where the matrices of a block begin, per cut, and where they end.
        """

    def add_block(self, block: object) -> None: ...

    def extend_cuts(self, families: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def find_cuts(self, cuts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], families: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """Return which cuts are new, and the places of the others."""

    def activate(self, active: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def active_count(self) -> int: ...

    def add_mixture(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def active(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def last_tight(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def set_last_tight(self, iterations: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def take_uses(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def set_activity_tolerance(self, tolerance: float) -> None: ...

    def start(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Return the warm start from which solves begin that are given no other."""

    def set_start(self, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def slot_size(self) -> int:
        """The length of a slot for the end of a solve."""

    def start_in(self, slot: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Return the warm start that a slot holds."""

    def take_statistics(self) -> Statistics: ...

def take_statistics(stages: Sequence[NativeStage]) -> Statistics:
    """Return what solving took since the last call."""

class Batch:
    """Solves of one kind, with their results once a pool has solved them."""

class StepBatch(Batch):
    """One realisation per task."""

    def __init__(self, stage: NativeStage, *, states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], saves: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], iteration: int, columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def costs(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def objectives(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def outgoing(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def columns(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def duals(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

class TrialBatch(Batch):
    """All openings of some stages for each task."""

    def __init__(self, stages: Sequence[NativeStage], *, states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], next: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], slopes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], iteration: int, second_opinion: bool) -> None: ...

    @property
    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]: ...

    @property
    def slopes(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')]: ...

def aggregate(*, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], slopes: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Return one cut per trial state: the weighted sum of its outcomes' tangents.
    """

def largest_excess(*, cuts: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cost_unit: float, reach: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int32], dict(shape=(None, None))]]:
    """
    Return how far each cut is above the values around it, relative, and where most.
    """

def cut_width(states: int) -> int: ...

def evaluate(cuts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Return the values of cuts at states: states by cuts."""
