"""``cobre run``: a case folder, trained and simulated."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cobre.cli._ending import rank_here, resumable

if TYPE_CHECKING:
    from cobre.case import Case
    from cobre.errors import Finding
    from cobre.study import RunResult


def run(  # noqa: PLR0913, PLR0917  the options of a command
    case: Annotated[Path, typer.Argument(help="The case folder, which holds config.json.")],
    workers: Annotated[
        int, typer.Option("-w", "--workers", min=1, help="Processes to start; 1 starts none.")
    ] = 1,
    backend: Annotated[
        str, typer.Option(help="How they communicate: auto, shm, tcp; see cobre comm info.")
    ] = "auto",
    threads: Annotated[int, typer.Option("-t", "--threads", min=1, help="Threads of each of them.")] = 1,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write; CASE/output unless given.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint in the output folder.")
    ] = False,
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
    from cobre.sddp import ProgressBar  # noqa: PLC0415

    loaded = study.CaseLoader.load(case)
    speaks = rank_here() == 0
    if speaks:
        _introduce(loaded)
        _advise(workers, loaded.config.training.forward_passes)
    folder = loaded.folder / "output" if output is None else output
    again = ["cobre", "run", str(case), *_given(workers, backend, threads, output), "--resume"]
    checkpoint = folder / loaded.config.policy.path / "checkpoint.cobre"
    with resumable(checkpoint, shlex.join(again)), ProgressBar() as bar:
        done = study.run(
            loaded,
            backend=backend,
            num_workers=workers,
            threads=threads,
            output=folder,
            resume=resume,
            listeners=(bar,),
        )
    if speaks:
        _summarise(done)


def _given(workers: int, backend: str, threads: int, output: Path | None) -> list[str]:
    """The options that were given, to be given again."""
    options = [("--workers", workers, 1), ("--backend", backend, "auto"), ("--threads", threads, 1)]
    said = [part for name, value, usual in options if value != usual for part in (name, str(value))]
    return said if output is None else [*said, "--output", str(output)]


def _introduce(case: Case) -> None:
    system = case.system
    counts = {
        "stage": len(system.stages),
        "bus": len(system.buses),
        "line": len(system.lines),
        "hydro": len(system.hydros),
        "thermal": len(system.thermals),
        "source": len(system.sources),
    }
    words = ", ".join(_count(number, name) for name, number in counts.items() if number)
    typer.echo(f"{case.folder}: {words}", err=True)
    show_warnings(case.warnings)


def _advise(workers: int, trajectories: int) -> None:
    idle = workers - trajectories
    if idle > 0:
        words = (
            f"training.forward_passes is {trajectories}, so {idle} of {workers} workers have nothing to train"
        )
        typer.echo(f"warning: {words}; {trajectories} would do", err=True)


def show_warnings(warnings: Sequence[Finding]) -> None:
    """Say what is doubtful about a case."""
    for warning in warnings:
        typer.echo(f"warning: {warning.file}: {warning}", err=True)


def _summarise(done: RunResult) -> None:
    training, simulation = done.training, done.simulation
    if training is not None:
        seconds = training.engine.seconds
        typer.echo(
            f"trained: {_count(training.iterations, 'iteration')} in {seconds:.1f} s, "
            f"lower bound {training.final_lower_bound:,.2f}; stopped by {training.termination_reason}"
        )
    if simulation is not None:
        estimate = simulation.estimate
        half = f" ± {estimate.half_width():,.2f}" if estimate.count > 1 else ""
        typer.echo(
            f"simulated: {_count(simulation.scenarios, 'scenario')} in {simulation.seconds:.1f} s, "
            f"mean cost {estimate.mean:,.2f}{half}"
        )
    typer.echo(f"written to {done.output_directory}")


def _count(number: int, name: str) -> str:
    return f"{number} {name if number == 1 else name + ('es' if name.endswith('s') else 's')}"
