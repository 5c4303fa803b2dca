"""Execution of a task by ranks: those of a communicator, worker processes, or this process alone.

A task is called once on every rank, with a `RankContext`. Worker processes are started once per task, however
many phases it has, and do what the ranks of an MPI job do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from cobre.comm import (
    BackendCommunicator,
    BackendConfig,
    LocalConfig,
    ThreadChoice,
    agree_on_threads,
    backend_of_workers,
    choose_threads,
    create_communicator,
    refuse_to_run_alone,
    run_ranks,
)
from cobre.comm.launch import Parent, deferred_signals, interrupt_on_sigterm, require_startable
from cobre.errors import (
    BackendError,
    CobreError,
    CommError,
    InitializationFailed,
    InvalidProblem,
    WorkerError,
)
from cobre.logs import logger
from cobre.lp import DefaultFloatEnvironment
from cobre.sddp._agreement import from_root, require_same, together
from cobre.sddp._delivery import EventDelivery
from cobre.sddp.events import Event, Listener

_log = logger(__name__)

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class ExecutionOptions:
    """Ranks and threads of a run. Results have the same bits whatever they are.

    Attributes:
        num_workers: worker processes to start; None to use ``comm``, a group, or this process alone.
        backend: communication backend of the workers or of the group; ``"auto"`` for that of the environment.
        threads: solver threads of each rank; None for those that `cobre.comm.choose_threads` chooses.
        grace_period_s: seconds in which workers may save their work once one has failed or the run is
            interrupted.
        comm: communicator of ranks that exist already; every rank makes the same call.
        group: configuration of a group to join.
    """

    num_workers: int | None = None
    backend: str = "auto"
    threads: int | None = None
    grace_period_s: float = 30.0
    comm: BackendCommunicator | None = None
    group: BackendConfig | None = None

    def check(self) -> None:
        """Refuse options that cannot be carried out, before anything is written or started.

        Raises:
            InvalidProblem: a number is out of range.
            ValueError: both ``comm`` and ``num_workers`` are given.
            BackendError: workers cannot be started by this backend from this process.
        """
        self.check_numbers()
        if self.num_workers is not None:
            require_startable(backend_of_workers(self.num_workers, self.backend), self.num_workers)

    def together(self, prepare: Callable[[], Result]) -> Result:
        """Return what ``prepare`` returns, on all ranks that exist; if one of them cannot, raise on all.

        Raises:
            InitializationFailed: another rank cannot, and why. This rank's own exceptions come as they are.
        """
        self.check_numbers()
        return prepare() if self.comm is None else together(self.comm, prepare)

    def from_root(self, text: str) -> str:
        """Return rank 0's text, on all ranks that exist."""
        return text if self.comm is None else from_root(self.comm, text)

    def check_numbers(self) -> None:
        """Refuse numbers that are out of range, variables included.

        Raises:
            InvalidProblem: one is.
            ValueError: both ``comm`` and ``num_workers`` are given.
            InitializationFailed: a group is given, and another backend or workers too.
        """
        workers = self.num_workers
        if workers is not None and (not isinstance(workers, int) or workers < 1):
            raise InvalidProblem([f"num_workers is {workers!r}; it must be a whole number, at least 1"])
        choose_threads(self.threads)
        if self.comm is not None and self.num_workers is not None:
            raise ValueError("give comm, to use ranks that exist, or num_workers, to start some; not both")
        if (group := self.group) is not None:
            several = workers is not None and workers > 1
            other = f"num_workers is {workers}" if several else f"backend is {self.backend!r}"
            if several or self.backend not in ("auto", group.backend):
                reason = f"coordinator, rank and size describe a group to join, but {other}; leave one out"
                raise InitializationFailed(group.backend, reason, kind="IncompatibleSettings")


@dataclass(frozen=True, eq=False)
class RankContext:
    """One rank of a run.

    Attributes:
        comm: connects it with the other ranks.
        threads: its solver threads.
        listeners: called with each event; only rank 0 has any.
        parent: the process that started it, if it is a worker.
        threads_reason: for this number of threads.
    """

    comm: BackendCommunicator
    threads: int = 1
    listeners: Sequence[Listener] = ()
    parent: Parent | None = None
    threads_reason: str = ""

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
    task: RankTask[Result_co],
    options: ExecutionOptions,
    listeners: Sequence[Listener] | Listener = (),
    facts: Callable[[], Mapping[str, Any]] = dict,
) -> Result_co:
    """Call a task on all ranks; return the result of rank 0, or of this rank of a communicator.

    Args:
        task: to call.
        options: which ranks.
        listeners: called in this process, wherever rank 0 is.
        facts: what decides the bits of the result, by name; ranks of a communicator compare it first.

    Raises:
        WorkerError: a worker failed; a `CobreError` that a task itself has raised comes as it is.
        InitializationFailed: facts or versions differ between ranks, raised on all of them; or this process
            was asked to be one of several ranks, and is to run alone.
    """
    options.check_numbers()
    listeners = (listeners,) if callable(listeners) else tuple(listeners)
    if options.num_workers is not None:  # the same interpreter and the same task: nothing to compare
        return _on_workers(task, options.num_workers, options, listeners)
    if (comm := options.comm) is not None:
        require_same(comm, facts)
        return _on_rank(comm, task, options, listeners)
    refuse_to_run_alone(options.backend)
    with create_communicator(LocalConfig()) as alone:
        return _on_rank(alone, task, options, listeners)


def _on_rank(
    comm: BackendCommunicator,
    task: RankTask[Result_co],
    options: ExecutionOptions,
    listeners: Sequence[Listener],
) -> Result_co:
    chosen = agree_on_threads(comm, options.threads)
    if comm.rank == 0:
        _warn(chosen)
    listeners = listeners if comm.rank == 0 else ()
    return _call(task, RankContext(comm, chosen.count, listeners, threads_reason=chosen.reason))


def _warn(chosen: ThreadChoice) -> None:
    if chosen.warning:
        warnings.warn(chosen.warning, stacklevel=4)


def _call(task: RankTask[Result_co], context: RankContext) -> Result_co:
    """Call a task with the rounding that all ranks have; log its failure, and name the rank in it."""
    rank, size = context.comm.rank, context.comm.size
    try:
        with DefaultFloatEnvironment():
            return task(context)
    except BaseException as error:
        _log.error("ended by %s: %s", type(error).__name__, error)
        if size > 1 and context.parent is None and isinstance(error, Exception):
            error.add_note(f"On rank {rank} of {size}.")
        raise


def _on_workers(
    task: RankTask[Result_co], size: int, options: ExecutionOptions, listeners: Sequence[Listener]
) -> Result_co:
    threads = choose_threads(options.threads, size)
    _warn(threads)
    try:
        with EventDelivery(listeners) as delivery:
            results: list[Any] = run_ranks(
                _as_worker,
                size,
                backend=backend_of_workers(size, options.backend),
                args=(task, threads, bool(listeners)),
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
    comm: BackendCommunicator,
    parent: Parent,
    task: RankTask[Result_co],
    threads: ThreadChoice,
    with_events: bool,
) -> Result_co | None:
    interrupt_on_sigterm()
    listeners = (partial(_send, parent),) if with_events and comm.rank == 0 else ()
    result = _call(task, RankContext(comm, threads.count, listeners, parent, threads.reason))
    return result if comm.rank == 0 else None


def _send(parent: Parent, event: Event) -> None:
    with deferred_signals():  # half a message would make the rest of the channel unreadable
        parent.send(event)
