"""Execution of a task by ranks: those of a communicator, worker processes, or this process alone.

A task is called once on every rank, with a `RankContext`. Worker processes are started once per task, however
many phases it has, and do what the ranks of an MPI job do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from cobre.comm import BackendCommunicator, LocalConfig, create_communicator, run_ranks
from cobre.comm.launch import Parent, deferred_signals, interrupt_on_sigterm, require_startable
from cobre.errors import BackendError, CobreError, CommError, InvalidProblem, WorkerError
from cobre.sddp._delivery import EventDelivery
from cobre.sddp.events import Event, Listener

Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class ExecutionOptions:
    """Ranks and threads of a run. Results have the same bits whatever they are.

    Attributes:
        num_workers: worker processes to start; None to use ``comm`` or this process alone.
        backend: communication backend of the workers: ``"shm"`` or ``"tcp"``.
        threads: solver threads of each rank.
        grace_period_s: seconds in which workers may save their work once one has failed or the run is
            interrupted.
        comm: communicator of ranks that exist already; every rank makes the same call.
    """

    num_workers: int | None = None
    backend: str = "shm"
    threads: int = 1
    grace_period_s: float = 30.0
    comm: BackendCommunicator | None = None

    def check(self) -> None:
        """Refuse options that cannot be carried out, before anything is written or started.

        Raises:
            InvalidProblem: a number is out of range.
            ValueError: both ``comm`` and ``num_workers`` are given.
            BackendError: workers cannot be started by this backend from this process.
        """
        self.check_numbers()
        if self.num_workers is not None:
            require_startable(self.backend, self.num_workers)

    def check_numbers(self) -> None:
        """Refuse numbers that are out of range.

        Raises:
            InvalidProblem: one is.
            ValueError: both ``comm`` and ``num_workers`` are given.
        """
        for name in ("num_workers", "threads"):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or number < 1):
                raise InvalidProblem([f"{name} is {number!r}; it must be a whole number, at least 1"])
        if self.comm is not None and self.num_workers is not None:
            raise ValueError("give comm, to use ranks that exist, or num_workers, to start some; not both")


@dataclass(frozen=True, eq=False)
class RankContext:
    """One rank of a run.

    Attributes:
        comm: connects it with the other ranks.
        threads: its solver threads.
        listeners: called with each event; only rank 0 has any.
        parent: the process that started it, if it is a worker.
    """

    comm: BackendCommunicator
    threads: int = 1
    listeners: Sequence[Listener] = ()
    parent: Parent | None = None

    @property
    def is_root(self) -> bool:
        """True on rank 0, which writes files and emits events for all."""
        return self.comm.rank == 0

    def emit(self, event: Event) -> None:
        """Call the listeners."""
        for listener in self.listeners:
            listener(event)

    def await_root(self) -> None:
        """Wait until rank 0 makes this call. Workers wait on their channels, which have no timeout."""
        if self.parent is None:
            self.comm.barrier()
        elif not self.is_root:
            self.parent.wait()
        else:
            with deferred_signals():  # half a message would make the rest of the channel unreadable
                self.parent.release()

    def work_is_saved(self) -> None:
        """From now on the failure of one worker ends the others at once: they have nothing to save."""
        if self.parent is not None and self.is_root:
            with deferred_signals():
                self.parent.work_is_saved()


class RankTask(Protocol[Result_co]):
    """Work of all ranks together. It is sent to workers, so it can be pickled."""

    def __call__(self, context: RankContext, /) -> Result_co:
        """Do this rank's part; a collective. The result of rank 0 is the result of the run."""


def execute(
    task: RankTask[Result_co], options: ExecutionOptions, listeners: Sequence[Listener] | Listener = ()
) -> Result_co:
    """Call a task on all ranks; return the result of rank 0, or of this rank of a communicator.

    Listeners are called in this process, wherever rank 0 is.

    Raises:
        WorkerError: a worker failed; a `CobreError` that a task itself has raised comes as it is.
    """
    options.check_numbers()
    listeners = (listeners,) if callable(listeners) else tuple(listeners)
    if options.num_workers is not None:
        return _on_workers(task, options.num_workers, options, listeners)
    if (comm := options.comm) is not None:
        return task(RankContext(comm, options.threads, listeners if comm.rank == 0 else ()))
    with create_communicator(LocalConfig()) as alone:
        return task(RankContext(alone, options.threads, listeners))


def _on_workers(
    task: RankTask[Result_co], size: int, options: ExecutionOptions, listeners: Sequence[Listener]
) -> Result_co:
    try:
        with EventDelivery(listeners) as delivery:
            results: list[Any] = run_ranks(
                _as_worker,
                size,
                backend=options.backend,
                args=(task, options.threads, bool(listeners)),
                grace_period_s=options.grace_period_s,
                on_message=lambda _, event: delivery.put(event),
            )
    except WorkerError as error:
        inner = error.inner
        if isinstance(inner, CobreError) and not isinstance(inner, CommError | BackendError):
            raise inner from None  # as it would be without workers; its note names the rank
        raise
    result: Result_co = results[0]
    return result


def _as_worker(
    comm: BackendCommunicator, parent: Parent, task: RankTask[Result_co], threads: int, with_events: bool
) -> Result_co | None:
    interrupt_on_sigterm()
    listeners = (partial(_send, parent),) if with_events and comm.rank == 0 else ()
    result = task(RankContext(comm, threads, listeners, parent))
    return result if comm.rank == 0 else None


def _send(parent: Parent, event: Event) -> None:
    with deferred_signals():  # half a message would make the rest of the channel unreadable
        parent.send(event)
