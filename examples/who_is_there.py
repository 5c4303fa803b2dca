"""Who is in the group, and do all ranks agree? Runs alone, on one machine and on several."""

import numpy as np

from cobre.comm import create_communicator

with create_communicator() as comm:
    total = np.empty(1)
    comm.allreduce(np.array([comm.rank + 1.0]), total)
    expected = comm.size * (comm.size + 1) / 2
    if comm.rank == 0:
        print(comm.topology)
        for host, ranks in comm.topology.hosts.items():
            print(f"  {host}: {', '.join(f'rank {rank}' for rank in ranks)}")
        if comm.topology.backend == "tcp":
            print("connected directly" if comm.connected_directly else "connected through rank 0")
        print(f"the sum is {total[0]:g}, and should be {expected:g}")
    if total[0] != expected:
        raise SystemExit(f"rank {comm.rank} has {total[0]:g} instead of {expected:g}")
