"""Hydrothermal planning and stochastic optimisation by SDDP, parallel and bit-for-bit reproducible.

```python
import cobre

result = cobre.train("my_case", num_workers=4)
print(result.final_lower_bound, result.termination_reason)
```

The names here are what most programs need. `cobre.sddp` is the engine for other problems, `cobre.comm` the
communication layer, and `cobre.errors` has all errors of the package.
"""

from typing import TYPE_CHECKING, Any

from cobre.errors import CobreError, IOError, SolverError, ValidationError, WorkerError  # noqa: A004

if TYPE_CHECKING:
    from cobre.case import Case as Case
    from cobre.comm import get_threads as get_threads
    from cobre.comm import set_threads as set_threads
    from cobre.sddp import Policy as Policy
    from cobre.study import CaseLoader as CaseLoader
    from cobre.study import ProgressEvent as ProgressEvent
    from cobre.study import RunResult as RunResult
    from cobre.study import SimulationResult as SimulationResult
    from cobre.study import TrainingResult as TrainingResult
    from cobre.study import ValidationResult as ValidationResult
    from cobre.study import WorkerInfo as WorkerInfo
    from cobre.study import run as run
    from cobre.study import simulate as simulate
    from cobre.study import train as train
    from cobre.study import validate as validate

__version__ = "0.1.0"

#: Modules of names that are imported on first use, so that `cobre.comm` stays light.
_LAZY = {
    "Case": "cobre.case",
    "CaseLoader": "cobre.study",
    "Policy": "cobre.sddp",
    "ProgressEvent": "cobre.study",
    "RunResult": "cobre.study",
    "SimulationResult": "cobre.study",
    "TrainingResult": "cobre.study",
    "ValidationResult": "cobre.study",
    "WorkerInfo": "cobre.study",
    "get_threads": "cobre.comm",
    "run": "cobre.study",
    "set_threads": "cobre.comm",
    "simulate": "cobre.study",
    "train": "cobre.study",
    "validate": "cobre.study",
}

__all__ = [
    "Case",
    "CaseLoader",
    "CobreError",
    "IOError",
    "Policy",
    "ProgressEvent",
    "RunResult",
    "SimulationResult",
    "SolverError",
    "TrainingResult",
    "ValidationError",
    "ValidationResult",
    "WorkerError",
    "WorkerInfo",
    "__version__",
    "get_threads",
    "run",
    "set_threads",
    "simulate",
    "train",
    "validate",
]


#: Packages that are imported on first use.
_PACKAGES = (
    "case",
    "comm",
    "hydrothermal",
    "lp",
    "progress",
    "report",
    "results",
    "sddp",
    "stochastic",
    "study",
    "system",
)


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415

    if name in _PACKAGES:
        return import_module(f"cobre.{name}")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'cobre' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES]
