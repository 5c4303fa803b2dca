"""What starting ranks costs beside the least it could: as many bare interpreters that import NumPy.

Both are measured in turn, so that whatever else the machine does meets both alike; the best of all rounds
counts. The target for the ratio is 1.5. It says nothing about what ranks do afterwards.
"""

from __future__ import annotations

import subprocess
import sys
import time
from operator import attrgetter
from typing import Any

import harness
from rich.table import Table

from cobre.comm import run_ranks
from cobre.comm.launch import run_command

RANKS = 4
LIMIT = 1.5


def bare_interpreters(ranks: int) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", "import numpy"]) for _ in range(ranks)]
    for process in processes:
        assert process.wait() == 0


def commands(ranks: int, shim: bool) -> None:
    """The price of ``cobre launch`` beside starting the command itself."""
    if shim:
        assert run_command(["true"], [{}] * ranks, prefix=False) == 0
    else:
        for process in [subprocess.Popen(["true"]) for _ in range(ranks)]:
            assert process.wait() == 0


def functions(ranks: int, backend: str) -> None:
    assert run_ranks(attrgetter("size"), ranks, backend=backend) == [ranks] * ranks


def best_of(rounds: int, **jobs) -> dict[str, float]:
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            begun = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - begun)
    return best


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; one row per way of starting processes."""
    with harness.Neighbours() as neighbours:
        best = best_of(
            3 if quick else 15,
            bare=lambda: bare_interpreters(RANKS),
            run_ranks=lambda: functions(RANKS, "shm"),
            direct=lambda: commands(RANKS, shim=False),
            launch=lambda: commands(RANKS, shim=True),
        )
    return {
        "ranks": RANKS,
        "seconds": best,
        "ratio": best["run_ranks"] / best["bare"],
        "limit": LIMIT,
        "shim_seconds_per_rank": (best["launch"] - best["direct"]) / RANKS,
        "others_cpu_percent": neighbours.percent,
    }


def tables(result: dict[str, Any]) -> list[Table]:
    """Show times, and the two comparisons."""
    table = Table(title=f"starting {result['ranks']} processes, best round")
    table.add_column("what")
    table.add_column("ms", justify="right")
    table.add_column("comparison")
    mark = " !" if result["ratio"] > result["limit"] else ""
    remarks = {
        "bare": ("interpreters that import NumPy", ""),
        "run_ranks": ("run_ranks on shm", f"{result['ratio']:.2f} of that, target {result['limit']}{mark}"),
        "direct": ("`true`", ""),
        "launch": ("`true`, by launch", f"{1e3 * result['shim_seconds_per_rank']:.1f} ms more per rank"),
    }
    for name, (what, comparison) in remarks.items():
        table.add_row(what, f"{1e3 * result['seconds'][name]:.1f}", comparison)
    return [table]
