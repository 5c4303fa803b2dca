"""Heat spreads in a rod; each rank computes its own piece of it, round after round."""

import numpy as np

from cobre.comm import create_communicator

CELLS, ROUNDS = 1000, 200

with create_communicator() as comm:
    bounds = [CELLS * rank // comm.size for rank in range(comm.size + 1)]
    begin, end = bounds[comm.rank], bounds[comm.rank + 1]
    rod = np.where(np.arange(CELLS) < 100, 100.0, 20.0)  # one end is hot

    with comm.gather_region(np.diff(bounds).tolist()) as region:
        for _ in range(ROUNDS):
            cells = np.pad(rod, 1, mode="edge")  # no heat leaves at the ends
            left, here, right = (cells[begin + i : end + i] for i in range(3))
            region.own[:] = (left + 2 * here + right) / 4
            rod = region.publish()

    if comm.rank == 0:
        print(f"{comm.topology}: the cell beside the hot end has {rod[100]} degrees")
