"""``cobre summary``: a case or a result, in a few numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cobre.cli import _console
from cobre.cli._complete import any_folders
from cobre.cli._console import ColorOption, FormatOption

#: How many rows a table has unless all are asked for.
FEW = 15


def summary(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A case folder, or a result folder.", autocompletion=any_folders),
    ],
    every: Annotated[bool, typer.Option("--all", "-a", help="All rows of tables, however many.")] = False,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Say in a few numbers what a case is, or what a run has found.

    Example: cobre summary my_case/output

    Of a case: its time, buses, rivers, capacities and loads, and settings. Of a result: bounds, costs,
    deficits, reservoirs at the end, and what each worker did. A run that is under way, or has failed, has
    some of it.

    Exits with 0, or with 1 if the case cannot be used, 3 if the folder is neither, or a file is damaged.
    """
    console = _console.stdout(color)
    if is_result(folder):
        from cobre.cli import _show_results as show  # noqa: PLC0415  they import what takes long
        from cobre.report import summary as of_results  # noqa: PLC0415

        result = of_results(folder)
        if output_format == "human":
            show.show(console, result, None if every else FEW)
        found = result.to_dict()
    else:
        from cobre import study  # noqa: PLC0415
        from cobre.case import summary as of_case  # noqa: PLC0415
        from cobre.cli import _show_case  # noqa: PLC0415

        _require_case(folder)
        case = of_case(study.CaseLoader.load(folder))
        if output_format == "human":
            _show_case.show(console, case, None if every else FEW)
        found = case.to_dict()
    if output_format == "json":
        typer.echo(json.dumps(found, indent=2))


def is_result(folder: Path) -> bool:
    """Whether a run has written to a folder."""
    return any((folder / part / "_manifest.json").exists() for part in ("training", "simulation"))


def _require_case(folder: Path) -> None:
    from cobre.errors import IOError  # noqa: A004, PLC0415

    if not folder.is_dir():
        raise IOError(str(folder), "there is no such folder")
    if not (folder / "config.json").exists():
        near = folder / "output"
        hint = f"; there is a result in {near}" if is_result(near) else ""
        reason = "it is neither a case, which has a config.json, nor a result, which has a"
        raise IOError(str(folder), f"{reason} training/_manifest.json{hint}")
