"""``cobre scale``: how many ranks pay for a case."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cobre.cli import _console
from cobre.cli._complete import case_folders
from cobre.cli._console import ColorOption, FormatOption, plain_warnings
from cobre.cli._exit import exit_code_of, leave

if TYPE_CHECKING:
    from rich.console import Console

    from cobre.study import ScalingEstimate


def scale(  # noqa: PLR0913, PLR0917  the options of a command
    case: Annotated[
        Path,
        typer.Argument(metavar="CASE", help="Case folder, with config.json.", autocompletion=case_folders),
    ],
    trajectories: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Trajectories per iteration; default: those of the case."),
    ] = None,
    threads: Annotated[
        int, typer.Option("-t", "--threads", metavar="N", min=1, help="Threads per rank.")
    ] = 1,
    cores: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Cores of each machine; default: those of this one."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="Approximate time of the training.")
    ] = 20.0,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Estimate the time per iteration on more ranks.

    Example: cobre scale my_case --cores 64

    Trains the case on one rank and one thread, four iterations at least, and records the time of every unit
    of work. A model then shares these units among ranks as a run does. Nothing is written; Ctrl-C just ends
    it.

    The network between machines is assumed: 20 µs and 2.8 GB/s. Cores that compete for memory are not in the
    model, and a busy machine gives poor estimates.
    """
    from cobre import study  # noqa: PLC0415  slow import
    from cobre.cli._installation import inspect_installation  # noqa: PLC0415
    from cobre.comm.launch import terminated_in_order  # noqa: PLC0415

    console = _console.stderr(color)
    status = console.status("training on one thread") if console.is_interactive else nullcontext()
    try:
        with terminated_in_order(), plain_warnings(), status:
            estimate = study.estimate_scaling(
                study.CaseLoader.load(case),
                cores=cores or inspect_installation().usable_cpus,
                trajectories=trajectories,
                threads=threads,
                seconds=seconds,
            )
    except KeyboardInterrupt as interrupt:
        typer.echo("interrupted; nothing was written", err=True)
        leave(exit_code_of(interrupt))
    if output_format == "json":
        typer.echo(json.dumps(_plain(estimate), indent=2))
    else:
        _show(_console.stdout(color), case, estimate)


def _plain(estimate: ScalingEstimate) -> dict[str, Any]:
    rows = [
        {**asdict(row), "expected": {"seconds": row.expected.seconds, **asdict(row.expected)}}
        for row in estimate.rows
    ]
    return {**asdict(estimate), "rows": rows}


def _show(console: Console, case: Path, estimate: ScalingEstimate) -> None:
    from cobre.cli._tables import heading, table  # noqa: PLC0415
    from cobre.formatting import count  # noqa: PLC0415

    heading(console, str(case))
    title = (
        f"{count(estimate.trajectories, 'trajectory', 'trajectories')}, "
        f"{count(estimate.threads, 'thread')} per rank, machines of {count(estimate.cores, 'core')}"
    )
    first = estimate.rows[0].expected.seconds
    columns = ("ranks", "machines", "s per iteration", "faster by", "efficiency")
    table(
        console,
        title,
        columns,
        [
            (
                str(row.ranks),
                str(row.machines),
                f"{row.expected.seconds:.3g}",
                f"{first / row.expected.seconds:.3g}",
                f"{row.efficiency:.0%}",
            )
            for row in estimate.rows
        ],
    )
    best = estimate.recommended_row
    console.print(
        f"\nRecommended: {count(best.ranks, 'rank')}, {best.expected.seconds:.3g} s per iteration. "
        "No larger number here has an efficiency of 70 % or more.",
        soft_wrap=True,
        highlight=False,
    )
