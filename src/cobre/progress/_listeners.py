"""Listeners that show a run to people, or record it for programs."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import Self, TextIO

from rich.console import Console

from cobre.comm.launch import deferred_signals
from cobre.progress._notebook import NotebookCell, NotebookView
from cobre.progress._state import ProgressState, describe_guard
from cobre.progress._table_view import TableView
from cobre.progress._views import BarView, LogView, ProgressView
from cobre.sddp import (
    Event,
    GuardTripped,
    IterationFinished,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
    to_dict,
)


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Progress as one live line in a terminal, one live output in a notebook, and log lines elsewhere.

    It ends with the run. Use it as a context manager to restore the terminal after a failure, too.

    Args:
        console: a `rich` console to write to; standard error unless given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._cell = NotebookCell()
        self._state = ProgressState()
        self._view: ProgressView = LogView(self._console, self._state)

    def __call__(self, event: Event) -> None:
        """Show an event. If the reader of the output has gone, the run goes on without output."""
        try:
            self._handle(event)
        except (OSError, SystemExit):  # rich turns a broken pipe into the latter
            self._console.quiet = True

    def close(self) -> None:
        """Restore the terminal. Another run may be shown afterwards."""
        try:
            with deferred_signals():
                self._view.end()
        except (OSError, SystemExit):
            self._console.quiet = True

    def __exit__(self, *_: object) -> None:
        self.close()

    def _handle(self, event: Event) -> None:
        match event:
            case TrainingStarted():
                self._begin(ProgressState(started=event))
            case IterationFinished():
                self._state.update(event)
                self._view.show(last=event.remaining is None)
            case TrainingFinished():
                self.close()
                self._view.say(self._state.describe_end(event))
            case GuardTripped():
                self._view.say(describe_guard(event))
            case SimulationProgress():
                self._handle_simulation(event)

    def _handle_simulation(self, event: SimulationProgress) -> None:
        before = self._state.simulation
        if before is None or before.done >= before.total:
            self._begin(ProgressState(simulation=event))
        self._state.update(event)
        finished = event.done >= event.total
        self._view.show(last=finished)
        if finished:
            self.close()

    def _begin(self, state: ProgressState) -> None:
        self.close()
        self._state, self._view = state, self._view_of(state)
        for line in state.describe_start():
            self._view.say(line)
        self._view.begin()

    def _view_of(self, state: ProgressState) -> ProgressView:
        if self._console.is_jupyter:
            return NotebookView(self._cell, state)
        view = BarView if self._console.is_interactive else LogView
        return view(self._console, state)


class LiveTable(ProgressBar):
    """Training in a terminal as a table that is updated in place.

    It shows bounds, mean, gap, cuts, the remaining time, the time of each phase of an iteration, the load of
    each rank, and the last iterations. Simulations, and trainings elsewhere than in a terminal, are shown as
    `ProgressBar` shows them. As a context manager it also updates its clock during long iterations.

    Args:
        console: a `rich` console to write to; standard error unless given.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._threaded = False

    def __enter__(self) -> Self:
        self._threaded = True  # leaving the context ends the thread
        return self

    def __exit__(self, *_: object) -> None:
        self._threaded = False
        self.close()

    def _view_of(self, state: ProgressState) -> ProgressView:
        if state.simulation is None and self._console.is_interactive and not self._console.is_jupyter:
            return TableView(self._console, state, threaded=self._threaded)
        return super()._view_of(state)


class JsonLines(AbstractContextManager["JsonLines"]):
    """Each event as one line of JSON, written at once, so that the record survives a crash of the run.

    Args:
        file: a path, whose file is appended to and closed at the end; or an open text file, which stays open.
    """

    def __init__(self, file: str | PathLike[str] | TextIO) -> None:
        self._owned = isinstance(file, str | PathLike)
        if isinstance(file, str | PathLike):
            self._file: TextIO = Path(file).open("a", encoding="utf-8")  # noqa: SIM115  see `close`
        else:
            self._file = file

    def __call__(self, event: Event) -> None:
        """Write an event."""
        self._file.write(json.dumps(to_dict(event), allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._owned:
            self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()
