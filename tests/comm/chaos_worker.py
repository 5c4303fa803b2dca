"""A process that is a rank in one group after the other, until it is killed.

Each line on stdin is one trial: the group's variables and what to do in it, as JSON. Each line on
stdout is a fact: that it has joined, and how the trial ended for it.
"""

import json
import sys
import time

import numpy as np

from cobre import CobreError
from cobre.comm import ShmConfig, create_communicator


def tell(**facts):
    sys.stdout.write(json.dumps({**facts, "at": time.monotonic()}) + "\n")
    sys.stdout.flush()


def actions(comm):
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


def run_trial(config, action, pause_s):
    try:
        with create_communicator(ShmConfig(**config)) as comm:
            tell(joined=comm.rank)
            act = actions(comm)[action]
            while True:
                act()
                if pause_s:
                    time.sleep(pause_s)
    except CobreError as error:
        tell(error=type(error).__name__, words=str(error))


if __name__ == "__main__":
    for line in sys.stdin:
        run_trial(**json.loads(line))
