"""``cobre report``: an HTML report of a run."""

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
            help="Result folder: CASE/output, or the --output of run or solve.",
            autocompletion=result_folders,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write; default: DIR/report.html."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Heading; default: the name of the case.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write an HTML report of a run: key figures, charts with data, settings and files.

    Example: cobre report my_case/output --open

    The page is one file that needs no network. For an unfinished run it shows the results so far, and the
    command that resumes the run. Its three-line summary is also printed.

    Exits with 0 on success, 2 if plotting dependencies are missing (pip install
    'cobre-parallel[report]'), 3 if the folder has no results or the file cannot be written.
    """
    from cobre import report as pages  # noqa: PLC0415  slow import
    from cobre.results import is_solved, read, read_solved  # noqa: PLC0415

    if is_solved(folder):
        solved = read_solved(folder)
        path, lines = pages.write(solved, output, title=title), [*pages.reading_of_solved(solved)]
    else:
        results = read(folder, partial=True)
        path, lines = pages.write(results, output, title=title), [*pages.reading(results)]
    for line in lines:
        typer.echo(_wrapped(line))
    typer.echo(f"written to {path}")
    if show:
        import webbrowser  # noqa: PLC0415

        webbrowser.open(path.absolute().as_uri())


def _wrapped(line: str) -> str:
    """Wrap a line to the width of the terminal; for programs it stays whole."""
    return textwrap.fill(line, shutil.get_terminal_size().columns) if sys.stdout.isatty() else line
