"""Commands that are imported when they are asked for.

``cobre --help`` answers at once, although most commands need packages that take long to import: the list of
commands is a table of names and lines, and only the command that runs is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


class LazyGroup(TyperGroup):
    """A group that knows the names and summaries of its commands, and imports one when it is asked for.

    Command ``name`` is the function ``name``, or the Typer ``app``, in the module ``name`` of `package`.
    """

    #: The package that holds the commands' modules.
    package: ClassVar[str]

    #: The summary of each command, by heading and name.
    table: ClassVar[Mapping[str, Mapping[str, str]]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for summaries in self.table.values():
            for name, summary in summaries.items():  # these stand in the list, and never run
                self.add_command(TyperCommand(name, help=summary))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands under their headings."""
        for heading, summaries in self.table.items():
            with formatter.section(heading):
                formatter.write_dl(list(summaries.items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is asked for."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, stand_in and self.load(str(name)), rest

    def load(self, name: str) -> Any:
        """Return the command itself."""
        module = import_module(f"{self.package}.{name}")
        app = getattr(module, "app", None)
        if app is None:
            app = new_app()
            app.command(name)(getattr(module, name))
        command = typer.main.get_command(app)
        command.name = name
        return command


def new_app(**options: Any) -> typer.Typer:
    """Return an application whose help is plain text, which needs no import of rich and fits 80 columns."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, **options)
