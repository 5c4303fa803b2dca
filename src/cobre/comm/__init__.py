"""Collective communication between processes: four operations, any backend, the same bits.

```python
with cobre.comm.create_communicator() as comm:
    total = np.empty(1)
    comm.allreduce(np.array([1.0]), total, ReduceOp.SUM)
```

Usable without the rest of cobre. The contract is in the docstrings of `Communicator`,
`SharedMemoryProvider` and `SharedRegion`; `cobre.comm.testing` has the conformance checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cobre._native import ReduceOp
from cobre.comm.config import LocalConfig, MpiConfig, ShmConfig, TcpConfig
from cobre.comm.contract import BackendCommunicator, Communicator, SharedMemoryProvider
from cobre.comm.regions.gather import GatherRegion
from cobre.comm.regions.shared import HeapRegion, SharedRegion
from cobre.comm.registry import Backend, BackendConfig, BackendStatus, LaunchedRank, available_backends
from cobre.comm.selection import (
    Choice,
    backend_of_workers,
    backend_to_start,
    choose,
    create_communicator,
    launched_rank,
    names_group,
    refuse_to_run_alone,
)
from cobre.comm.threads import (
    ThreadChoice,
    agree_on_threads,
    choose_threads,
    get_threads,
    set_threads,
)
from cobre.comm.topology import MpiInfo, SlurmInfo, Topology, gather_topology
from cobre.errors import (
    AllocationFailed,
    BackendError,
    BackendNotAvailable,
    CollectiveFailed,
    CommError,
    InitializationFailed,
    InvalidBackend,
    InvalidBufferSize,
    InvalidCommunicator,
    InvalidRoot,
    MissingConfiguration,
    WorkerError,
)

if TYPE_CHECKING:
    from cobre.comm.launch import run_ranks

__all__ = [
    "AllocationFailed",
    "Backend",
    "BackendCommunicator",
    "BackendConfig",
    "BackendError",
    "BackendNotAvailable",
    "BackendStatus",
    "Choice",
    "CollectiveFailed",
    "CommError",
    "Communicator",
    "GatherRegion",
    "HeapRegion",
    "InitializationFailed",
    "InvalidBackend",
    "InvalidBufferSize",
    "InvalidCommunicator",
    "InvalidRoot",
    "LaunchedRank",
    "LocalConfig",
    "MissingConfiguration",
    "MpiConfig",
    "MpiInfo",
    "ReduceOp",
    "SharedMemoryProvider",
    "SharedRegion",
    "ShmConfig",
    "SlurmInfo",
    "TcpConfig",
    "ThreadChoice",
    "Topology",
    "WorkerError",
    "agree_on_threads",
    "available_backends",
    "backend_of_workers",
    "backend_to_start",
    "choose",
    "choose_threads",
    "create_communicator",
    "gather_topology",
    "get_threads",
    "launched_rank",
    "names_group",
    "refuse_to_run_alone",
    "run_ranks",
    "set_threads",
]


def __getattr__(name: str) -> object:
    """Import the launcher on demand: every rank imports this module, and few start others."""
    if name == "run_ranks":
        from cobre.comm.launch import run_ranks  # noqa: PLC0415

        return run_ranks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
