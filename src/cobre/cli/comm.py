"""``cobre comm``: what can communicate here, and whether it keeps its promises."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated, NoReturn, TypeVar

import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from cobre.cli import _console
from cobre.cli._backends import Backends
from cobre.cli._complete import backend_names
from cobre.cli._console import Color, ColorOption, FormatOption
from cobre.cli._group import Command, Group
from cobre.cli._installation import inspect_installation
from cobre.comm import Topology, choose, create_communicator
from cobre.comm.bench import Measurement, count
from cobre.comm.bench import bench as measure
from cobre.comm.launch import group_environments, run_command
from cobre.comm.testing import CHECKS, GroupRunner, Outcome, run_checks

app = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False)

T = TypeVar("T")

Backend = Annotated[
    str | None,
    typer.Option(
        help="Which backend; otherwise the one chosen here, or with -n shm.", autocompletion=backend_names
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "-n", "--ranks", metavar="N", min=1, help="How many ranks to start; otherwise those that there are."
    ),
]


@app.callback()
def _comm() -> None:
    """What can communicate here, whether it works, and how fast.

    Example: cobre comm info
    """


@app.command(cls=Command)
def info(output_format: FormatOption = "human", color: ColorOption = "auto") -> None:
    """Print which backends are available, which one would be chosen here, and why.

    Example: cobre comm info
    """
    backends = Backends()
    if output_format == "json":
        typer.echo(json.dumps(backends.plain(), indent=2))
    else:
        backends.show(_console.stdout(color))


@app.command(cls=Command)
def check(
    backend: Backend = None,
    ranks: Ranks = None,
    only: Annotated[str, typer.Option(help="Run only checks whose name contains this.")] = "",
    output_format: FormatOption = "human",
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
        options = ["--only", only, "--output-format", output_format, "--color", color]
        _again(["check", "--backend", name, *options], name, ranks)
    as_json = output_format == "json"
    runner = GroupRunner(lambda: create_communicator(name))
    outcomes = list(_watched(runner.rank, run_checks(runner, checks), len(checks), "checking", as_json))
    failed = sum(not outcome.passed for outcome in outcomes)
    if runner.rank == 0:
        _report(name, runner.size, outcomes, as_json, color)
    runner.close()
    # Rank 0 alone, once it has reported: where a rank fails, launchers end the others.
    raise typer.Exit(1 if failed and runner.rank == 0 else 0)


@app.command(cls=Command)
def bench(
    backend: Backend = None,
    ranks: Ranks = None,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long to measure each, more or less.")
    ] = 0.1,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Measure how long the four collectives take here, on this machine or cluster.

    Example: cobre comm bench -n 4

    With -n the ranks are started on this machine. Without, this process is taken for one rank of a group that
    something else has started: srun -n 8 cobre comm bench --backend mpi. It takes a few seconds.

    Every call is timed on all ranks at once, in turns between which they meet; the slowest rank counts. A
    program that computes between calls also waits for whoever is late, which these numbers do not have in
    them. With more ranks than processors they are the scheduler's above all.
    """
    name = backend or (_chosen_here() if ranks is None else "shm")
    if ranks is not None:
        options = ["--budget", str(budget), "--output-format", output_format, "--color", color]
        _again(["bench", "--backend", name, *options], name, ranks)
    as_json = output_format == "json"
    with create_communicator(name) as comm:
        measured = list(_watched(comm.rank, measure(comm, budget_s=budget), count(), "measuring", as_json))
        if comm.rank == 0:
            _report_times(comm.topology, measured, as_json, color)


def _chosen_here() -> str:
    choice = choose(os.environ)
    if choice.warning:
        typer.echo(f"warning: {choice.warning}", err=True)
    return choice.backend


def _again(arguments: list[str], backend: str, ranks: int) -> NoReturn:
    """Run the same command on every rank, whose own variables tell it which one it is."""
    command = [sys.executable, "-P", "-m", "cobre", "comm", *arguments]
    with group_environments(backend, ranks) as environments:
        raise typer.Exit(run_command(command, environments, prefix=False))


def _watched(rank: int, results: Iterable[T], total: int, word: str, as_json: bool) -> Iterator[T]:
    """Pass results on, showing on rank 0 of a terminal how far it is."""
    console = _console.stderr()
    quiet = as_json or rank != 0 or not console.is_interactive
    with Progress(console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(word, total=total)
        for result in results:
            bar.advance(task)
            yield result


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


def _report_times(group: Topology, measured: list[Measurement], as_json: bool, color: Color) -> None:
    cpus = inspect_installation().usable_cpus
    here = next(len(ranks) for ranks in group.hosts.values() if 0 in ranks)
    size = group.size
    if as_json:
        times = [{**asdict(one), "bytes_per_s": one.bytes_per_s} for one in measured]
        report = {"backend": group.backend, "ranks": size, "usable_cpus": cpus, "measurements": times}
        typer.echo(json.dumps(report, indent=2))
        return
    table = Table(title=f"{group.backend}, {size} rank{'s' * (size > 1)}", title_justify="left")
    table.add_column("collective")
    for heading in ("payload", "best", "median", "payload by median"):
        table.add_column(heading, justify="right")
    for before, one in zip([None, *measured], measured, strict=False):
        new = before is None or before.operation != one.operation
        speed = f"{_scaled(one.bytes_per_s, 1000)}B/s" if one.bytes else ""
        name, payload = one.operation if new else "", f"{_scaled(one.bytes, 1024)}B" if one.bytes else ""
        best, median = (f"{_scaled(seconds, 1000)}s" for seconds in (one.best_s, one.median_s))
        table.add_row(name, payload, best, median, speed)
    console = _console.stdout(color)
    console.print(table)
    if here > cpus:
        shared = f"{here} ranks share {cpus} processor{'s' * (cpus > 1)}"
        console.print(f"{shared}: the scheduler has a part in these times", style="yellow", soft_wrap=True)


def _scaled(value: float, thousand: int) -> str:
    """A number with a prefix.

    >>> _scaled(65536, 1024), _scaled(0.0000034, 1000), _scaled(2.5e9, 1000)
    ('64 Ki', '3.4 µ', '2.5 G')
    """
    binary = "i" if thousand == 1024 else ""
    for power, prefix in ((3, "G"), (2, "M"), (1, "K" if binary else "k")):
        if value >= thousand**power:
            return f"{value / thousand**power:.3g} {prefix}{binary}"
    for power, prefix in ((0, ""), (1, "m"), (2, "µ")):
        if value * thousand**power >= 1:
            return f"{value * thousand**power:.3g} {prefix}"
    return f"{value * 1e9:.3g} n"
