"""Commands that are imported when they are asked for.

A terminal should answer at once, and most commands need what takes long to import. So the list of commands is
a table of names and lines: only the command that runs is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from cobre.cli import _help


class Command(TyperCommand):
    """A command with our help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _help.show(self, ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What may follow the command's name."""
        return _help.usage_pieces(self)


class Group(TyperGroup):
    """Commands under a common name, with our help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _help.show(self, ctx)


class LazyGroup(Group):
    """Commands of which only names and lines are known until one is asked for.

    Command ``name`` is the function ``name``, or the Typer ``app``, in the module ``name`` of `package`.
    """

    #: The package that holds the commands' modules.
    package: ClassVar[str]

    #: What each command does, by heading and name.
    table: ClassVar[Mapping[str, Mapping[str, str]]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for heading, lines in self.table.items():
            for name, line in lines.items():  # these stand in the list, and never run
                self.add_command(TyperCommand(name, help=line, rich_help_panel=heading))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is asked for."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, stand_in and self.load(str(name)), rest

    def load(self, name: str) -> Any:
        """The command itself."""
        module = import_module(f"{self.package}.{name}")
        app = getattr(module, "app", None)
        if app is None:
            app = typer.Typer(add_completion=False)
            app.command(name, cls=Command)(getattr(module, name))
        command = typer.main.get_command(app)
        command.name = name
        return command
