"""``cobre launch``: a command as the ranks of a group on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from cobre.cli._complete import backend_names
from cobre.cli._group import Command

app = typer.Typer(add_completion=False)


# What follows the command's name is its own, options included, with or without "--" before it.
@app.command(cls=Command, context_settings={"allow_interspersed_args": False})
def launch(  # noqa: PLR0913, PLR0917  the options of a command
    command: Annotated[list[str], typer.Argument(help="The program that each rank runs, and its arguments.")],
    ranks: Annotated[
        int, typer.Option("-n", "--ranks", metavar="N", min=1, help="How many ranks.", show_default=False)
    ],
    backend: Annotated[
        str,
        typer.Option(help="The backend that they use; see cobre comm info.", autocompletion=backend_names),
    ] = "shm",
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="End all ranks after that time.")
    ] = None,
    patience: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="How long ranks may take to save after a signal."),
    ] = 30.0,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A variable for all ranks; may be given more than once."),
    ] = None,
) -> None:
    """Run a command as the ranks of a group on this machine.

    Example: cobre launch -n 4 -- python my_script.py

    In the script, cobre.comm.create_communicator() joins the group. What ranks print is marked with the
    rank, "[2] text". When one fails, all are ended; Ctrl-C and SIGTERM reach all, a second Ctrl-C ends them;
    none outlives this command.

    Exits with 0 if all ranks do; else with the exit code of the first that does not, or 128 plus the
    number of the signal that killed it; 124 when the time is up; 130 after Ctrl-C.
    """
    from cobre.comm.launch import group_environments, run_command  # noqa: PLC0415  it imports NumPy

    variables = {}
    for setting in env or []:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{setting!r} is not of the form NAME=VALUE", param_hint="--env")
        variables[name] = value
    with group_environments(backend, ranks, variables) as environments:
        raise typer.Exit(run_command(command, environments, timeout_s=timeout, grace_period_s=patience))
