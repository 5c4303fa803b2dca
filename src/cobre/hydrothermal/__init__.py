"""Hydrothermal systems as multistage problems."""

from cobre.hydrothermal._noise import Numbers, StageNoise
from cobre.hydrothermal._outcomes import Outcomes
from cobre.hydrothermal._problem import initial_state, problem_of, risk_of

__all__ = [
    "Numbers",
    "Outcomes",
    "StageNoise",
    "initial_state",
    "problem_of",
    "risk_of",
]
