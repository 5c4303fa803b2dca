"""What starting ranks costs beside the least it could: as many bare interpreters that import NumPy.

    python benchmarks/launch.py [--ranks 4] [--backend shm] [--rounds 15]

Both are measured in turn, so that whatever else the machine does meets both alike; the best of all rounds
counts. The ratio may be at most 1.5 (exit code 1 otherwise). It says nothing about what ranks do afterwards.
"""

import argparse
import subprocess
import sys
import time
from operator import attrgetter

from cobre.comm import run_ranks
from cobre.comm._launch import launch

LIMIT = 1.5


def bare_interpreters(ranks: int) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", "import numpy"]) for _ in range(ranks)]
    for process in processes:
        assert process.wait() == 0


def commands(ranks: int, shim: bool) -> None:
    """The price of ``cobre launch`` beside starting the command itself."""
    if shim:
        assert launch(["true"], [{}] * ranks, prefix=False) == 0
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--backend", default="shm")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    ranks = options.ranks

    best = best_of(
        options.rounds,
        bare=lambda: bare_interpreters(ranks),
        run_ranks=lambda: functions(ranks, options.backend),
        direct=lambda: commands(ranks, shim=False),
        launch=lambda: commands(ranks, shim=True),
    )
    ratio = best["run_ranks"] / best["bare"]
    per_rank_ms = 1e3 * (best["launch"] - best["direct"]) / ranks
    rows = [
        ("bare interpreters with NumPy", best["bare"], ""),
        ("run_ranks", best["run_ranks"], f"ratio {ratio:.2f}, limit {LIMIT}"),
        ("`true`, started directly", best["direct"], ""),
        ("`true`, by launch", best["launch"], f"{per_rank_ms:.1f} ms more per rank"),
    ]
    print(f"{ranks} ranks of {options.backend}, best of {options.rounds}")
    for what, seconds, remark in rows:
        print(f"  {what:<30}{1e3 * seconds:7.1f} ms  {remark}")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
