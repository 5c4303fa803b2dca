"""``cobre compare``: what differs between two results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cobre.cli import _console
from cobre.cli._complete import result_folders
from cobre.cli._console import ColorOption, FormatOption

#: How many rows a table has unless all are asked for.
FEW = 5


def compare(  # noqa: PLR0913, PLR0917  the options of a command
    a: Annotated[Path, typer.Argument(help="A result folder.", autocompletion=result_folders)],
    b: Annotated[Path, typer.Argument(help="The one to compare it with.", autocompletion=result_folders)],
    every: Annotated[bool, typer.Option("--all", "-a", help="All rows of tables, however many.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if they differ.")] = False,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Say what differs between two results: settings, bounds, policies, costs.

    Example: cobre compare before after

    Two results are the same if their bounds, policies and simulated tables are the same to the last bit,
    whoever computed them and however long it took. Where both met the same inflows and loads, scenarios are
    compared one by one, which tells smaller differences from chance. Policies are compared at states
    of A's simulation.

    Exits with 0 once it has compared, or with --exit-code, as diff does, with 1 if they differ; with 3 if a
    folder is no result, or a file is damaged.
    """
    from cobre.cli import _show_comparison  # noqa: PLC0415  they import what takes long
    from cobre.report import compare as compare_results  # noqa: PLC0415

    found = compare_results(a, b)
    if output_format == "json":
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        _show_comparison.show(_console.stdout(color), found, None if every else FEW)
    raise typer.Exit(1 if exit_code and not found.same else 0)
