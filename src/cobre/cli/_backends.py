"""Backends available on this machine, for ``cobre comm info`` and ``cobre version``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cobre.comm import BackendStatus, Choice, available_backends, choose
from cobre.comm.config import MPI_LAUNCHER_VARIABLES
from cobre.comm.selection import BACKEND_VARIABLE
from cobre.errors import InvalidBackend

if TYPE_CHECKING:
    from collections.abc import Iterable


class Backends:
    """Available backends, the one chosen here and why, and the variables that influence the choice."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.status = available_backends()
        self.variables = _relevant(environment)
        self.choice: Choice | None = None
        self.refusal = ""
        try:
            self.choice = choose(environment)
        except InvalidBackend as error:
            self.refusal = str(error)

    def plain(self) -> dict[str, Any]:
        """Return the content as JSON-compatible types."""
        nothing = {"backend": None, "reason": self.refusal, "passed_over": (), "warning": ""}
        return {
            "backends": [asdict(status) for status in self.status.values()],
            "chosen": nothing if self.choice is None else asdict(self.choice),
            "variables": self.variables,
        }

    def show(self, console: Console) -> None:
        """Print the content as a table and lines."""
        console.print(_table(self.status.values()))
        if self.choice is None:
            console.print(f"Chosen here: none, because {self.refusal}", soft_wrap=True)
        else:
            _show_choice(console, self.choice)
        for name, value in self.variables.items():
            console.print(f"  {name}={value}", soft_wrap=True, highlight=False)


def _relevant(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that influence the choice; the value of a secret is not shown."""
    ours = (BACKEND_VARIABLE, "COBRE_SHM_", "COBRE_TCP_", "COBRE_MPI_")
    found = {
        name: value
        for name, value in sorted(environment.items())
        if name in MPI_LAUNCHER_VARIABLES or name.startswith(ours)
    }
    return found | {name: "(set, not shown)" for name in found if name == "COBRE_TCP_SECRET"}


def _table(backends: Iterable[BackendStatus]) -> Table:
    table = Table(title="Backends", title_justify="left")
    for heading in ("backend", "available", "description, or what is missing", "package"):
        table.add_column(heading)
    for backend in backends:
        words = backend.summary or "; ".join(filter(None, (backend.reason, backend.remedy)))
        style = "green" if backend.available else "yellow"
        table.add_row(backend.name, Text("yes" if backend.available else "no", style), words, backend.origin)
    return table


def _show_choice(console: Console, choice: Choice) -> None:
    console.print(f"Chosen here: {choice.backend}, because {choice.reason}", soft_wrap=True)
    for passed in choice.passed_over:
        console.print(f"Not chosen: {passed}", soft_wrap=True)
    if choice.warning:
        console.print(f"Warning: {choice.warning}", style="yellow", soft_wrap=True)
