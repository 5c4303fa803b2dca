"""Starting ranks on this machine: a function on every rank, or a command.

`run_ranks` and `run_command` say what to start and what its end means. `cobre.comm.launch._processes` looks
after the processes; `cobre.comm.launch._worker` is the code that runs in them first.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from cobre.comm.launch._guard import WORKER
from cobre.comm.launch._payload import payload, refuse_to_start
from cobre.comm.launch._processes import ProcessGroup, RankProcess
from cobre.comm.launch._signals import SignalWatch
from cobre.comm.registry import load
from cobre.comm.selection import BACKEND_VARIABLE
from cobre.errors import WorkerError
from cobre.logs import logger

_log = logger(__name__)


class Parent(Protocol):
    """A rank's connection to the process that started it by `run_ranks`."""

    def send(self, message: object) -> None:
        """Send a message, which is pickled, to the parent's ``on_message``. Defer signals meanwhile.

        An exception that a signal raises in the middle would tear the message: see `deferred_signals`.
        """

    def release(self) -> None:
        """Let every other rank return from one `wait`, its next if it has not begun."""

    def work_is_saved(self) -> None:
        """From now on, if a rank fails, end the others without the grace period: none has work to save."""

    def wait(self) -> None:
        """Wait until another rank has called `release`. Other than in a collective there is no time limit.

        Raises:
            CollectiveFailed: a rank has failed.
        """


def run_ranks(  # noqa: PLR0913  four of them are for special occasions
    fn: Callable[..., Any],
    size: int,
    *,
    backend: str = "shm",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
    env: Mapping[str, str] | None = None,
    grace_period_s: float = 0.0,
    on_message: Callable[[int, Any], None] | None = None,
) -> list[Any]:
    """Call ``fn(comm, *args, **kwargs)`` on every rank of a fresh group; return the results in rank order.

    Each rank is a process of its own on this machine, with a fresh interpreter. What the ranks print
    appears here line by line, marked with the rank: ``[2] text``.

    When a rank fails, the others are ended too, and the rank that failed first is reported. Ctrl-C
    and SIGTERM reach the ranks before they take effect here. When this process ends in any way,
    SIGKILL included, the ranks end with it, and on Linux they also end with the calling thread. Whatever
    ranks have started in their process groups ends with the run, however that ends.

    Args:
        fn: a function that other processes can import: defined at the top level of a module or of
            the script. A script is then imported again by every rank, so what it does when it
            is run belongs under ``if __name__ == "__main__":``.
        size: the number of ranks.
        backend: the name of a backend that can start ranks on this machine.
        args: further arguments of ``fn``; they and the results are pickled.
        kwargs: keyword arguments of ``fn``.
        timeout_s: how long the whole run may take; no limit if None.
        env: variables for the ranks beside those of this process; the group's own take precedence.
        grace_period_s: how long ranks may take to end by themselves, to save their work for instance, once
            one has failed or a signal has come; they always have about a second. A second Ctrl-C ends them.
        on_message: called with the rank and each message that it sends, in the order sent. The function is
            then called as ``fn(comm, parent, *args, **kwargs)``, with a `Parent` to send by. It is called in
            the thread that waits for the ranks: while it is at work, nothing that ranks do is noticed.

    Raises:
        WorkerError: a rank raised, exited, was killed, or ran for too long.
        TypeError: the function or an argument cannot be sent to other processes; nothing was started.
        InitializationFailed: ranks cannot be started this way; nothing was started.
        BackendNotAvailable: the backend cannot run here.
        InvalidBackend: no backend has that name.

    >>> from operator import attrgetter
    >>> run_ranks(attrgetter("rank", "size"), 1, backend="local")
    [(0, 1)]
    """
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # -O, -W, -X, ...
    worker = [sys.executable, *flags, "-P", WORKER, "call", str(os.getpid())]
    task = payload(backend, fn, tuple(args), dict(kwargs or {}), takes_parent=on_message is not None)
    fresh = group_environments(backend, size, env)
    with (
        fresh as environments,
        task as file,
        SignalWatch() as signals,
        ProcessGroup(signals, grace_period_s, grace_period_s, on_message) as group,
    ):
        _log.info("starts %d ranks of %s", size, backend)
        for variables in environments:
            group.start([*worker, str(group.guard.fd)], {**os.environ, **variables}, payload=file)
        culprit = group.wait(timeout_s)
    signals.follow()
    if culprit is not None:
        failure = _failure(culprit, group.timed_out, timeout_s)
        _log.error("%s", failure)
        raise failure
    return [_result(rank) for rank in group.ranks]


