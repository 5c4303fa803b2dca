"""Linear programmes as arrays, and many solves of one of them.

`LinearProgram` and `Noise` are plain data that anything can build. `StageSolver` solves one programme for
many incoming states and realisations in one call, on several threads, with the same bits in any order.
"""

from cobre.lp._model import highs_of, realized
from cobre.lp._noise import PROBABILITY_TOLERANCE, Noise, Place, place_name, probability_findings
from cobre.lp._program import Floats, Ints, LinearProgram, SparseMatrix
from cobre.lp._solver import (
    HIGHS_VERSION,
    NO_PLACES,
    SolveFailure,
    StageSolver,
    States,
    Steps,
    ThreadPool,
    aggregate_cuts,
    cut_heights,
    cut_width,
    largest_excess,
)

__all__ = [
    "HIGHS_VERSION",
    "NO_PLACES",
    "PROBABILITY_TOLERANCE",
    "Floats",
    "Ints",
    "LinearProgram",
    "Noise",
    "Place",
    "SolveFailure",
    "SparseMatrix",
    "StageSolver",
    "States",
    "Steps",
    "ThreadPool",
    "aggregate_cuts",
    "cut_heights",
    "cut_width",
    "highs_of",
    "largest_excess",
    "place_name",
    "probability_findings",
    "realized",
]
