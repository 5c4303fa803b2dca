"""What a rank's memory holds when each stage has thousands of cuts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from _sddp_problems import Size, hydrothermal

from cobre.comm import BackendCommunicator
from cobre.sddp._engine import Engine
from cobre.sddp._graph import value_bounds
from cobre.sddp._method import Method
from cobre.sddp.simulation import estimate_costs

PIECE = 500  # cuts that are added at once


def fill(comm: BackendCommunicator, size: Size, levels: list[int]) -> list[dict[str, Any]]:
    """Add cuts to all stages; at each level, walk a trajectory per rank, so that all cuts are read, and look.

    The cuts are valid: volumes are never negative, nor are costs; what slopes down from 0 is below the value.
    """
    problem = hydrothermal(size)
    before = memory()
    found = []
    bounds = value_bounds(problem)
    with Engine(problem, Method(trajectories=comm.size), comm, value_bounds=bounds) as engine:
        random = np.random.default_rng(0)
        for level in levels:
            while (present := len(engine.pools[0])) < level:
                more = min(PIECE, level - present)
                for pool in engine.pools:
                    cuts = -random.uniform(0.0, 1.0, (more, engine.states + 1))
                    cuts[:, 0] = 0.0
                    pool.append(cuts, np.zeros(more, np.int32), 0)
            estimate_costs(engine, comm.size, 1)
            comm.barrier()
            found.append({"cuts": level, **memory()})
            comm.barrier()
    return [{"cuts": None, **before}, *found]


def memory() -> dict[str, float]:
    """Return this process's memory in MB: its own, its share of what is shared, and all that is mapped."""
    fields = {}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, value, _ = line.split()
        fields[name.rstrip(":")] = int(value) / 1024
    return {
        "own": fields["Private_Clean"] + fields["Private_Dirty"],
        "share": fields["Pss"],
        "shared_regions": fields["Pss_Shmem"],
        "mapped": fields["Rss"],
    }
