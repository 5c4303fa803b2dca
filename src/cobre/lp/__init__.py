"""Linear programmes as arrays, and many solves of one of them.

`LinearProgram` and `Noise` are plain data that anything can build. `StageSolver` solves one programme for
many incoming states and realisations in one call, on several threads, with the same bits in any order.
"""

from cobre.lp._noise import Noise
from cobre.lp._program import LinearProgram, SparseMatrix

__all__ = ["LinearProgram", "Noise", "SparseMatrix"]
