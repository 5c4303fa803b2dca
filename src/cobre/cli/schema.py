"""``cobre schema``: JSON Schemas of case files, for editors."""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from cobre.cli import _console
from cobre.cli._complete import schema_names
from cobre.cli._console import ColorOption
from cobre.cli._group import new_app

app = new_app(no_args_is_help=True)


@app.callback()
def _schema() -> None:
    """Show or export JSON Schemas of the case files, for editors that complete and check them.

    Example: cobre schema export schemas
    """


@app.command("list")
def list_(color: ColorOption = "auto") -> None:
    """List the case files that have a schema, with their purpose.

    Example: cobre schema list
    """
    from cobre.case import DOCUMENTS, FILE_DESCRIPTIONS  # noqa: PLC0415
    from cobre.cli._tables import facts  # noqa: PLC0415

    facts(_console.stdout(color), {file: FILE_DESCRIPTIONS[file] for file in DOCUMENTS})


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="Case file such as system/hydros.json, or hydros for short.",
            autocompletion=schema_names,
        ),
    ],
) -> None:
    """Print the schema of a file.

    Example: cobre schema show hydros
    """
    from cobre.case import schemas  # noqa: PLC0415

    known = {alias: schema for file, schema in schemas().items() for alias in (file, Path(file).stem)}
    wanted = name.removesuffix(".schema.json")
    if wanted not in known:
        near = get_close_matches(wanted, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "cobre schema list shows all"
        raise typer.BadParameter(f"unknown case file {name!r}; {hint}", param_hint="NAME")
    typer.echo(json.dumps(known[wanted], indent=2))


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write.")] = Path("schemas"),
) -> None:
    """Write all schemas to a folder, and explain how editors use them.

    Example: cobre schema export schemas

    Existing files are replaced. Exits with 0 on success, 3 if a file cannot be written.
    """
    from cobre.case import EDITOR_SETTINGS, write_schemas  # noqa: PLC0415

    written = write_schemas(folder)
    typer.echo(f"wrote {len(written)} schemas to {folder}")
    typer.echo(
        f"VS Code: copy {folder / EDITOR_SETTINGS} to .vscode/settings.json in the folder of your cases"
    )
    schema = written["config.json"].absolute().as_uri()
    typer.echo(f'other editors: name the schema in the file, as in "$schema": "{schema}"')
