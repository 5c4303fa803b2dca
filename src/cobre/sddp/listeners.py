"""Listeners: who watches a run, and who writes it down."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console

from cobre.comm._closing import Closing
from cobre.comm.launch import deferred_signals
from cobre.sddp._faces import Bar, Face, Lines
from cobre.sddp._live_table import Table
from cobre.sddp._notebook import Notebook, Page
from cobre.sddp._watch import Watch, guard_words
from cobre.sddp.events import (
    Event,
    GuardTripped,
    IterationFinished,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
    to_dict,
)


class ProgressBar(Closing):
    """Shows how far a run is: one live line in a terminal, one live output in a notebook, lines elsewhere.

    It ends with the run. Use it as a context manager, and the terminal is in order after a failure too.

    Args:
        console: where to; standard error unless given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._page = Page()
        self._watch = Watch()
        self._face: Face = Lines(self._console, self._watch)

    def __call__(self, event: Event) -> None:
        """Show an event. If nobody reads any more, the run goes on unseen."""
        try:
            self._show(event)
        except (OSError, SystemExit):  # the latter is what rich makes of a broken pipe
            self._console.quiet = True

    def close(self) -> None:
        """Leave the terminal as it was. Another run may be shown afterwards."""
        try:
            with deferred_signals():
                self._face.end()
        except (OSError, SystemExit):
            self._console.quiet = True

    def _show(self, event: Event) -> None:
        match event:
            case TrainingStarted():
                self._begin(Watch(started=event))
            case IterationFinished():
                self._watch.take(event)
                self._face.show(last=event.remaining is None)
            case TrainingFinished():
                self.close()
                self._face.say(self._watch.ending(event))
            case GuardTripped():
                self._face.say(guard_words(event))
            case SimulationProgress():
                self._simulation(event)

    def _simulation(self, event: SimulationProgress) -> None:
        before = self._watch.simulation
        if before is None or before.done >= before.total:
            self._begin(Watch(simulation=event))
        self._watch.take(event)
        finished = event.done >= event.total
        self._face.show(last=finished)
        if finished:
            self.close()

    def _begin(self, watch: Watch) -> None:
        self.close()
        self._watch, self._face = watch, self._face_for(watch)
        for line in watch.beginning():
            self._face.say(line)
        self._face.begin()

    def _face_for(self, watch: Watch) -> Face:
        if self._console.is_jupyter:
            return Notebook(self._page, watch)
        return Bar(self._console, watch) if self._console.is_interactive else Lines(self._console, watch)


class LiveTable(ProgressBar):
    """Shows all that is to be seen of a training in a terminal, in a table that changes in place.

    Bounds, mean, gap, cuts, the time that is left, what the phases of an iteration take, what each rank does
    with its time, and the last iterations. Simulations, and trainings elsewhere than in a terminal, are shown
    as `ProgressBar` does. As a context manager it keeps moving while an iteration takes long.

    Args:
        console: where to; standard error unless given.
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._moving = False

    def __enter__(self) -> Self:
        self._moving = True  # until somebody closes it, so there may be a thread
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._moving = False
        super().__exit__(kind, error, trace)

    def _face_for(self, watch: Watch) -> Face:
        if watch.simulation is None and self._console.is_interactive and not self._console.is_jupyter:
            return Table(self._console, watch, moving=self._moving)
        return super()._face_for(watch)


class JsonLines(Closing):
    """Writes each event as one line of JSON, at once, so that what was written survives the run.

    Args:
        file: a path, to whose end is written and which is closed in the end; or an open text file, which is
            left open.
    """

    def __init__(self, file: str | PathLike[str] | TextIO) -> None:
        self._ours = isinstance(file, str | PathLike)
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
        if self._ours:
            self._file.close()
