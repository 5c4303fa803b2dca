"""Topology of a communicator: ranks by host, gathered once at the start, the same on every rank."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cobre.comm.contract import Communicator


@dataclass(frozen=True)
class MpiInfo:
    """The MPI library behind the ``mpi`` backend."""

    library: str
    standard: str
    thread_level: str


@dataclass(frozen=True)
class SlurmInfo:
    """The SLURM job that this process belongs to."""

    job_id: str
    node_list: str | None
    tasks: int | None
    cpus_per_task: int | None

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> SlurmInfo | None:
        """Read SLURM's variables; None outside a job. A number that SLURM left out is None."""
        job_id = env.get("SLURM_JOB_ID")
        if job_id is None:
            return None

        def number(variable: str) -> int | None:
            text = env.get(variable, "")
            return int(text) if text.isdecimal() else None

        return cls(
            job_id=job_id,
            node_list=env.get("SLURM_JOB_NODELIST"),
            tasks=number("SLURM_NTASKS"),
            cpus_per_task=number("SLURM_CPUS_PER_TASK"),
        )


@dataclass(frozen=True)
class Topology:
    """Backend, ranks and machines of a communicator.

    >>> topology = create_communicator("local").topology
    >>> topology.backend, topology.size, list(topology.hosts.values())
    ('local', 1, [(0,)])
    """

    backend: str
    size: int
    #: Host name → its ranks, ascending; hosts in the order of their first rank.
    hosts: Mapping[str, tuple[int, ...]]
    mpi: MpiInfo | None = None
    slurm: SlurmInfo | None = None

    def __str__(self) -> str:
        ranks = "1 rank" if self.size == 1 else f"{self.size} ranks"
        hosts = "1 host" if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"
        return f"{self.backend}, {ranks} on {hosts}"


def gather_topology(
    comm: Communicator, backend: str, *, host: str | None = None, mpi: MpiInfo | None = None
) -> Topology:
    """Gather the topology of a communicator that has just started. A collective.

    A backend calls this as the last step of its start and keeps the result as ``topology``. ``host``
    defaults to this machine's name.
    """
    name = np.frombuffer((host or os.uname().nodename).encode(), np.uint8)
    lengths = np.empty(comm.size, np.int64)
    comm.allgatherv(np.array([len(name)]), lengths, [1] * comm.size)
    names = np.empty(lengths.sum(), np.uint8)
    comm.allgatherv(name, names, lengths.tolist())

    hosts: dict[str, tuple[int, ...]] = {}
    ends = np.cumsum(lengths)
    for rank, (end, length) in enumerate(zip(ends, lengths, strict=True)):
        found = names[end - length : end].tobytes().decode()
        hosts[found] = (*hosts.get(found, ()), rank)
    return Topology(backend, comm.size, hosts, mpi, SlurmInfo.from_env(os.environ))