def require_startable(backend: str, size: int) -> None:
    """Raise the error of `run_ranks` if it cannot start so many ranks from this process; start none."""
    refuse_to_start(backend)
    with group_environments(backend, size):
        pass


def run_command(
    command: Sequence[str],
    environments: Sequence[Mapping[str, str]],
    *,
    timeout_s: float | None = None,
    grace_period_s: float = 0.0,
    prefix: bool = True,
) -> int:
    """Run a command once per environment, as the ranks of a group; return an exit code.

    Failures, signals and the end of this process are dealt with as in `run_ranks`.

    Args:
        command: the program and its arguments.
        environments: per rank, variables beside those of this process; see `group_environments`.
        timeout_s: how long the whole run may take; no limit if None.
        grace_period_s: how long ranks may take to end by themselves, to save their work for instance, once a
            signal has come; a second one ends them at once.
        prefix: whether to pass on what ranks print in whole lines marked with the rank; otherwise
            they write to this process's stdout and stderr themselves.

    Returns:
        0 if all ranks exit with 0; else the exit code of the first that does not, or 128 and the
        number of the signal that killed it or came to us (130 for Ctrl-C); 124 when the time is up.

    >>> run_command(["sh", "-c", "exit $CODE"], [{"CODE": "0"}, {"CODE": "3"}], prefix=False)
    3
    """
    shim = [sys.executable, "-I", "-S", WORKER, "exec", str(os.getpid())]
    # To a pipe Python writes when it has a few thousand bytes together; at a terminal it would not wait.
    unbuffered = {"PYTHONUNBUFFERED": "1"} if prefix else {}
    with SignalWatch() as signals, ProcessGroup(signals, grace_period_s) as group:
        for variables in environments:
            start = [*shim, str(group.guard.fd), *command]
            group.start(start, {**unbuffered, **os.environ, **variables}, prefix=prefix)
        culprit = group.wait(timeout_s)
    if signals.received:
        return 128 + signals.received[0]
    if culprit is None:
        return 0
    failure = _failure(culprit, group.timed_out, timeout_s)
    if prefix or failure.exit_code is None:  # else it has said itself what there is to say
        sys.stderr.write(f"error: {failure}\n")
    if failure.signal is not None:
        return 128 + failure.signal
    return 124 if failure.exit_code is None else failure.exit_code


@contextmanager
def group_environments(
    backend: str, size: int, env: Mapping[str, str] | None = None
) -> Iterator[list[dict[str, str]]]:
    """Provide, per rank, the variables of a fresh group on this machine, with ``env`` beside them.

    >>> with group_environments("local", 1, {"OMP_NUM_THREADS": "1"}) as environments:
    ...     environments
    [{'OMP_NUM_THREADS': '1', 'COBRE_COMM_BACKEND': 'local'}]
    """
    if size < 1:
        raise ValueError(f"a group has at least one rank, not {size}")
    shared = {**(env or {}), BACKEND_VARIABLE: backend}
    with load(backend).rank_environments(size) as environments:
        yield [{**shared, **variables} for variables in environments]


def _failure(rank: RankProcess, timed_out: bool, timeout_s: float | None) -> WorkerError:
    if timed_out:
        return WorkerError(rank.number, inner=TimeoutError(f"was still running after {timeout_s:g} s"))
    failure = rank.failure
    if failure is None:
        status = rank.status or 0
        return WorkerError(
            rank.number, status if status >= 0 else None, None, -status if status < 0 else None
        )
    try:
        inner: BaseException = pickle.loads(failure["error"])  # noqa: S301  from our worker
    except Exception as exc:  # noqa: BLE001  whatever the exception's own class raises
        inner = RuntimeError(f"an exception that cannot be rebuilt in the calling process: {exc}")
    inner.add_note(f"On rank {rank.number}:\n{failure['trace'].rstrip()}")
    return WorkerError(rank.number, failure["exit_code"], inner)


def _result(rank: RankProcess) -> Any:
    try:
        return pickle.loads(rank.result or b"")  # noqa: S301  from our worker
    except Exception as exc:
        words = f"the result cannot be rebuilt in the calling process: {exc}"
        raise WorkerError(rank.number, rank.status, TypeError(words)) from exc
