"""Backends and threads on this machine, for ``cobre comm info`` and ``cobre version``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cobre.comm import BackendStatus, Choice, ThreadChoice, available_backends, choose, choose_threads
from cobre.comm.config import MPI_LAUNCHER_VARIABLES
from cobre.comm.registry import load
from cobre.comm.selection import BACKEND_VARIABLE
from cobre.errors import BackendError, InvalidProblem

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
            load(self.choice.backend).configure(environment)
        except BackendError as error:
            self.refusal = str(error)
        self.threads: ThreadChoice | None = None
        self.threads_refusal = ""
        try:
            self.threads = choose_threads(env=environment)
        except InvalidProblem as error:
            [self.threads_refusal] = error.findings

    def plain(self) -> dict[str, Any]:
        """Return the content as JSON-compatible types."""
        choice = asdict(self.choice) if self.choice else {"backend": None, "reason": "", "passed_over": ()}
        return {
            "backends": [asdict(status) for status in self.status.values()],
            "chosen": {**choice, "refusal": self.refusal},
            "threads": {
                "count": self.threads and self.threads.count,
                "reason": self.threads.reason if self.threads else self.threads_refusal,
            },
            "variables": self.variables,
        }

    def show(self, console: Console) -> None:
        """Print the content as a table and lines."""
        console.print(_table(self.status.values()))
        if self.choice is None:
            _show_line(console, f"Chosen here: none, because {self.refusal}")
        else:
            _show_choice(console, self.choice)
            if self.refusal:
                _show_line(console, f"It cannot start: {self.refusal}", "yellow")
        if self.threads is None:
            _show_line(console, f"Threads: none, because {self.threads_refusal}", "yellow")
        else:
            _show_line(console, f"Threads of one rank: {self.threads.count} ({self.threads.reason})")
        for name, value in self.variables.items():
            _show_line(console, f"  {name}={value}", highlight=False)


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
        available = Text("yes" if backend.available else "no", style)
        table.add_row(backend.name, available, Text(words), backend.origin)
    return table


def _show_choice(console: Console, choice: Choice) -> None:
    _show_line(console, f"Chosen here: {choice.backend}, because {choice.reason}")
    for passed in choice.passed_over:
        _show_line(console, f"Not chosen: {passed}")


def _show_line(console: Console, line: str, style: str | None = None, *, highlight: bool = True) -> None:
    """Print a line as it is: what is in brackets, as in the name of an extra, is no markup."""
    console.print(line, style=style, highlight=highlight, markup=False, soft_wrap=True)
