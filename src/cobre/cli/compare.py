"""``cobre compare``: comparison of two results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cobre.cli import _console
from cobre.cli._complete import result_folders
from cobre.cli._console import ColorOption, FormatOption

#: Rows per table without ``--all``.
FEW = 5


def compare(  # noqa: PLR0913, PLR0917  the options of a command
    a: Annotated[Path, typer.Argument(help="Result folder A.", autocompletion=result_folders)],
    b: Annotated[Path, typer.Argument(help="Result folder B.", autocompletion=result_folders)],
    every: Annotated[bool, typer.Option("--all", "-a", help="Show all rows of tables.")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 if the results differ.")
    ] = False,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Compare the results of two runs: settings, bounds, policies and costs.

    Example: cobre compare before after

    Two results are the same if their bounds, policies and simulated tables are equal to the last bit; workers
    and times may differ. If both have the same inflows and loads, scenarios are compared in pairs, which
    detects smaller differences. Policies are compared at states of A's simulation.

    Exits with 0, or with --exit-code with 1 if they differ, as diff does; 3 if a folder has no results or a
    file is damaged.
    """
    from cobre.cli import _show_comparison  # noqa: PLC0415  slow import
    from cobre.report import compare as compare_results  # noqa: PLC0415

    found = compare_results(a, b)
    if output_format == "json":
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        _show_comparison.show(_console.stdout(color), found, None if every else FEW)
    raise typer.Exit(1 if exit_code and not found.same else 0)
