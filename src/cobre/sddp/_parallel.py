"""Where a run takes place: here, on a communicator, or in processes that are started for it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from cobre.comm import BackendCommunicator, LocalConfig, create_communicator, run_ranks
from cobre.errors import BoundError, InvalidProblem, PolicyFileError, SolveError, WorkerError
from cobre.sddp._relay import Address, Relay, connect
from cobre.sddp.events import Listener

#: How long ranks may take to save what is finished, once one has failed or the run is to end.
PATIENCE_S = 30.0

Result_co = TypeVar("Result_co", covariant=True)


class Run(Protocol[Result_co]):
    """Something to be done by all ranks together. It is sent to processes, so it can be pickled."""

    def __call__(self, comm: BackendCommunicator, listeners: Sequence[Listener]) -> Callable[[], Result_co]:
        """Do it, and return what makes the result of it: large, and not every rank has a use for it."""


def on_ranks(
    run: Run[Result_co],
    comm: BackendCommunicator | None,
    num_workers: int | None,
    backend: str,
    listeners: Sequence[Listener] | Listener,
) -> Result_co:
    """Call ``run(comm, listeners)`` where it is to take place; return the result of rank 0.

    Listeners are called in this process, wherever rank 0 is.
    """
    if callable(listeners):
        listeners = (listeners,)
    if comm is not None and num_workers is not None:
        raise ValueError("give comm, to use ranks that are there, or num_workers, to start some; not both")
    if comm is not None:
        return run(comm, listeners)()
    if num_workers is None:
        with create_communicator(LocalConfig()) as alone:
            return run(alone, listeners)()
    try:
        return _on_workers(run, num_workers, backend, listeners)
    except WorkerError as exc:
        if isinstance(exc.inner, InvalidProblem | SolveError | BoundError | PolicyFileError):
            raise exc.inner from None  # as it would be without workers; its note tells the rank
        raise


def _on_workers(
    run: Run[Result_co], num_workers: int, backend: str, listeners: Sequence[Listener]
) -> Result_co:
    with Relay(listeners) as relay:
        result: Result_co = run_ranks(
            _on_a_rank, num_workers, backend=backend, args=(run, relay.address), grace_period_s=PATIENCE_S
        )[0]
    return result


def _on_a_rank(comm: BackendCommunicator, run: Run[Result_co], address: Address | None) -> Result_co | None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the end of work, not the loss of it
    if comm.rank != 0:
        run(comm, ())
        return None
    with connect(address) as sender:
        return run(comm, () if address is None else (sender,))()
