"""Hydrothermal systems as multistage problems."""

from cobre.hydrothermal._noise import StageNoise
from cobre.hydrothermal._problem import initial_state, problem_of
from cobre.hydrothermal._risk import risk_of
from cobre.hydrothermal._tables import SimulationTables

__all__ = [
    "SimulationTables",
    "StageNoise",
    "initial_state",
    "problem_of",
    "risk_of",
]
