"""Consoles for standard output and error, and the options that commands share."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

Color = Literal["auto", "always", "never"]
COLOR_HELP = "Colours; auto: in a terminal, unless NO_COLOR or FORCE_COLOR is set."
ColorOption = Annotated[Color, typer.Option(help=COLOR_HELP)]
FormatOption = Annotated[
    Literal["human", "json"],
    typer.Option("-f", "--output-format", help="Text for people, or JSON for programs."),
]


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print the engine's warnings as ours, without the place in the source."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: typer.echo(f"warning: {message}", err=True)
        yield


def stdout(color: Color = "auto", *, watched: bool = True) -> Console:
    """Return the console for results; ``watched`` is false where a launcher collects the output."""
    return _console(color, watched and sys.stdout.isatty(), stderr=False)


def stderr(color: Color = "auto", *, watched: bool = True) -> Console:
    """Return the console for progress, warnings and errors."""
    return _console(color, watched and sys.stderr.isatty(), stderr=True)


def coloured(color: Color, terminal: bool) -> bool:
    """Decide on colours: by the option, else by the variables, else in terminals.

    ``NO_COLOR`` takes precedence over ``FORCE_COLOR``; an empty variable counts as not set (no-color.org).
    """
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")


def _console(color: Color, terminal: bool, *, stderr: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415  help should not wait for it

    styled = coloured(color, terminal)
    return Console(
        stderr=stderr,
        force_terminal=terminal or styled,
        # Colours may be forced anywhere, but live displays need a real terminal.
        force_interactive=terminal and os.environ.get("TERM") != "dumb",
        color_system="standard" if styled else None,
        no_color=not styled,
    )
