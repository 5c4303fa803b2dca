"""A script that trains, to be interrupted.

``python -m tests.sddp.interrupted STUDY CHECKPOINT BACKEND WORKERS``: it says a line for each
finished iteration. Without workers, it trains in its own process.
"""

import sys

from cobre.sddp import Checkpoint, IterationFinished, train
from tests.sddp.bodies import STUDIES


def say(event):
    if isinstance(event, IterationFinished):
        print(event.iteration, flush=True)  # noqa: T201  what the test waits for


def main():
    study, path, backend, workers = sys.argv[1:]
    own = dict(STUDIES[study].training, stop=10_000)
    train(
        STUDIES[study].problem,
        seed=11,
        **own,
        checkpoint=Checkpoint(path, every=10_000),
        listeners=[say],
        num_workers=int(workers) or None,
        backend=backend,
    )


if __name__ == "__main__":
    main()
