"""End of a command: error message and exit code, and an orderly end on signals."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from cobre import errors
from cobre.errors import (
    BackendError,
    CobreError,
    CommError,
    OutputError,
    SolverError,
    ValidationError,
    WorkerError,
)

if TYPE_CHECKING:
    from cobre.comm import LaunchedRank

#: Exit codes of errors; all others, such as incompatible options, have 2.
EXIT_CODES: tuple[tuple[type[CobreError], int], ...] = (
    (ValidationError, 1),
    (errors.IOError, 3),
    (SolverError, 4),
    (WorkerError, 5),
    (CommError, 5),
)

#: Time that other ranks leave to rank 0 to print its message before they print theirs and exit.
PATIENCE_S = 5.0


def launched_here() -> LaunchedRank:
    """Return the rank as which a launcher started this process, 0 of 1 outside of a group."""
    from cobre.comm import LaunchedRank, launched_rank  # noqa: PLC0415  imports NumPy

    try:
        launched = launched_rank()
    except BackendError:  # it will be raised again where the group is joined
        launched = None
    return launched or LaunchedRank("local", 0, 1)


@contextmanager
def resumable(checkpoint: Path, command: str) -> Iterator[None]:
    """End in order on SIGTERM and Ctrl-C, with the command that resumes the run.

    Schedulers signal all ranks. Rank 0, which saves the run, acts on it; the others stay until it has,
    because it could not save anything while it waits for one that has left.
    """
    from cobre.comm.launch import terminated_in_order  # noqa: PLC0415  imports NumPy

    written = _written(checkpoint)
    with terminated_in_order(ignored=launched_here().rank != 0):
        try:
            yield
        except KeyboardInterrupt as interrupt:
            typer.echo(_interrupted(checkpoint, command, _written(checkpoint) != written), err=True)
            leave(exit_code_of(interrupt))


def given_options(options: Mapping[str, tuple[object, object]]) -> list[str]:
    """Options that differ from their defaults, as command-line arguments: for the command that resumes."""
    given = [(name, value) for name, (value, usual) in options.items() if value != usual]
    return [part for name, value in given for part in ((name,) if value is True else (name, str(value)))]


def _written(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.exists() else None


def _interrupted(checkpoint: Path, command: str, saved: bool) -> str:
    if saved:
        return f"interrupted; finished iterations are saved in {checkpoint}\nresume with: {command}"
    if checkpoint.exists():
        return f"interrupted; resume with: {command}"
    return "interrupted before the first checkpoint"


def end(error: CobreError) -> NoReturn:
    """Print the error, unless rank 0 does that for all ranks, and exit."""
    rank = launched_here().rank
    if rank != 0 and not isinstance(error, OutputError | SolverError):
        time.sleep(PATIENCE_S)  # launchers end all ranks when one exits, and rank 0 prints first
    if rank == 0:
        typer.echo(f"error: {error}", err=True)
    elif not error.reported_by_root:
        typer.echo(f"error on rank {rank}: {error}", err=True)
    leave(exit_code(error))


def note_rank(error: Exception) -> None:
    """Add the rank of this process to an exception whose traceback Python will print."""
    if (launched := launched_here()).size > 1 and not getattr(error, "__notes__", None):
        error.add_note(f"On rank {launched.rank} of {launched.size}.")


def leave(code: int) -> NoReturn:
    """Exit. Other ranks of an MPI job would not notice, so the job is aborted."""
    if "mpi4py.MPI" in sys.modules:
        from cobre.comm.mpi import abort_job  # noqa: PLC0415  loaded already under MPI

        abort_job(code)
    sys.exit(code)


def exit_code_of(error: BaseException) -> int:
    """Exit code for an exception that ended a command."""
    if isinstance(error, KeyboardInterrupt):
        from cobre.comm.launch import Terminated  # noqa: PLC0415  imports NumPy

        return 128 + (error.args[0] if isinstance(error, Terminated) else int(signal.SIGINT))
    return exit_code(error) if isinstance(error, CobreError) else 1


def exit_code(error: CobreError) -> int:
    """Exit code of an error."""
    inner = error.inner if isinstance(error, WorkerError) else None
    if isinstance(inner, CobreError):
        return exit_code(inner)
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 2)
