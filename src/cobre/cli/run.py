"""``cobre run``: a case folder, trained and simulated."""

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

WORK, OUTPUT = "Work", "Output"


def run(  # noqa: PLR0913, PLR0917  the options of a command
    case: Annotated[
        Path,
        typer.Argument(
            metavar="CASE", help="The case folder, which holds config.json.", autocompletion=case_folders
        ),
    ],
    workers: Annotated[
        int,
        typer.Option(
            "-w",
            "--workers",
            metavar="N",
            min=1,
            help="Processes to start; 1 starts none.",
            rich_help_panel=WORK,
        ),
    ] = 1,
    backend: Annotated[
        str,
        typer.Option(
            help="How they communicate: auto, shm, tcp; see cobre comm info.",
            rich_help_panel=WORK,
            autocompletion=backend_names,
        ),
    ] = "auto",
    threads: Annotated[
        int,
        typer.Option(
            "-t", "--threads", metavar="N", min=1, help="Threads of each of them.", rich_help_panel=WORK
        ),
    ] = 1,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on from the last checkpoint in the output folder.", rich_help_panel=WORK
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Where to write; CASE/output unless given.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output_format: Annotated[
        Format,
        typer.Option(
            "-f",
            "--output-format",
            help="For people, for programs at the end, or for programs as it happens.",
            rich_help_panel=OUTPUT,
        ),
    ] = "human",
    quiet: Annotated[
        bool,
        typer.Option("-q", "--quiet", help="Say nothing but warnings and errors.", rich_help_panel=OUTPUT),
    ] = False,
    color: Annotated[Color, typer.Option(help=COLOR_HELP, rich_help_panel=OUTPUT)] = "auto",
) -> None:
    """Train a policy for a case and simulate it; everything is written to a folder.

    Example: cobre run my_case --workers 4

    The result has the same bits whatever the workers, threads and backend. Under mpiexec, srun or cobre
    launch it joins the ranks that there are: mpiexec -n 8 cobre run my_case. Ctrl-C and SIGTERM save what is
    finished, and --resume goes on from there; a second Ctrl-C ends at once.

    Exits with 0 if all went well, 1 if the case cannot be used, 2 for settings that do not go together, 3 if
    a file cannot be read or written, 4 if a programme cannot be solved, 5 if a worker was lost, 130 after
    Ctrl-C, 143 after SIGTERM.
    """
    from cobre import study  # noqa: PLC0415  it imports what takes half a second
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
    again = shlex.join(["cobre", "run", str(case), *_given(options), "--resume"])
    is_root = launched_here().rank == 0
    reporter = reporter_for(output_format, quiet=quiet, color=color, is_root=is_root)
    with _reported(reporter):
        loaded = study.CaseLoader.load(case)
        reporter.introduce(loaded)
        if is_root:
            _advise(workers, loaded.config.training.forward_passes)
    folder = output_folder(loaded, output)
    checkpoint = checkpoint_in(folder, loaded)
    with (
        resumable(checkpoint, again),
        _reported(reporter, checkpoint, again),
        reporter.listening() as listeners,
    ):
        execution = ExecutionOptions(workers, backend, threads)
        done = study.run_case(loaded, execution, output=folder, resume=resume, listeners=listeners)
    reporter.finished(loaded, done)


@contextmanager
def _reported(reporter: RunReporter, checkpoint: Path | None = None, again: str = "") -> Iterator[None]:
    """Report a failure, with the command that resumes the run if there is a checkpoint."""
    try:
        yield
    except BaseException as error:
        reporter.failed(error, again if checkpoint is not None and checkpoint.exists() else None)
        raise


def _given(options: dict[str, tuple[object, object]]) -> list[str]:
    """The options that were given, to be given again."""
    given = [(name, value) for name, (value, usual) in options.items() if value != usual]
    return [part for name, value in given for part in ((name,) if value is True else (name, str(value)))]


def _advise(workers: int, trajectories: int) -> None:
    idle = workers - trajectories
    if idle > 0:
        words = (
            f"training.forward_passes is {trajectories}, so {idle} of {workers} workers have nothing to train"
        )
        typer.echo(f"warning: {words}; {trajectories} would do", err=True)
