"""Stochastic dual dynamic programming for any multistage stochastic linear problem.

The engine knows nothing of hydros: a `MultistageProblem` is a graph of linear programmes with states and
random numbers.

Names are imported when first used, so that reading events or estimates does not load the LP solver.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cobre.errors import BoundError as BoundError
    from cobre.errors import InvalidProblem as InvalidProblem
    from cobre.errors import PolicyFileError as PolicyFileError
    from cobre.errors import SolveError as SolveError
    from cobre.estimates import Estimate as Estimate
    from cobre.lp import LinearProgram as LinearProgram
    from cobre.lp import Noise as Noise
    from cobre.lp import SparseMatrix as SparseMatrix
    from cobre.sddp._checkpoint import Checkpoint as Checkpoint
    from cobre.sddp._checkpoint import SavedTraining as SavedTraining
    from cobre.sddp._engine import Statistics as Statistics
    from cobre.sddp._method import Method as Method
    from cobre.sddp._progress import Progress as Progress
    from cobre.sddp._progress import Remaining as Remaining
    from cobre.sddp._progress import SimulationRecord as SimulationRecord
    from cobre.sddp._trained import TrainedPolicy as TrainedPolicy
    from cobre.sddp._visits import Recorder as Recorder
    from cobre.sddp._visits import Visit as Visit
    from cobre.sddp.events import CheckpointWritten as CheckpointWritten
    from cobre.sddp.events import Event as Event
    from cobre.sddp.events import GuardTripped as GuardTripped
    from cobre.sddp.events import IterationFinished as IterationFinished
    from cobre.sddp.events import Listener as Listener
    from cobre.sddp.events import RankSolves as RankSolves
    from cobre.sddp.events import RankTimes as RankTimes
    from cobre.sddp.events import SimulationFinished as SimulationFinished
    from cobre.sddp.events import SimulationProgress as SimulationProgress
    from cobre.sddp.events import TrainingFinished as TrainingFinished
    from cobre.sddp.events import TrainingStarted as TrainingStarted
    from cobre.sddp.events import to_dict as to_dict
    from cobre.sddp.execution import ExecutionOptions as ExecutionOptions
    from cobre.sddp.execution import RankContext as RankContext
    from cobre.sddp.execution import execute as execute
    from cobre.sddp.modeling import StageModel as StageModel
    from cobre.sddp.modeling import stage as stage
    from cobre.sddp.modeling import stages as stages
    from cobre.sddp.policy import NodeCutArrays as NodeCutArrays
    from cobre.sddp.policy import Policy as Policy
    from cobre.sddp.policy import Value as Value
    from cobre.sddp.problem import MultistageProblem as MultistageProblem
    from cobre.sddp.problem import Node as Node
    from cobre.sddp.risk import AVaR as AVaR
    from cobre.sddp.risk import EAVaR as EAVaR
    from cobre.sddp.risk import Expectation as Expectation
    from cobre.sddp.risk import Mixture as Mixture
    from cobre.sddp.risk import RiskMeasure as RiskMeasure
    from cobre.sddp.risk import WorstCase as WorstCase
    from cobre.sddp.sampling import Draw as Draw
    from cobre.sddp.sampling import Given as Given
    from cobre.sddp.sampling import InSample as InSample
    from cobre.sddp.sampling import OutOfSample as OutOfSample
    from cobre.sddp.sampling import Sample as Sample
    from cobre.sddp.sampling import Sampling as Sampling
    from cobre.sddp.selection import Domination as Domination
    from cobre.sddp.selection import Level1 as Level1
    from cobre.sddp.selection import LimitedMemoryLevel1 as LimitedMemoryLevel1
    from cobre.sddp.selection import NodeCuts as NodeCuts
    from cobre.sddp.selection import Selection as Selection
    from cobre.sddp.simulation import SimulatedTrajectories as SimulatedTrajectories
    from cobre.sddp.simulation import SimulationTask as SimulationTask
    from cobre.sddp.simulation import follow as follow
    from cobre.sddp.simulation import simulate as simulate
    from cobre.sddp.simulation import simulate_streaming as simulate_streaming
    from cobre.sddp.stopping import AllOf as AllOf
    from cobre.sddp.stopping import AnyOf as AnyOf
    from cobre.sddp.stopping import BoundStalling as BoundStalling
    from cobre.sddp.stopping import IterationLimit as IterationLimit
    from cobre.sddp.stopping import SimulationStopping as SimulationStopping
    from cobre.sddp.stopping import Statistical as Statistical
    from cobre.sddp.stopping import StoppingRule as StoppingRule
    from cobre.sddp.stopping import TimeLimit as TimeLimit
    from cobre.sddp.training import TrainingTask as TrainingTask
    from cobre.sddp.training import train as train

#: Modules and the public names they define; type checkers read the same from the imports above.
_NAMES = {
    "cobre.errors": "BoundError InvalidProblem PolicyFileError SolveError",
    "cobre.estimates": "Estimate",
    "cobre.lp": "LinearProgram Noise SparseMatrix",
    "cobre.sddp._checkpoint": "Checkpoint SavedTraining",
    "cobre.sddp._engine": "Statistics",
    "cobre.sddp._method": "Method",
    "cobre.sddp._progress": "Progress Remaining SimulationRecord",
    "cobre.sddp._visits": "Recorder Visit",
    "cobre.sddp.events": (
        "CheckpointWritten Event GuardTripped IterationFinished Listener RankSolves RankTimes "
        "SimulationFinished SimulationProgress TrainingFinished TrainingStarted to_dict"
    ),
    "cobre.sddp.execution": "ExecutionOptions RankContext execute",
    "cobre.sddp.modeling": "StageModel stage stages",
    "cobre.sddp.policy": "NodeCutArrays Policy Value",
    "cobre.sddp.problem": "MultistageProblem Node",
    "cobre.sddp.risk": "AVaR EAVaR Expectation Mixture RiskMeasure WorstCase",
    "cobre.sddp.sampling": "Draw Given InSample OutOfSample Sample Sampling",
    "cobre.sddp.selection": "Domination Level1 LimitedMemoryLevel1 NodeCuts Selection",
    "cobre.sddp.simulation": "SimulatedTrajectories SimulationTask follow simulate simulate_streaming",
    "cobre.sddp.stopping": (
        "AllOf AnyOf BoundStalling IterationLimit SimulationStopping Statistical StoppingRule TimeLimit"
    ),
    "cobre.sddp._trained": "TrainedPolicy",
    "cobre.sddp.training": "TrainingTask train",
}
_DEFINED_IN = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_DEFINED_IN)  # noqa: PLE0605  one list is enough


def __getattr__(name: str) -> Any:
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_DEFINED_IN[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
