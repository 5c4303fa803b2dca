"""Interface of checks, and a runner for a group that exists already."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from cobre.comm.contract import BackendCommunicator, Communicator


class RunRanks(Protocol):
    """Runs ``body(comm, *args)`` on every rank of a fresh group; returns the results in rank order."""

    def __call__(self, body: Callable[..., Any], /, *args: Any) -> list[Any]: ...


class Check(Protocol):
    """A promise and how to put it to the test; raises if it is broken."""

    __name__: str

    def __call__(self, run_ranks: RunRanks, /) -> None: ...


class GroupRunner:
    """Runs checks in a group that exists already: every rank makes one and calls the same checks.

    This is how ranks that something else started (mpiexec, srun, `cobre launch`) check themselves:
    all of them see all results, so all of them come to the same verdict. Each body gets a fresh
    communicator; results travel over another one that no check can damage.
    """

    def __init__(self, connect: Callable[[], BackendCommunicator]) -> None:
        self._connect = connect
        self._control = connect()

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self._control.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._control.size

    def __call__(self, body: Callable[..., Any], /, *args: Any) -> list[Any]:
        """Run ``body(comm, *args)`` here while the other ranks do the same; return all results."""
        try:
            with self._connect() as comm:
                outcome = (True, body(comm, *args))
        except Exception as exc:  # noqa: BLE001  it is raised again below, on every rank
            outcome = (False, exc)
        outcomes = _gather_objects(self._control, outcome)
        for rank, (succeeded, value) in enumerate(outcomes):
            if not succeeded:
                value.add_note(f"on rank {rank}")
                raise value
        return [value for _, value in outcomes]

    def close(self) -> None:
        """Leave the group."""
        self._control.close()


def _gather_objects(comm: Communicator, mine: Any) -> list[Any]:
    part = np.frombuffer(pickle.dumps(mine), np.uint8)
    lengths = np.empty(comm.size, np.int64)
    comm.allgatherv(np.array([len(part)], np.int64), lengths, [1] * comm.size)
    parts = np.empty(lengths.sum(), np.uint8)
    comm.allgatherv(part, parts, lengths.tolist())
    pieces = np.split(parts, np.cumsum(lengths)[:-1])
    return [pickle.loads(piece.tobytes()) for piece in pieces]  # noqa: S301  the ranks trust each other
