"""``cobre comm``: what can communicate here, and whether it keeps its promises."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from cobre.cli import _console
from cobre.cli._backends import Backends
from cobre.cli._console import Color, ColorOption
from cobre.cli._group import Command, Group
from cobre.comm import choose, create_communicator
from cobre.comm._launch import group_environments, launch
from cobre.comm.testing import CHECKS, GroupRunner, Outcome, run_checks

app = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback()
def _comm() -> None:
    """The communication layer: what there is, does it work, how fast is it.

    Example: cobre comm info
    """


@app.command(cls=Command)
def info(as_json: AsJson = False, color: ColorOption = "auto") -> None:
    """Print which backends are available, which one would be chosen here, and why.

    Example: cobre comm info
    """
    backends = Backends()
    if as_json:
        typer.echo(json.dumps(backends.plain(), indent=2))
    else:
        backends.show(_console.stdout(color))


@app.command(cls=Command)
def check(
    backend: Annotated[
        str | None, typer.Option(help="The backend to check; otherwise the one chosen here, or with -n shm.")
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option("-n", "--ranks", min=1, help="How many ranks; otherwise those that exist already."),
    ] = None,
    only: Annotated[str, typer.Option(help="Run only checks whose name contains this.")] = "",
    as_json: AsJson = False,
    color: ColorOption = "auto",
) -> None:
    """Check that a backend keeps the whole contract here, on this machine or cluster.

    Example: cobre comm check -n 4

    With -n the ranks are started on this machine. Without, this process is taken for one rank of a
    group that something else has started: mpiexec -n 4 cobre comm check --backend mpi.
    Exits with 1 if a check fails.
    """
    name = backend or (_chosen_here() if ranks is None else "shm")
    checks = [check for check in CHECKS if only in check.__name__]
    if not checks:
        raise typer.BadParameter(f"no check has {only!r} in its name", param_hint="--only")
    if ranks is not None:
        # The same command on every rank, whose own variables tell it which one it is.
        again = [sys.executable, "-P", "-m", "cobre", "comm", "check", "--backend", name, "--only", only]
        again += ["--color", color] + ["--json"] * as_json
        with group_environments(name, ranks) as environments:
            raise typer.Exit(launch(again, environments, prefix=False))
    runner = GroupRunner(lambda: create_communicator(name))
    outcomes = list(_watched(runner, run_checks(runner, checks), len(checks), as_json))
    failed = sum(not outcome.passed for outcome in outcomes)
    if runner.rank == 0:
        _report(name, runner.size, outcomes, as_json, color)
    runner.close()
    # Rank 0 alone, once it has reported: where a rank fails, launchers end the others.
    raise typer.Exit(1 if failed and runner.rank == 0 else 0)


def _chosen_here() -> str:
    choice = choose(os.environ)
    if choice.warning:
        typer.echo(f"warning: {choice.warning}", err=True)
    return choice.backend


def _watched(
    runner: GroupRunner, outcomes: Iterable[Outcome], total: int, as_json: bool
) -> Iterator[Outcome]:
    """Pass outcomes on, showing on rank 0 of a terminal how far it is."""
    console = _console.stderr()
    with Progress(
        console=console, transient=True, disable=as_json or runner.rank != 0 or not console.is_interactive
    ) as bar:
        task = bar.add_task("checking", total=total)
        for outcome in outcomes:
            bar.advance(task)
            yield outcome


def _report(backend: str, size: int, outcomes: list[Outcome], as_json: bool, color: Color) -> None:
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if as_json:
        report = {"backend": backend, "ranks": size, "checks": [asdict(outcome) for outcome in outcomes]}
        typer.echo(json.dumps(report, indent=2))
        return
    table = Table(title=f"{backend}, {size} rank{'s' * (size > 1)}", title_justify="left")
    table.add_column("promise")
    table.add_column("kept")
    table.add_column("ms", justify="right")
    for outcome in outcomes:
        kept = Text("yes", "green") if outcome.passed else Text("NO", "bold red")
        table.add_row(outcome.promise, kept, f"{1e3 * outcome.seconds:.1f}")
    console = _console.stdout(color)
    console.print(table)
    for outcome in failed:
        console.print(Text(f"{outcome.name}: {outcome.detail}", "red"), soft_wrap=True)
    console.print(f"{len(outcomes) - len(failed)} of {len(outcomes)} promises kept")
