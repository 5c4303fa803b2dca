"""Expected time of an iteration on any number of ranks, from the times of its units on one."""

from cobre.sddp.scaling._model import (
    Collective,
    Expected,
    Layout,
    Network,
    Repeated,
    ScalingModel,
    Sharing,
    Workload,
    makespan,
    shared_seconds,
)
from cobre.sddp.scaling._recording import record_workload

__all__ = [
    "Collective",
    "Expected",
    "Layout",
    "Network",
    "Repeated",
    "ScalingModel",
    "Sharing",
    "Workload",
    "makespan",
    "record_workload",
    "shared_seconds",
]
