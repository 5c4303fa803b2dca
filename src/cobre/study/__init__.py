"""From a case folder to a policy and a simulation: the only path that there is."""

from cobre.study._public import CaseLoader, ValidationResult, run, simulate, train, validate
from cobre.study._results import ProgressEvent, SimulationResult, TrainingResult, WorkerInfo
from cobre.study._running import Runner, RunResult, Where, checkpoint_in, output_folder
from cobre.study._study import Study

__all__ = [
    "CaseLoader",
    "ProgressEvent",
    "RunResult",
    "Runner",
    "SimulationResult",
    "Study",
    "TrainingResult",
    "ValidationResult",
    "Where",
    "WorkerInfo",
    "checkpoint_in",
    "output_folder",
    "run",
    "simulate",
    "train",
    "validate",
]
