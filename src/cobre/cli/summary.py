"""``cobre summary``: summary of a case or of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cobre.cli import _console
from cobre.cli._complete import any_folders
from cobre.cli._console import ColorOption, FormatOption

if TYPE_CHECKING:
    from rich.console import Console

#: Rows per table without ``--all``.
FEW = 15


def summary(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Case folder or result folder.", autocompletion=any_folders),
    ],
    every: Annotated[bool, typer.Option("--all", "-a", help="Show all rows of tables.")] = False,
    output_format: FormatOption = "human",
    color: ColorOption = "auto",
) -> None:
    """Summarise a case or the results of a run.

    Example: cobre summary my_case/output

    For a case: horizon, buses, cascades, capacities, loads and settings. For results: bounds, costs, deficit,
    final volumes, and the load of each worker. The run may be unfinished.

    Exits with 0 on success, 1 for an invalid case, 3 if the folder is neither or a file is damaged.
    """
    from cobre.results import is_solved  # noqa: PLC0415

    console = _console.stdout(color)
    if is_solved(folder):
        found = _of_solved(console, folder, output_format)
    elif is_result(folder):
        from cobre.cli import _show_results as show  # noqa: PLC0415  slow import
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


def _of_solved(console: Console, folder: Path, output_format: str) -> dict[str, Any]:
    """Summarise what ``cobre solve`` has written; return it in JSON's types."""
    from cobre.cli import _tables  # noqa: PLC0415
    from cobre.report import facts_of_solved  # noqa: PLC0415
    from cobre.results import read_solved  # noqa: PLC0415

    solved = read_solved(folder)
    if output_format == "human":
        _tables.heading(console, str(folder), "complete", "green")
        _tables.facts(console, facts_of_solved(solved))
        _tables.next_steps(console, ["report", str(folder)])
    return solved.summary


def is_result(folder: Path) -> bool:
    """Return True if the folder holds results of a run."""
    return any((folder / part / "_manifest.json").exists() for part in ("training", "simulation"))


def _require_case(folder: Path) -> None:
    from cobre.errors import IOError  # noqa: A004, PLC0415

    if not folder.is_dir():
        raise IOError(str(folder), "there is no such folder")
    if not (folder / "config.json").exists():
        near = folder / "output"
        hint = f"; there is a result in {near}" if is_result(near) else ""
        reason = "it is neither a case folder with config.json nor a result folder with"
        raise IOError(str(folder), f"{reason} training/_manifest.json{hint}")
