"""Linear programmes as arrays, and many solves of one of them.

`LinearProgram` and `Noise` are plain data that anything can build. `StageSolver` solves one programme for
many incoming states and realisations in one call, on several threads, with the same bits in any order.
"""

from cobre._lp import DefaultFloatEnvironment
from cobre.lp._model import highs_of, realized
from cobre.lp._noise import PROBABILITY_TOLERANCE, Noise, Place, place_name, probability_findings
from cobre.lp._program import Floats, Ints, LinearProgram, SparseMatrix
from cobre.lp._ranges import Extreme, NumberRange, number_ranges
from cobre.lp._solver import (
    HIGHS_VERSION,
    NO_PLACES,
    NO_SLOTS,
    NextStages,
    SolveFailure,
    StageSolver,
    States,
    StepBatch,
    Steps,
    ThreadPool,
    TrialBatch,
    aggregate_cuts,
    cut_heights,
    largest_excess,
    solve,
    take_statistics,
)

__all__ = [
    "HIGHS_VERSION",
    "NO_PLACES",
    "NO_SLOTS",
    "PROBABILITY_TOLERANCE",
    "DefaultFloatEnvironment",
    "Extreme",
    "Floats",
    "Ints",
    "LinearProgram",
    "NextStages",
    "Noise",
    "NumberRange",
    "Place",
    "SolveFailure",
    "SparseMatrix",
    "StageSolver",
    "States",
    "StepBatch",
    "Steps",
    "ThreadPool",
    "TrialBatch",
    "aggregate_cuts",
    "cut_heights",
    "highs_of",
    "largest_excess",
    "number_ranges",
    "place_name",
    "probability_findings",
    "realized",
    "solve",
    "take_statistics",
]
