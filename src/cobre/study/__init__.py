"""From a case folder to a policy and a simulation: the one path of a run."""

from cobre.study._plan import RunPlan, checkpoint_in, output_folder
from cobre.study._public import (
    CaseLoader,
    ValidationResult,
    joined,
    run,
    run_case,
    simulate,
    train,
    validate,
)
from cobre.study._results import ProgressEvent, RunResult, SimulationResult, TrainingResult, WorkerInfo
from cobre.study._running import Runner, run_plan
from cobre.study._scaling import ScalingEstimate, ScalingRow, estimate_scaling
from cobre.study._study import Study

__all__ = [
    "CaseLoader",
    "ProgressEvent",
    "RunPlan",
    "RunResult",
    "Runner",
    "ScalingEstimate",
    "ScalingRow",
    "SimulationResult",
    "Study",
    "TrainingResult",
    "ValidationResult",
    "WorkerInfo",
    "checkpoint_in",
    "estimate_scaling",
    "joined",
    "output_folder",
    "run",
    "run_case",
    "run_plan",
    "simulate",
    "train",
    "validate",
]
