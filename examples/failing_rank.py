"""What the caller of `run_ranks` sees when one rank fails."""

import numpy as np

from cobre.comm import WorkerError, run_ranks


def work(comm):
    """Add up a number per rank, of which rank 2 has none."""
    mine = {0: 4.0, 1: 2.5, 3: 8.0}
    total = np.empty(1)
    comm.allreduce(np.array([mine[comm.rank]]), total)
    return total[0]


if __name__ == "__main__":
    try:
        run_ranks(work, 4)
    except WorkerError as error:
        print(error)
        print(f"fields: {error.rank=}, {error.exit_code=}, {error.inner=}")
        print(*error.inner.__notes__)
