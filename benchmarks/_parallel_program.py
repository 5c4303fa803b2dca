"""One training of a case folder in an interpreter of its own; prints what it took as JSON.

``python _parallel_program.py FOLDER ITERATIONS WAY``, where WAY is ``one``, ``threads`` or ``workers``.
"""

import hashlib
import json
import sys
from typing import Any

from cobre.sddp import train
from cobre.study import Study

WAYS: dict[str, dict[str, Any]] = {
    "one": {"threads": 1, "backend": "local"},
    "threads": {"threads": 2, "backend": "local"},
    "workers": {"num_workers": 2, "threads": 1, "backend": "shm"},
}


def main() -> None:
    """Train as the command line says."""
    folder, iterations, way = sys.argv[1:]
    study = Study.load(folder)
    passes = study.case.config.training.forward_passes
    trained = train(study.problem, int(iterations), trajectories=passes, **WAYS[way])
    taken, whole = trained.statistics, hashlib.sha256(trained.bounds.tobytes())
    for name in sorted(trained.policy.records):
        whole.update(trained.policy.records[name].cuts.tobytes())
    report = {
        "seconds": trained.seconds,
        "solves": taken.solves,
        "solver_s": taken.solver_s,
        "solving_s": taken.solving_s,
        "bits": whole.hexdigest(),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
