"""Hosts and ranks as gathered at the start, and the SLURM job."""

import pytest

from cobre.comm import SlurmInfo, create_communicator
from tests.comm.thread_group import thread_runner


def topology_of(comm):
    return comm.topology


@pytest.mark.parametrize(
    ("size", "each", "hosts"),
    [
        (4, 2, {"machine-0": (0, 1), "machine-1": (2, 3)}),
        (3, 2, {"machine-0": (0, 1), "machine-1": (2,)}),
        (2, 2, {"machine-0": (0, 1)}),
    ],
)
def test_hosts_hold_their_ranks_in_order(size, each, hosts):
    for topology in thread_runner(size, ranks_per_machine=each)(topology_of):
        assert dict(topology.hosts) == hosts
        assert (topology.backend, topology.size, topology.mpi) == ("threads", size, None)


def test_it_reads_in_one_line():
    assert str(create_communicator("local").topology) == "local, 1 rank on 1 host"
    assert str(thread_runner(3, ranks_per_machine=2)(topology_of)[0]) == "threads, 3 ranks on 2 hosts"


def test_the_slurm_job_is_part_of_it(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "many")
    slurm = create_communicator("local").topology.slurm
    assert slurm == SlurmInfo(job_id="4711", node_list=None, tasks=8, cpus_per_task=None)
    monkeypatch.delenv("SLURM_JOB_ID")
    assert create_communicator("local").topology.slurm is None
