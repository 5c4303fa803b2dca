"""``cobre report``: a page about a result."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from cobre.cli._complete import result_folders


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The result folder: CASE/output, or what --output was.",
            autocompletion=result_folders,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write; DIR/report.html unless given."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Above the page; the case's name unless given.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """One page with everything about a result, for a browser: figures, their numbers, settings, files.

    Example: cobre report my_case/output --open

    The page is one file that needs no network: send it, archive it, print it. Of a run that is under way,
    failed or was killed it shows what there is, and how to go on. What it says in three lines is printed,
    too.

    Exits with 0 if the page is written, 2 if plotting dependencies are missing (pip install
    'cobre-parallel[report]'), 3 if the folder is no result or the file cannot be written.
    """
    from cobre import report as room  # noqa: PLC0415  it imports what takes half a second
    from cobre.results import read  # noqa: PLC0415

    results = read(folder, partial=True)
    path = room.write(results, output, title=title)
    for line in room.reading(results):
        typer.echo(_wrapped(line))
    typer.echo(f"written to {path}")
    if show:
        import webbrowser  # noqa: PLC0415

        webbrowser.open(path.absolute().as_uri())


def _wrapped(line: str) -> str:
    """As wide as the terminal; whole where there is none, for programs."""
    return textwrap.fill(line, shutil.get_terminal_size().columns) if sys.stdout.isatty() else line
