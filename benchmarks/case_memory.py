"""Memory of each worker that trains a case of 160 plants and 120 stages.

``python benchmarks/case_memory.py [--workers 2] [--iterations 1] [--small]``

*unique* is what no other process has, *share* adds its part of what several have (PSS). A worker is looked at
when its modules are imported, when the case has arrived, and after each iteration.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from _big_case import write_big_case
from _sddp_memory import memory

from cobre.comm import BackendCommunicator, run_ranks
from cobre.sddp import IterationFinished, RankContext, TrainingTask
from cobre.sddp.stopping import StoppingRule
from cobre.study import Study

SMALL = {"hydros": 16, "thermals": 12, "stages": 12}


@dataclass(frozen=True)
class Looking(StoppingRule):
    """Looks at the memory of this rank after every iteration: a rule is asked on all ranks."""

    limit: int
    comm: Any = None
    seen: Any = None

    def reached(self, progress: Any) -> str | None:
        """Look; stop at the limit."""
        if len(self.seen) < progress.iteration + 1:
            self.seen.append(look(self.comm))
        return "enough" if progress.iteration >= self.limit else None


def look(comm: BackendCommunicator) -> dict[str, float]:
    """Return this rank's memory in MB while all ranks hold theirs."""
    comm.barrier()
    found = memory()
    comm.barrier()
    return found


def imports(comm: BackendCommunicator) -> dict[str, float]:
    """Return the memory of a rank that has no case yet."""
    return look(comm)


def train(comm: BackendCommunicator, task: TrainingTask, iterations: int) -> list[dict[str, float]]:
    """Train; return this rank's memory before, and after each iteration."""
    seen = [look(comm)]
    log: list[IterationFinished] = []
    replace(task, rule=Looking(iterations, comm, seen))(RankContext(comm), log)
    return seen


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=1)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        task = Study.load(write_big_case(Path(scratch), **(SMALL if given.small else {}))).training()
    empty = run_ranks(imports, given.workers)
    found = run_ranks(train, given.workers, args=(task, given.iterations))
    labels = ["imported", "case arrived", *(f"iteration {i + 1}" for i in range(given.iterations))]
    print("MB per worker     unique   share")
    for label, ranks in zip(labels, [empty, *zip(*found, strict=True)], strict=True):
        own, share = (max(rank[name] for rank in ranks) for name in ("own", "share"))
        print(f"{label:<15} {own:>8.0f} {share:>7.0f}")


if __name__ == "__main__":
    main()
