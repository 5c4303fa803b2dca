"""Tasks and recorders that workers import."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from cobre.sddp import CheckpointWritten


@dataclass(frozen=True)
class EmitsAndFails:
    """Emits events without end on rank 0; a rank dies once some are out."""

    died: Path
    victim: int

    def __call__(self, context):
        for number in range(1_000_000):
            context.emit(CheckpointWritten("x" * 100, number))
            context.comm.barrier()
            if number == 100 and context.comm.rank == self.victim:
                die(self.died)


@dataclass(frozen=True)
class DiesWhileAnotherIsBusy:
    """A recorder: rank 0 is busy for longer than the grace period, the last rank dies."""

    died: Path

    def __call__(self, visits):
        if 0 in visits[0].trajectories:
            time.sleep(20)
        else:
            die(self.died)


def phases(context):
    """Two phases with a root that takes longer between them than ranks wait in a collective."""
    if context.is_root:
        time.sleep(3.0)
    context.await_root()
    context.comm.barrier()
    if context.is_root:
        time.sleep(2.5)
    context.await_root()
    return context.comm.size


def die(note):
    if not note.exists():  # the first death counts
        note.touch()
    os.kill(os.getpid(), signal.SIGKILL)
