"""Commands that are imported on demand.

``cobre --help`` is fast although most commands need packages that import slowly: it lists names and summaries
from a table, and only the command that runs is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


class LazyGroup(TyperGroup):
    """Command group that lists commands from a table and imports each on demand.

    Command ``name`` is the function ``name``, or the Typer ``app``, in the module ``name`` of `package`.
    """

    #: The package that holds the commands' modules.
    package: ClassVar[str]

    #: The summary of each command, by heading and name.
    table: ClassVar[Mapping[str, Mapping[str, str]]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for summaries in self.table.values():
            for name, summary in summaries.items():  # placeholders for the list, which never run
                self.add_command(TyperCommand(name, help=summary))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands under their headings."""
        for heading, summaries in self.table.items():
            with formatter.section(heading):
                formatter.write_dl(list(summaries.items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is called."""
        name, placeholder, rest = super().resolve_command(ctx, args)
        return name, placeholder and self.load(str(name)), rest

    def load(self, name: str) -> Any:
        """Import and return a command."""
        module = import_module(f"{self.package}.{name}")
        app = getattr(module, "app", None)
        if app is None:
            app = new_app()
            app.command(name)(getattr(module, name))
        command = typer.main.get_command(app)
        command.name = name
        return command


def new_app(**options: Any) -> typer.Typer:
    """Return a Typer application with plain-text help, which does not import rich and fits 80 columns."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, **options)
