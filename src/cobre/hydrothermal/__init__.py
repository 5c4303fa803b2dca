"""Hydrothermal systems as multistage problems."""

from cobre.hydrothermal._problem import problem_of, risk_of

__all__ = ["problem_of", "risk_of"]
