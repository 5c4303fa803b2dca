"""The ``cobre`` command: parse, call, print."""

from __future__ import annotations

import typer

from cobre import __version__
from cobre.cli import comm
from cobre.cli._ending import end
from cobre.cli.launch import launch
from cobre.cli.plot import plot
from cobre.cli.run import run
from cobre.cli.validate import validate
from cobre.errors import CobreError

app = typer.Typer(
    name="cobre",
    help="Multi-process SDDP, with the same bits whatever runs it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
app.command()(run)
app.command()(validate)
app.command()(plot)
app.add_typer(comm.app, name="comm")
# What follows the command's name is its own, options included, with or without "--" before it.
app.command(context_settings={"allow_interspersed_args": False})(launch)


@app.callback(invoke_without_command=True)
def _cobre(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command; an error of ours is one plain paragraph, not a traceback."""
    try:
        app()
    except CobreError as error:
        end(error)
