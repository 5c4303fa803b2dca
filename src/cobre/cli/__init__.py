"""The ``cobre`` command: parse, call, print."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from cobre import __version__
from cobre.cli._group import LazyGroup, new_app
from cobre.errors import CobreError

#: Commands by heading, each with the first line of its help. A command is the function of its name, or the
#: Typer ``app``, in the module of its name, which is imported on demand.
COMMANDS = {
    "Studies": {
        "init": "Make a case folder from a template.",
        "validate": "Check a case folder without solving anything.",
        "run": "Train a policy for a case and simulate it.",
        "solve": "Solve a problem in StochOptFormat or MSPFormat.",
        "summary": "Summarise a case or the results of a run.",
        "report": "Write an HTML report of a run.",
        "plot": "Draw a figure of a run and write it to a file.",
        "compare": "Compare the results of two runs.",
    },
    "Processes": {
        "scale": "Estimate the time per iteration on more ranks.",
        "launch": "Start a command as a group of ranks on this machine.",
        "comm": "List, check and benchmark communication backends.",
    },
    "Installation": {
        "completion": "Print or install shell completion.",
        "schema": "Show or export JSON Schemas of the case files, for editors.",
        "version": "Show versions, solver, machine and backends.",
    },
}


class _Commands(LazyGroup):
    package = __name__
    table = COMMANDS


app = new_app(name="cobre", cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def _cobre(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option(help="Log to standard error from this level on; default: COBRE_LOG."),
    ] = None,
) -> None:
    """Hydrothermal planning by SDDP, parallel and bit-for-bit reproducible.

    Example: cobre init my_case && cobre run my_case --workers 2
    """
    if log_level is not None:
        from cobre.logs import start  # noqa: PLC0415  no other command needs it

        start(log_level)
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command; errors of cobre are printed as one paragraph, without a traceback."""
    if "_COBRE_COMPLETE" in os.environ:  # a shell asks for completions
        from typer.completion import completion_init  # type: ignore[attr-defined]  # noqa: PLC0415

        completion_init()
    try:
        app()
    except CobreError as error:
        from cobre.cli._exit import end  # noqa: PLC0415

        end(error)
    except Exception as error:
        from cobre.cli._exit import note_rank  # noqa: PLC0415

        note_rank(error)
        raise
