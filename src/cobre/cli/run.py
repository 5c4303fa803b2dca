"""``cobre run``: train a policy for a case and simulate it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cobre.cli._complete import backend_names, case_folders
from cobre.cli._console import COLOR_HELP, Color
from cobre.cli._exit import launched_here, resumable
from cobre.cli._reporter import Format, RunReporter, reporter_for


def run(  # noqa: PLR0913, PLR0917  the options of a command
    case: Annotated[
        Path,
        typer.Argument(metavar="CASE", help="Case folder, with config.json.", autocompletion=case_folders),
    ],
    workers: Annotated[
        int,
        typer.Option(
            "-w",
            "--workers",
            metavar="N",
            min=1,
            help="Number of worker processes (1 runs in this process).",
        ),
    ] = 1,
    backend: Annotated[
        str,
        typer.Option(
            help="Communication backend: auto, shm or tcp; see cobre comm info.",
            autocompletion=backend_names,
        ),
    ] = "auto",
    threads: Annotated[
        int,
        typer.Option("-t", "--threads", metavar="N", min=1, help="Threads per worker."),
    ] = 1,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume from the last checkpoint in the output folder."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Output folder; default: CASE/output.",
        ),
    ] = None,
    output_format: Annotated[
        Format,
        typer.Option(
            "-f",
            "--output-format",
            help="Text for people, JSON at the end, or a line of JSON per event.",
        ),
    ] = "human",
    quiet: Annotated[
        bool,
        typer.Option("-q", "--quiet", help="Print warnings and errors only."),
    ] = False,
    color: Annotated[Color, typer.Option(help=COLOR_HELP)] = "auto",
) -> None:
    """Train a policy for a case and simulate it; results are written to a folder.

    Example: cobre run my_case --workers 4

    Results have the same bits for any workers, threads and backend. Under mpiexec, srun or cobre launch it
    runs on the ranks started there: mpiexec -n 8 cobre run my_case. Ctrl-C and SIGTERM save finished
    iterations, from which --resume continues; a second Ctrl-C ends at once.

    Exits with 0 on success, 1 for an invalid case, 2 for incompatible options, 3 if a file cannot be read or
    written, 4 if a programme cannot be solved, 5 if a worker failed, 130 after Ctrl-C, 143 after SIGTERM.
    """
    from cobre import study  # noqa: PLC0415  slow import
    from cobre.sddp import ExecutionOptions  # noqa: PLC0415
    from cobre.study import checkpoint_in, output_folder  # noqa: PLC0415

    options = {
        "--workers": (workers, 1),
        "--backend": (backend, "auto"),
        "--threads": (threads, 1),
        "--output": (output, None),
        "--output-format": (output_format, "human"),
        "--quiet": (quiet, False),
        "--color": (color, "auto"),
    }
    resume_command = shlex.join(["cobre", "run", str(case), *_given(options), "--resume"])
    is_root = launched_here().rank == 0
    reporter = reporter_for(output_format, quiet=quiet, color=color, is_root=is_root)
    with _reported(reporter):
        loaded = study.CaseLoader.load(case)
        reporter.introduce(loaded)
        if is_root:
            _warn_of_idle_workers(workers, loaded.config.training.forward_passes)
    folder = output_folder(loaded, output)
    checkpoint = checkpoint_in(folder, loaded)
    with (
        resumable(checkpoint, resume_command),
        _reported(reporter, checkpoint, resume_command),
        reporter.listening() as listeners,
    ):
        execution = ExecutionOptions(workers, backend, threads)
        done = study.run_case(loaded, execution, output=folder, resume=resume, listeners=listeners)
    reporter.finished(loaded, done)


@contextmanager
def _reported(reporter: RunReporter, checkpoint: Path | None = None, command: str = "") -> Iterator[None]:
    """Report a failure, with the command that resumes the run if there is a checkpoint."""
    try:
        yield
    except BaseException as error:
        reporter.failed(error, command if checkpoint is not None and checkpoint.exists() else None)
        raise


def _given(options: dict[str, tuple[object, object]]) -> list[str]:
    """Options that differ from their defaults, as command-line arguments."""
    given = [(name, value) for name, (value, usual) in options.items() if value != usual]
    return [part for name, value in given for part in ((name,) if value is True else (name, str(value)))]


def _warn_of_idle_workers(workers: int, trajectories: int) -> None:
    idle = workers - trajectories
    if idle > 0:
        reason = (
            f"training.forward_passes is {trajectories}, so {idle} of {workers} workers are idle in training"
        )
        typer.echo(f"warning: {reason}; use --workers {trajectories}", err=True)
