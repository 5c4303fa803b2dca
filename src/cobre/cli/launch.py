"""``cobre launch``: start a command as a group of ranks on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from cobre.cli._complete import backend_names
from cobre.cli._group import new_app

app = new_app()


# All arguments after the program belong to it, options included, with or without "--" before it.
@app.command(context_settings={"allow_interspersed_args": False})
def launch(  # noqa: PLR0913, PLR0917  the options of a command
    command: Annotated[list[str], typer.Argument(help="Program that each rank runs, and its arguments.")],
    ranks: Annotated[
        int, typer.Option("-n", "--ranks", metavar="N", min=1, help="Number of ranks.", show_default=False)
    ],
    backend: Annotated[
        str,
        typer.Option(
            help="Communication backend; auto: COBRE_COMM_BACKEND, else shm.", autocompletion=backend_names
        ),
    ] = "auto",
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="End all ranks after this time.")
    ] = None,
    patience: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="Time that ranks have to save after a signal."),
    ] = 30.0,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Environment variable of all ranks; may be repeated."),
    ] = None,
) -> None:
    """Start a command as a group of ranks on this machine.

    Example: cobre launch -n 4 -- python my_script.py

    In the script, cobre.comm.create_communicator() joins the group. Output lines are prefixed with the rank,
    "[2] text". If one rank fails, all are ended. Ctrl-C and SIGTERM are sent to all, and a second Ctrl-C ends
    them. No rank outlives this command.

    Exits with 0 if all ranks do; else with the exit code of the first rank that failed, or 128 plus the
    number of the signal that killed it; 124 after the timeout; 130 after Ctrl-C.
    """
    from cobre.comm import backend_to_start  # noqa: PLC0415  imports NumPy
    from cobre.comm.launch import group_environments, run_command  # noqa: PLC0415

    variables = {}
    for setting in env or []:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{setting!r} does not have the form NAME=VALUE", param_hint="--env")
        variables[name] = value
    with group_environments(backend_to_start(backend), ranks, variables) as environments:
        raise typer.Exit(run_command(command, environments, timeout_s=timeout, grace_period_s=patience))
