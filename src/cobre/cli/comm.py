"""``cobre comm``: communication backends, their conformance checks and benchmarks."""

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
from cobre.cli._group import new_app
from cobre.cli._installation import inspect_installation
from cobre.comm import Topology, backend_to_start, choose, create_communicator
from cobre.comm.bench import Measurement, count
from cobre.comm.bench import bench as measure
from cobre.comm.launch import group_environments, run_command
from cobre.comm.testing import CHECKS, GroupRunner, Outcome, run_checks

app = new_app(no_args_is_help=True)

T = TypeVar("T")

Backend = Annotated[
    str | None,
    typer.Option(
        help="Backend; default: the one chosen here, or with -n COBRE_COMM_BACKEND, else shm.",
        autocompletion=backend_names,
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--ranks",
        metavar="N",
        min=1,
        help="Number of ranks to start here; default: join a group that is running.",
    ),
]


@app.callback()
def _comm() -> None:
    """List, check and benchmark communication backends.

    Example: cobre comm info
    """


@app.command()
def info(output_format: FormatOption = "human", color: ColorOption = "auto") -> None:
    """List the available backends, and which one is chosen here and why.

    Example: cobre comm info
    """
    backends = Backends()
    if output_format == "json":
        typer.echo(json.dumps(backends.plain(), indent=2))
    else:
        backends.show(_console.stdout(color))


@app.command()
def check(
    backend: Backend = None,
    ranks: Ranks = None,
    only: Annotated[str, typer.Option(help="Run only checks whose names contain this text.")] = "",
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Run the conformance checks of a backend on this machine or cluster.

    Example: cobre comm check -n 4

    With -n the ranks are started on this machine. Without it, this process is one rank of a group that a
    launcher has started: mpiexec -n 4 cobre comm check --backend mpi.
    Exits with 1 if a check fails.
    """
    name = _backend(backend, ranks)
    checks = [check for check in CHECKS if only in check.__name__]
    if not checks:
        raise typer.BadParameter(f"no check has {only!r} in its name", param_hint="--only")
    if ranks is not None:
        options = ["--only", only, "--output-format", output_format, "--color", color]
        _run_on_ranks(["check", "--backend", name, *options], name, ranks)
    as_json = output_format == "json"
    runner = GroupRunner(lambda: create_communicator(backend))
    outcomes = list(_with_progress(runner.rank, run_checks(runner, checks), len(checks), "checking", as_json))
    failed = sum(not outcome.passed for outcome in outcomes)
    if runner.rank == 0:
        _report(name, runner.size, outcomes, as_json, color)
    runner.close()
    # Only rank 0 fails, after its report: launchers end all ranks when one fails.
    raise typer.Exit(1 if failed and runner.rank == 0 else 0)


@app.command()
def bench(
    backend: Backend = None,
    ranks: Ranks = None,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Approximate time per measurement.")
    ] = 0.1,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Measure how long the four collectives take here, on this machine or cluster.

    Example: cobre comm bench -n 4

    With -n the ranks are started on this machine. Without it, this process is one rank of a group that a
    launcher has started: srun -n 8 cobre comm bench --backend mpi. It takes a few seconds.

    Each call is timed on all ranks, which synchronise between calls; the slowest rank counts. The times do
    not include waiting for late ranks, as in programs that compute between calls. With more ranks than
    processors they mainly measure the scheduler.
    """
    name = _backend(backend, ranks)
    if ranks is not None:
        options = ["--budget", str(budget), "--output-format", output_format, "--color", color]
        _run_on_ranks(["bench", "--backend", name, *options], name, ranks)
    as_json = output_format == "json"
    with create_communicator(backend) as comm:
        measured = list(
            _with_progress(comm.rank, measure(comm, budget_s=budget), count(), "measuring", as_json)
        )
        if comm.rank == 0:
            _report_times(comm.topology, measured, as_json, color)


def _backend(named: str | None, ranks: int | None) -> str:
    """The backend of ranks to start, or of the group to join."""
    if ranks is not None:
        return backend_to_start(named or "auto")
    return named or choose(os.environ).backend


def _run_on_ranks(arguments: list[str], backend: str, ranks: int) -> NoReturn:
    """Start this command on new ranks and exit with its code."""
    command = [sys.executable, "-P", "-m", "cobre", "comm", *arguments]
    with group_environments(backend, ranks) as environments:
        raise typer.Exit(run_command(command, environments, prefix=False))


def _with_progress(rank: int, results: Iterable[T], total: int, word: str, as_json: bool) -> Iterator[T]:
    """Pass results on, with a progress bar on rank 0 in a terminal."""
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
    table.add_column("check")
    table.add_column("passed")
    table.add_column("ms", justify="right")
    for outcome in outcomes:
        kept = Text("yes", "green") if outcome.passed else Text("NO", "bold red")
        table.add_row(outcome.promise, kept, f"{1e3 * outcome.seconds:.1f}")
    console = _console.stdout(color)
    console.print(table)
    for outcome in failed:
        console.print(Text(f"{outcome.name}: {outcome.detail}", "red"), soft_wrap=True)
    console.print(f"{len(outcomes) - len(failed)} of {len(outcomes)} checks passed")


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
        console.print(f"{shared}: the scheduler affects these times", style="yellow", soft_wrap=True)


def _scaled(value: float, thousand: int) -> str:
    """Number with a unit prefix.

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
