"""Output of ``cobre run``: progress, result and failure, in the format that was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from cobre import __version__
from cobre.cli import _console, _outcome
from cobre.cli._exit import exit_code_of, launched_here

if TYPE_CHECKING:
    from cobre.case import Case
    from cobre.errors import Finding
    from cobre.sddp import Event, Listener
    from cobre.study import RunResult

Format = Literal["human", "json", "jsonl"]


def reporter_for(output_format: Format, *, quiet: bool, color: _console.Color, is_root: bool) -> RunReporter:
    """Return the reporter for the options of ``cobre run``; only rank 0 reports."""
    if not is_root:
        return SilentReporter()
    if output_format != "human":
        return JsonReporter(lines=output_format == "jsonl")
    return RunReporter() if quiet else TerminalReporter(color)


class RunReporter:
    """Reports warnings only, as with ``--quiet``; errors are printed when the command exits."""

    def introduce(self, case: Case) -> None:
        """Print the warnings about a case."""
        show_warnings(case.warnings)

    @contextmanager
    def listening(self) -> Iterator[Sequence[Listener]]:
        """Return the listeners of a run, and close them afterwards."""
        yield (_warn,)

    def finished(self, case: Case, done: RunResult) -> None:
        """Report the result of the run."""

    def failed(self, error: BaseException, resume: str | None) -> None:
        """Report why the run failed, and the command that resumes it, if there is one."""


class SilentReporter(RunReporter):
    """Reports nothing, on ranks other than 0."""

    def introduce(self, case: Case) -> None:
        """Print nothing."""


class TerminalReporter(RunReporter):
    """Reports to people: a live view during the run, a summary at the end."""

    def __init__(self, color: _console.Color) -> None:
        self._color = color
        # Launchers collect the output of ranks, even where it looks like a terminal.
        self._watched = launched_here().size == 1

    def introduce(self, case: Case) -> None:
        """Print the size of the case and the warnings about it."""
        from cobre.case import graph_words  # noqa: PLC0415
        from cobre.cli._tables import sizes  # noqa: PLC0415
        from cobre.elements import KINDS, data_class, labels  # noqa: PLC0415

        elements = {labels(kind).KEY: len(case.system.of(data_class(kind))) for kind in KINDS}
        typer.echo(f"{case.folder}: {sizes({'stages': case.stages, **elements})}", err=True)
        if words := graph_words(case.system.graph):
            typer.echo(f"policy graph: {words}", err=True)
        super().introduce(case)

    @contextmanager
    def listening(self) -> Iterator[Sequence[Listener]]:
        """Show the progress of the run."""
        from cobre.progress import LiveTable  # noqa: PLC0415  slow import

        with LiveTable(_console.stderr(self._color, watched=self._watched)) as table:
            yield (table,)

    def finished(self, case: Case, done: RunResult) -> None:
        """Print the summary."""
        _outcome.show(_console.stdout(self._color, watched=self._watched), case, done)


class JsonReporter(RunReporter):
    """Reports to programs: one object at the end, preceded by one line per event if ``lines``."""

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines

    @contextmanager
    def listening(self) -> Iterator[Sequence[Listener]]:
        """Write each event at once, if lines are wanted."""
        yield (_warn, self._write_event) if self._lines else (_warn,)

    def finished(self, case: Case, done: RunResult) -> None:
        """Write the result."""
        self._write(_outcome.figures(case, done))

    def failed(self, error: BaseException, resume: str | None) -> None:
        """Write the error."""
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
        """Write an object. If the reader has gone, the run goes on without output."""
        try:
            print(json.dumps(content, allow_nan=False, indent=None if self._lines else 2), flush=True)  # noqa: T201
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


@contextmanager
def reported(reporter: RunReporter, checkpoint: Path | None = None, command: str = "") -> Iterator[None]:
    """Report a failure, with the command that resumes the run if there is a checkpoint."""
    try:
        yield
    except BaseException as error:
        reporter.failed(error, command if checkpoint is not None and checkpoint.exists() else None)
        raise


def show_warnings(warnings: Sequence[Finding]) -> None:
    """Print the warnings about a case."""
    for warning in warnings:
        typer.echo(f"warning: {warning.file}: {warning}", err=True)


def _warn(event: Event) -> None:
    from cobre.progress import describe_guard  # noqa: PLC0415
    from cobre.sddp import GuardTripped  # noqa: PLC0415

    if isinstance(event, GuardTripped):
        typer.echo(f"warning: {describe_guard(event)}", err=True)
