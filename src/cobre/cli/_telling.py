"""What a run says while it goes on and when it ends, in the format that was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import typer

from cobre import __version__
from cobre.cli import _console, _outcome
from cobre.cli._ending import exit_code_of, launched_here
from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.thermal.data import Thermal
from cobre.formatting import count

if TYPE_CHECKING:
    from cobre.case import Case
    from cobre.errors import Finding
    from cobre.sddp import Event, Listener
    from cobre.study import RunResult

Format = Literal["human", "json", "jsonl"]


def teller(output_format: Format, *, quiet: bool, color: _console.Color, speaks: bool) -> Teller:
    """Return who tells of a run; where other ranks speak for this one, nobody."""
    if not speaks:
        return Nobody()
    if output_format != "human":
        return Json(lines=output_format == "jsonl")
    return Teller() if quiet else Human(color)


class Teller:
    """Tells of warnings alone; what ended a run is told when the command ends."""

    def introduce(self, case: Case) -> None:
        """Say what is doubtful about a case."""
        show_warnings(case.warnings)

    @contextmanager
    def listening(self) -> Iterator[Sequence[Listener]]:
        """Give the listeners for a run, and close them when it is over."""
        yield (_warn,)

    def finished(self, case: Case, done: RunResult) -> None:
        """Say how the run ended."""

    def failed(self, error: BaseException, resume: str | None) -> None:
        """Say why the run ended early, and the command that goes on with it, if there is one."""


class Nobody(Teller):
    """Tells nothing."""

    def introduce(self, case: Case) -> None:
        """Say nothing."""


class Human(Teller):
    """Tells people: a live view while it runs, a summary at the end."""

    def __init__(self, color: _console.Color) -> None:
        self._color = color
        # Launchers give ranks terminals that are none, and gather what is written there.
        self._watched = launched_here().size == 1

    def introduce(self, case: Case) -> None:
        """Say how large the case is, and what is doubtful about it."""
        system = case.system
        counts = {
            "stage": len(system.stages),
            "bus": len(system.of(Bus)),
            "line": len(system.of(Line)),
            "hydro": len(system.of(Hydro)),
            "thermal": len(system.of(Thermal)),
            "source": len(system.of(NonControllableSource)),
        }
        words = ", ".join(count(number, name) for name, number in counts.items() if number)
        typer.echo(f"{case.folder}: {words}", err=True)
        super().introduce(case)

    @contextmanager
    def listening(self) -> Iterator[Sequence[Listener]]:
        """Show the run."""
        from cobre.progress import LiveTable  # noqa: PLC0415  it takes half a second

        with LiveTable(_console.stderr(self._color, watched=self._watched)) as table:
            yield (table,)

    def finished(self, case: Case, done: RunResult) -> None:
        """Print the summary."""
        _outcome.show(_console.stdout(self._color, watched=self._watched), case, done)


class Json(Teller):
    """Tells programs: one object at the end, and before it, if they are wanted, all events as lines."""

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines

    @contextmanager
    def listening(self) -> Iterator[Sequence[Listener]]:
        """Write events, as they come."""
        yield (_warn, self._write_event) if self._lines else (_warn,)

    def finished(self, case: Case, done: RunResult) -> None:
        """Write the figures."""
        self._write(_outcome.figures(case, done))

    def failed(self, error: BaseException, resume: str | None) -> None:
        """Write what an error says."""
        self._write(
            {
                "event": "run_failed",
                "exit_code": exit_code_of(error),
                "cobre_version": __version__,
                "error": _outcome.error_figures(error),
                "resume": resume,
            }
        )

    def _write_event(self, event: Event) -> None:
        from cobre.sddp import to_dict  # noqa: PLC0415

        self._write(to_dict(event))

    def _write(self, content: dict[str, Any]) -> None:
        """Write an object. If nobody reads any more, the run goes on unread."""
        try:
            print(json.dumps(content, allow_nan=False, indent=None if self._lines else 2), flush=True)  # noqa: T201
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


def show_warnings(warnings: Sequence[Finding]) -> None:
    """Say what is doubtful about a case."""
    for warning in warnings:
        typer.echo(f"warning: {warning.file}: {warning}", err=True)


def _warn(event: Event) -> None:
    from cobre.progress import describe_guard  # noqa: PLC0415
    from cobre.sddp import GuardTripped  # noqa: PLC0415

    if isinstance(event, GuardTripped):
        typer.echo(f"warning: {describe_guard(event)}", err=True)
