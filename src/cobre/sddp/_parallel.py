"""Where a run takes place: here, on a communicator, or in processes that are started for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cobre.comm import BackendCommunicator, LocalConfig, create_communicator, run_ranks
from cobre.sddp._relay import Address, Relay, connect
from cobre.sddp.events import Listener

Result = TypeVar("Result")
Run = Callable[[BackendCommunicator, Sequence[Listener]], Result]


def on_ranks(
    run: Run[Result],
    comm: BackendCommunicator | None,
    num_workers: int | None,
    backend: str,
    listeners: Sequence[Listener],
) -> Result:
    """Call ``run(comm, listeners)`` where it is to take place; return the result of rank 0.

    Listeners are called in this process, wherever rank 0 is.
    """
    if comm is not None and num_workers is not None:
        raise ValueError("give comm, to use ranks that are there, or num_workers, to start some; not both")
    if comm is not None:
        return run(comm, listeners)
    if num_workers is None:
        with create_communicator(LocalConfig()) as alone:
            return run(alone, listeners)
    with Relay(listeners) as relay:
        result: Result = run_ranks(_on_a_rank, num_workers, backend=backend, args=(run, relay.address))[0]
    return result


def _on_a_rank(comm: BackendCommunicator, run: Run[Result], address: Address | None) -> Result | None:
    if comm.rank != 0:
        run(comm, ())
        return None
    with connect(address) as sender:
        return run(comm, () if address is None else (sender,))
