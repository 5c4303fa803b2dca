"""A process that is a rank in one group after the other, until it is killed.

Each line on stdin is one trial: the group's variables and what to do in it, as JSON. Each line on
stdout is a fact: that it has joined, and how the trial ended for it.
"""

import json
import select
import sys
import time

import numpy as np

from cobre import CobreError
from cobre.comm import create_communicator
from cobre.comm.registry import load
from cobre.comm.testing import GroupRunner, run_checks


def tell(**facts):
    sys.stdout.write(json.dumps({**facts, "at": time.monotonic()}) + "\n")
    sys.stdout.flush()


def collectives(comm):
    """Collectives of every kind, small and large."""
    small, large = np.ones(4), np.ones(300_000)
    parts = np.empty(4 * comm.size), np.empty(300_000 * comm.size)
    return {
        "barrier": comm.barrier,
        "allreduce": lambda: comm.allreduce(small, np.empty(4)),
        "allreduce large": lambda: comm.allreduce(large, np.empty(300_000)),
        "allgatherv": lambda: comm.allgatherv(small, parts[0], [4] * comm.size),
        "allgatherv large": lambda: comm.allgatherv(large, parts[1], [300_000] * comm.size),
        "broadcast large": lambda: comm.broadcast(large, comm.size - 1),
        "region": lambda: comm.create_shared_region(1000).close(),
    }


def repeat(comm, action, pause_s):
    """Do it until it fails."""
    act = collectives(comm)[action]
    while True:
        act()
        if pause_s:
            time.sleep(pause_s)


def compute_until_told(comm):
    """Be busy, outside of any collective, until a line comes; then join in until that fails."""
    while not select.select([sys.stdin], [], [], 0)[0]:
        sum(range(1000))
    sys.stdin.readline()
    repeat(comm, "barrier", 0.0)


def meet(comm):
    comm.barrier()
    tell(met=comm.size)


def run_trial(backend, variables, action, pause_s=0.0):
    config = load(backend).configure(variables)
    try:
        if action == "kit":
            runner = GroupRunner(lambda: create_communicator(config))
            tell(failed=[f"{found.name}: {found.detail}" for found in run_checks(runner) if not found.passed])
            runner.close()
            return
        with create_communicator(config) as comm:
            tell(joined=comm.rank, directly=getattr(comm, "connected_directly", None))
            match action:
                case "compute":
                    compute_until_told(comm)
                case "meet":
                    meet(comm)
                case _:
                    repeat(comm, action, pause_s)
    except CobreError as error:
        tell(error=type(error).__name__, words=str(error))
    except KeyboardInterrupt:
        tell(error="KeyboardInterrupt", words="")


if __name__ == "__main__":
    # Not `for line in sys.stdin`, which reads ahead: a trial may want a line of its own.
    while line := sys.stdin.readline():
        run_trial(**json.loads(line))
