"""The collectives at work: the same program on one, two and four processes, and what each call costs.

Every rank holds some of 120 000 numbers of very different size. Whatever the number of processes, they
agree on the numbers, on their sum, taken in an order that does not depend on who holds what, and on the
largest; and every rank has the same bits.
"""

import hashlib
import time
from itertools import pairwise

import numpy as np
from rich.console import Console
from rich.table import Table

from cobre.comm import BackendCommunicator, ReduceOp, run_ranks

COUNT = 120_000


def numbers(begin: int, end: int) -> np.ndarray:
    """Numbers from ``begin`` to ``end`` of the series, the same bits whoever computes them."""
    index = np.arange(begin, end)
    return np.ldexp((index * 7919 % 10007 - 5003) / 3.0, index % 41 - 20)  # exact but for one division


def microseconds(call, comm: BackendCommunicator, repetitions: int) -> float:
    """Time of one call, best of five rounds, on the slowest rank."""
    best = np.array([np.inf])
    for _ in range(5):
        comm.barrier()
        start = time.perf_counter()
        for _ in range(repetitions):
            call()
        best[0] = min(best[0], (time.perf_counter() - start) / repetitions * 1e6)
    comm.allreduce(best, best, ReduceOp.MAX)
    return float(best[0])


def work(comm: BackendCommunicator) -> dict[str, object]:
    """What each rank does."""
    bounds = [COUNT * rank // comm.size for rank in range(comm.size + 1)]
    counts = [end - begin for begin, end in pairwise(bounds)]
    mine = numbers(bounds[comm.rank], bounds[comm.rank + 1])

    everybodys = np.empty(COUNT)
    comm.allgatherv(mine, everybodys, counts)
    largest = np.array([mine.max()])
    comm.allreduce(largest, largest, ReduceOp.MAX)
    with comm.gather_region(counts) as region:
        region.own[:] = mine
        shared = region.publish()
        same = bool((shared == everybodys).all())

        def publish():
            region.own[:] = mine
            region.publish()

        four, total = np.ones(4), np.empty(4)
        times = {
            "barrier": microseconds(comm.barrier, comm, 300),
            "allreduce, 32 bytes": microseconds(lambda: comm.allreduce(four, total), comm, 300),
            "allgatherv, 960 KB": microseconds(lambda: comm.allgatherv(mine, everybodys, counts), comm, 10),
            "gather region, 960 KB": microseconds(publish, comm, 10),
            "broadcast, 960 KB": microseconds(lambda: comm.broadcast(everybodys), comm, 10),
        }
    return {
        "group": str(comm.topology),
        "sum": float(np.add.accumulate(everybodys)[-1]),  # from the first number to the last
        "largest": float(largest[0]),
        "digest": hashlib.sha256(everybodys.tobytes() + largest.tobytes()).hexdigest()[:12] if same else "",
        "times": times,
    }


def main() -> None:
    """Run it on one, two and four processes and compare."""
    runs = {1: run_ranks(work, 1, backend="local"), 2: run_ranks(work, 2), 4: run_ranks(work, 4)}
    first = runs[1][0]
    console = Console()

    results = Table(title="One program, three groups", title_justify="left")
    for heading in ("group", "sum", "largest", "digest on every rank", "same bits"):
        results.add_column(heading)
    for ranks in runs.values():
        answers = {(rank["sum"], rank["largest"], rank["digest"]) for rank in ranks}
        same = answers == {(first["sum"], first["largest"], first["digest"])}
        results.add_row(
            ranks[0]["group"].replace(" on 1 host", ""),
            repr(ranks[0]["sum"]),
            repr(ranks[0]["largest"]),
            ", ".join(sorted({rank["digest"] for rank in ranks})),
            "yes" if same else "NO",
        )
        if not same:
            raise SystemExit("the bits differ: this must never happen")
    console.print(results)

    costs = Table(title="Microseconds per call, best of five", title_justify="left")
    costs.add_column("call")
    for ranks in runs.values():
        costs.add_column(ranks[0]["group"].replace(" on 1 host", ""), justify="right")
    for call in first["times"]:
        costs.add_row(call, *(f"{ranks[0]['times'][call]:.2f}" for ranks in runs.values()))
    console.print(costs)
    console.print("With more ranks than cores a call takes as long as the ranks take turns.")


if __name__ == "__main__":
    main()
