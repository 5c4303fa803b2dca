"""``cobre run``: train a policy for a case and simulate it."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from cobre.cli._complete import backend_names, case_folders
from cobre.cli._console import COLOR_HELP, Color, plain_warnings
from cobre.cli._exit import given_options, launched_here, resumable
from cobre.cli._reporter import Format, reported, reporter_for

#: As `cobre.results.LayoutName`, whose module is slow to import.
Layout = Literal["scenarios", "compact"]


def run(  # noqa: PLR0913, PLR0917  the options of a command
    case: Annotated[
        Path,
        typer.Argument(metavar="CASE", help="Case folder, with config.json.", autocompletion=case_folders),
    ],
    workers: Annotated[
        int | None,
        typer.Option(
            "-w",
            "--workers",
            metavar="N",
            min=1,
            help="Number of worker processes; default: the ranks of a launcher, else this process.",
        ),
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            help="Communication backend: auto, shm, tcp, mpi or local; see cobre comm info.",
            autocompletion=backend_names,
        ),
    ] = "auto",
    threads: Annotated[
        int | None,
        typer.Option(
            "-t",
            "--threads",
            metavar="N",
            min=1,
            help="Threads per worker; default: as the scheduler says, else the CPUs shared by the workers.",
        ),
    ] = None,
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
    layout: Annotated[
        Layout,
        typer.Option(
            help="File per scenario (default), or compact.",
            show_default=False,
        ),
    ] = "scenarios",
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
        "--workers": (workers, None),
        "--backend": (backend, "auto"),
        "--threads": (threads, None),
        "--output": (output, None),
        "--layout": (layout, "scenarios"),
        "--output-format": (output_format, "human"),
        "--quiet": (quiet, False),
        "--color": (color, "auto"),
    }
    resume_command = shlex.join(["cobre", "run", str(case), *given_options(options), "--resume"])
    is_root = launched_here().rank == 0
    reporter = reporter_for(output_format, quiet=quiet, color=color, is_root=is_root)
    with ExitStack() as group:
        with reported(reporter):
            execution = group.enter_context(study.joined(ExecutionOptions(workers, backend, threads)))
            loaded = execution.together(lambda: study.CaseLoader.load(case))
            reporter.introduce(loaded)
            if is_root:
                _warn_of_idle_workers(workers, loaded.config.training.forward_passes)
        folder = output_folder(loaded, output)
        checkpoint = checkpoint_in(folder, loaded)
        with (
            resumable(checkpoint, resume_command),
            plain_warnings(),
            reported(reporter, checkpoint, resume_command),
            reporter.listening() as listeners,
        ):
            done = study.run_case(
                loaded, execution, output=folder, layout=layout, resume=resume, listeners=listeners
            )
    reporter.finished(loaded, done)


def _warn_of_idle_workers(workers: int | None, trajectories: int) -> None:
    idle = (workers or 1) - trajectories
    if idle > 0:
        reason = (
            f"training.forward_passes is {trajectories}, so {idle} of {workers} workers are idle in training"
        )
        typer.echo(f"warning: {reason}; use --workers {trajectories}", err=True)
