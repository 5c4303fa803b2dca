"""What mpiexec runs in the tests of mpi: a function of this module on every rank, results into a folder.

``python -m tests.comm.mpi_program BODY FOLDER [ARGUMENT …]``, arguments in JSON. Every rank leaves its result
in a file of its own, since some bodies end MPI.
"""

import json
import os
import pickle
import sys
from itertools import accumulate
from pathlib import Path

from cobre.comm import MpiConfig, create_communicator
from cobre.comm.testing import GroupRunner, run_checks
from cobre.comm.testing._sequence import _mixed_sequence


def world():
    """MPI's world, as a program that knows nothing of cobre would get it."""
    from mpi4py import MPI  # noqa: PLC0415  importing it starts MPI, which some bodies leave to cobre

    return MPI.COMM_WORLD


def launched_rank():
    """This process's rank as its launcher says it, whether or not MPI is running."""
    return int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])


def whole_kit(sizes, ranks_per_machine=None):
    """Every check on groups of these sizes side by side; the group's size, what failed, and the sequence."""
    rank = world().Get_rank()
    group = sum(end <= rank for end in accumulate(sizes))
    comm = world().Split(group)
    node = None if ranks_per_machine is None else comm.Get_rank() // ranks_per_machine
    runner = GroupRunner(lambda: create_communicator(MpiConfig(comm=comm, node=node)))
    failed = [f"{outcome.name}: {outcome.detail}" for outcome in run_checks(runner) if not outcome.passed]
    [digests, *_] = runner(_mixed_sequence)
    runner.close()
    return comm.Get_size(), failed, digests


def main():
    body, folder, *arguments = sys.argv[1:]
    result = globals()[body](*map(json.loads, arguments))
    Path(folder, str(launched_rank())).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    main()
