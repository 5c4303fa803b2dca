"""Four processes compute a share each, and all of them get the whole."""

import numpy as np

from cobre.comm import run_ranks


def total(comm, n):
    """Add up the square roots of 0 to n - 1; each rank computes its share of them."""
    shares = np.array_split(np.arange(float(n)), comm.size)
    mine = np.sqrt(shares[comm.rank])
    values = np.empty(n)
    comm.allgatherv(mine, values, counts=[len(share) for share in shares])
    print(f"computed {len(mine)} of {n}")
    return comm.rank, values.sum()


if __name__ == "__main__":
    for rank, result in run_ranks(total, 4, args=[1000]):
        print(f"rank {rank} has {result:.6f}")
