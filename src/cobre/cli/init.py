"""``cobre init``: a new case folder from a template."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cobre.cli import _console
from cobre.cli._complete import template_names
from cobre.cli._console import Color, ColorOption


def init(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder to create; it must not exist or be empty.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            "-t",
            metavar="NAME",
            help="Template; default: one-reservoir.",
            autocompletion=template_names,
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", "-l", help="List the templates.")] = False,
    color: ColorOption = "auto",
) -> None:
    """Make a case folder from a template.

    Example: cobre init my_case --template cascade

    Without a folder it lists the templates, as with --list. The folder is created completely or not at all,
    and nothing is overwritten. Exits with 0 on success, 2 for an unknown template, 3 if the folder is not
    empty or cannot be created.
    """
    from cobre.case import DEFAULT_TEMPLATE, create  # noqa: PLC0415  slow import
    from cobre.errors import ValidationError  # noqa: PLC0415

    if list_ or folder is None:
        _list(color)
        return
    try:
        made = create(template or DEFAULT_TEMPLATE, folder)
    except ValidationError as error:
        raise typer.BadParameter(str(error), param_hint="--template") from error
    _report(folder, template or DEFAULT_TEMPLATE, made, color, chosen=template is not None)


def _list(color: Color) -> None:
    from cobre.case import DEFAULT_TEMPLATE, templates  # noqa: PLC0415
    from cobre.cli._tables import next_steps, sizes  # noqa: PLC0415

    console = _console.stdout(color)
    for template in templates().values():
        counts = {name: number for name, number in vars(template).items() if isinstance(number, int)}
        console.print(f"[cyan]{template.name}[/cyan]: {sizes(counts)}\n  {template.description}")
    next_steps(console, ["init", "my_case", "--template", DEFAULT_TEMPLATE])


def _report(folder: Path, template: str, made: dict[str, str], color: Color, *, chosen: bool) -> None:
    from cobre.cli._tables import facts, next_steps  # noqa: PLC0415

    console = _console.stdout(color)
    note = "" if chosen else " (cobre init --list shows all)"
    console.print(f"created {folder} from template {template}{note}", soft_wrap=True)
    facts(console, made)
    next_steps(console, ["validate", str(folder)], ["run", str(folder), "--workers", "2"])
