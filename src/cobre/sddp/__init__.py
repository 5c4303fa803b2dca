"""Stochastic dual dynamic programming for any multistage stochastic linear problem.

The engine knows nothing of hydros: a `MultistageProblem` is a graph of linear programmes with states and
random numbers.
"""

from cobre.errors import BoundError, InvalidProblem, PolicyFileError, SolveError
from cobre.estimates import Estimate
from cobre.lp import LinearProgram, Noise, SparseMatrix
from cobre.sddp._checkpoint import Checkpoint, require_the_same, saved_log
from cobre.sddp._engine import Statistics
from cobre.sddp._finishing import finishing
from cobre.sddp._method import Method
from cobre.sddp._progress import Progress, Remaining, SimulationRecord
from cobre.sddp._visits import Recorder, Visit
from cobre.sddp.events import (
    CheckpointWritten,
    Event,
    GuardTripped,
    IterationFinished,
    Listener,
    RankTimes,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
    to_dict,
)
from cobre.sddp.modeling import StageModel, stage, stages
from cobre.sddp.policy import NodeCutArrays, Policy, Value
from cobre.sddp.problem import MultistageProblem, Node
from cobre.sddp.risk import AVaR, EAVaR, Expectation, Mixture, RiskMeasure, WorstCase
from cobre.sddp.sampling import Draw, Given, InSample, OutOfSample, Sample, Sampling
from cobre.sddp.selection import Domination, Level1, LimitedMemoryLevel1, NodeCuts, Selection
from cobre.sddp.simulation import SimulationResult, follow, simulate
from cobre.sddp.stopping import (
    AllOf,
    AnyOf,
    BoundStalling,
    IterationLimit,
    SimulationStopping,
    Statistical,
    StoppingRule,
    TimeLimit,
)
from cobre.sddp.training import TrainingResult, train

__all__ = [
    "AVaR",
    "AllOf",
    "AnyOf",
    "BoundError",
    "BoundStalling",
    "Checkpoint",
    "CheckpointWritten",
    "Domination",
    "Draw",
    "EAVaR",
    "Estimate",
    "Event",
    "Expectation",
    "Given",
    "GuardTripped",
    "InSample",
    "InvalidProblem",
    "IterationFinished",
    "IterationLimit",
    "Level1",
    "LimitedMemoryLevel1",
    "LinearProgram",
    "Listener",
    "Method",
    "Mixture",
    "MultistageProblem",
    "Node",
    "NodeCutArrays",
    "NodeCuts",
    "Noise",
    "OutOfSample",
    "Policy",
    "PolicyFileError",
    "Progress",
    "RankTimes",
    "Recorder",
    "Remaining",
    "RiskMeasure",
    "Sample",
    "Sampling",
    "Selection",
    "SimulationProgress",
    "SimulationRecord",
    "SimulationResult",
    "SimulationStopping",
    "SolveError",
    "SparseMatrix",
    "StageModel",
    "Statistical",
    "Statistics",
    "StoppingRule",
    "TimeLimit",
    "TrainingFinished",
    "TrainingResult",
    "TrainingStarted",
    "Value",
    "Visit",
    "WorstCase",
    "finishing",
    "follow",
    "require_the_same",
    "saved_log",
    "simulate",
    "stage",
    "stages",
    "to_dict",
    "train",
]
