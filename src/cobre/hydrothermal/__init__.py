"""Hydrothermal systems as multistage problems."""

from cobre.hydrothermal._outcomes import Outcomes
from cobre.hydrothermal._problem import initial_state, problem_of, risk_of

__all__ = ["Outcomes", "initial_state", "problem_of", "risk_of"]
