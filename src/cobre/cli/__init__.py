"""The ``cobre`` command: parse, call, print."""

from __future__ import annotations

import os

import typer

from cobre import __version__
from cobre.cli._group import LazyGroup, new_app
from cobre.errors import CobreError

#: The commands: each is the function of its name, or the Typer ``app``, in the module of its name, which is
#: imported when it is asked for. The line is how its help begins.
COMMANDS = {
    "A study": {
        "init": "Make a case folder from a template.",
        "validate": "Check a case folder without solving anything.",
        "run": "Train a policy for a case and simulate it.",
        "summary": "Say in a few numbers what a case is, or what a run has found.",
        "report": "One page with everything about a result, for a browser.",
        "plot": "Draw a figure of a run, and write it to a file.",
        "compare": "Say what differs between two results.",
    },
    "Processes": {
        "launch": "Run a command as the ranks of a group on this machine.",
        "comm": "What can communicate here, whether it works, and how fast.",
    },
    "This installation": {
        "completion": "Print the script that makes Tab complete cobre's commands.",
        "schema": "JSON Schemas of the case files, for editors.",
        "version": "What is installed here: versions, solver, machine, backends.",
    },
}


class _Commands(LazyGroup):
    package = __name__
    table = COMMANDS


app = new_app(name="cobre", cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def _cobre(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Multi-process SDDP, with the same bits whatever runs it.

    Example: cobre init my_case && cobre run my_case --workers 2
    """
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command; an error of ours is one plain paragraph, not a traceback."""
    if "_COBRE_COMPLETE" in os.environ:  # a shell asks what may come next
        from typer.completion import completion_init  # type: ignore[attr-defined]  # noqa: PLC0415

        completion_init()
    try:
        app()
    except CobreError as error:
        from cobre.cli._exit import end  # noqa: PLC0415

        end(error)
