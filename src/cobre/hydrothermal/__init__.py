"""Hydrothermal systems as multistage problems."""

from cobre.hydrothermal._problem import problem_of, risk_of
from cobre.hydrothermal._scenarios import noise_of, sampling_of

__all__ = ["noise_of", "problem_of", "risk_of", "sampling_of"]
