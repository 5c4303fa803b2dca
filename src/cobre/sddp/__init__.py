"""Stochastic dual dynamic programming for any multistage stochastic linear problem.

The engine knows nothing of hydros: a `MultistageProblem` is a graph of linear programmes with states and
random numbers.
"""

from cobre.sddp.problem import MultistageProblem, Node

__all__ = ["MultistageProblem", "Node"]
