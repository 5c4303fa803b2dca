"""Hydrothermal systems as multistage problems."""

from cobre.hydrothermal._outcomes import Outcomes
from cobre.hydrothermal._problem import problem_of, risk_of

__all__ = ["Outcomes", "problem_of", "risk_of"]
