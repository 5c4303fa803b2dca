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
    """JSON Schemas of the case files, for editors, which then complete and check them.

    Example: cobre schema export schemas
    """


@app.command("list")
def list_(color: ColorOption = "auto") -> None:
    """List the files of a case that have a schema, and what they are for.

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
            help="A file of a case, such as system/hydros.json, or hydros for short.",
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
        hint = f"did you mean {near[0]!r}?" if near else "cobre schema list has all"
        raise typer.BadParameter(f"no file of a case is called {name!r}; {hint}", param_hint="NAME")
    typer.echo(json.dumps(known[wanted], indent=2))


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write them.")] = Path("schemas"),
) -> None:
    """Write all schemas to a folder, and say how an editor uses them.

    Example: cobre schema export schemas

    Files of that name are replaced. Exits with 0 if all were written, 3 if one cannot be.
    """
    from cobre.case import EDITOR_SETTINGS, write_schemas  # noqa: PLC0415

    written = write_schemas(folder)
    typer.echo(f"wrote {len(written)} schemas to {folder}")
    typer.echo(
        f"for VS Code: copy {folder / EDITOR_SETTINGS} to .vscode/settings.json where you open your cases"
    )
    schema = written["config.json"].absolute().as_uri()
    typer.echo(f'for any editor: name the schema in a file itself, as in "$schema": "{schema}"')
