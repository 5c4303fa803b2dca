"""A process that is a rank in one group after the other, until it is killed.

Each line on stdin is one trial: the group's variables and what to do in it, as JSON. Each line on
stdout is a fact: that it has joined, and how the trial ended for it.
"""

import gc
import json
import select
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from cobre import CobreError
from cobre.comm import InitializationFailed, create_communicator
from cobre.comm.registry import load
from cobre.comm.testing import GroupRunner, run_checks


def tell(**facts):
    sys.stdout.write(json.dumps({"at": time.monotonic(), **facts}) + "\n")
    sys.stdout.flush()


def fill_region(comm):
    with comm.create_shared_region(1000) as region:
        region.as_mut_array()[comm.rank :: comm.size] = comm.rank
        region.fence()


def publish(comm):
    with comm.gather_region([100] * comm.size) as region:
        region.publish()


def use_split(comm):
    with comm.split_local() as local:
        for _ in range(10):
            local.barrier()


def assemble(comm, config):
    """One more group of the same ranks. Who dies before it comes to that is known to the first group only."""
    comm.barrier()
    soon = {"timeout_s": 0.5} if config.backend == "shm" else {"connect_timeout_ms": 500}
    try:
        create_communicator(replace(config, **soon)).close()
    except InitializationFailed as error:
        if " exited" in error.message:
            raise


def actions(comm, config):
    """Collectives of every kind, small and large, and whatever else ranks do together."""
    small, large = np.ones(4), np.ones(300_000)
    parts = np.empty(4 * comm.size), np.empty(300_000 * comm.size)
    return {
        "barrier": comm.barrier,
        "allreduce": lambda: comm.allreduce(small, np.empty(4)),
        "allreduce large": lambda: comm.allreduce(large, np.empty(300_000)),
        "allgatherv": lambda: comm.allgatherv(small, parts[0], [4] * comm.size),
        "allgatherv large": lambda: comm.allgatherv(large, parts[1], [300_000] * comm.size),
        "broadcast large": lambda: comm.broadcast(large, comm.size - 1),
        "region": lambda: fill_region(comm),
        "gather region": lambda: publish(comm),
        "split": lambda: comm.split_local().close(),
        "use split": lambda: use_split(comm),
        "assemble": lambda: assemble(comm, config),
    }


def repeat(comm, config, action, pause_s=0.0):
    """Do it until it fails."""
    act = actions(comm, config)[action]
    while True:
        act()
        if pause_s:
            time.sleep(pause_s)


def compute_until_told(comm, config):
    """Be busy, outside of any collective, until a line comes; then join in until that fails."""
    while not select.select([sys.stdin], [], [], 0)[0]:
        sum(range(1000))
    sys.stdin.readline()
    repeat(comm, config, "barrier")


def meet(comm):
    comm.barrier()
    return {"met": comm.size}


def outcome_of(call):
    """How a call ended, and when."""
    try:
        call()
    except (CobreError, KeyboardInterrupt) as error:
        return {"error": type(error).__name__, "words": str(error), "at": time.monotonic()}
    return {}


def run_in_group(config, action, pause_s):
    with create_communicator(config) as comm:
        tell(joined=comm.rank, directly=getattr(comm, "connected_directly", None))
        if action == "meet":
            return meet(comm)
        run = {"compute": lambda: compute_until_told(comm, config)}
        outcome = outcome_of(run.get(action, lambda: repeat(comm, config, action, pause_s)))
        # Whether anybody could go on: the first of these may still be the one that hears of the failure.
        tries = [comm.barrier, comm.split_local, lambda: comm.create_shared_region(1)]
        return {**outcome, "afterwards": [outcome_of(one) for one in tries]}


def run_kit(config):
    runner = GroupRunner(lambda: create_communicator(config))
    outcomes = list(run_checks(runner))
    runner.close()
    return {"failed": [f"{found.name}: {found.detail}" for found in outcomes if not found.passed]}


def open_files():
    """What is open in this process, with the numbers of the kernel, where that tells."""
    gc.collect()
    folder = Path("/proc/self/fd")
    return {str(link.readlink()) for link in folder.glob("*") if link.is_symlink()}


def run_trial(backend, variables, action, pause_s=0.0):
    config = load(backend).configure(variables)
    before = open_files()
    try:
        outcome = run_kit(config) if action == "kit" else run_in_group(config, action, pause_s)
    except (CobreError, KeyboardInterrupt) as error:
        outcome = {"error": type(error).__name__, "words": str(error)}
    tell(**outcome, left=sorted(open_files() - before))


if __name__ == "__main__":
    # Not `for line in sys.stdin`, which reads ahead: a trial may want a line of its own.
    while line := sys.stdin.readline():
        run_trial(**json.loads(line))
