"""``cobre completion``: shell completion."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import typer

Shell = Literal["bash", "zsh", "fish"]


def completion(
    shell: Annotated[Shell | None, typer.Argument(help="Shell; default: the one this runs in.")] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Install it in the shell's start-up file.")
    ] = False,
) -> None:
    """Print or install shell completion, which completes commands, options and names.

    Example: cobre completion bash --install

    To try it in this shell only: eval "$(cobre completion bash)"; in fish: cobre completion fish | source.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # noqa: PLC0415

    name = shell or _detected()
    if install:
        _install(name)
    else:
        script = get_completion_script(prog_name="cobre", complete_var="_COBRE_COMPLETE", shell=name)
        typer.echo(script)


def _detected() -> str:
    import shellingham  # type: ignore[import-untyped]  # noqa: PLC0415  comes with typer

    try:
        name: str = shellingham.detect_shell()[0]
    except shellingham.ShellDetectionFailure:
        name = ""
    if name not in get_args(Shell):
        raise typer.BadParameter("the shell is unknown; name it: cobre completion bash", param_hint="SHELL")
    return name


def _install(shell: str) -> None:
    from typer.completion import install  # type: ignore[attr-defined]  # noqa: PLC0415

    from cobre.errors import IOError  # noqa: A004, PLC0415

    try:
        _, path = install(shell=shell, prog_name="cobre", complete_var="_COBRE_COMPLETE")
    except OSError as error:
        raise IOError(str(error.filename), f"it cannot be written ({error.strerror})") from error
    typer.echo(f"written to {path}; restart {shell} to use it")
