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
from cobre.comm.selection import Choice, choose, create_communicator, launched_rank
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
    "Topology",
    "WorkerError",
    "available_backends",
    "choose",
    "create_communicator",
    "gather_topology",
    "launched_rank",
    "run_ranks",
]


def __getattr__(name: str) -> object:
    """Import the launcher on demand: every rank imports this module, and few start others."""
    if name == "run_ranks":
        from cobre.comm.launch import run_ranks  # noqa: PLC0415

        return run_ranks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
