"""Where people look: lines in a log, a line in a terminal. Tables and notebooks have files of their own."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn

from cobre._words import clock, count
from cobre.sddp._watch import Watch, left_words, simulation_words

#: Where nobody watches a terminal, a line at most this often, in seconds of the run.
LINE_PERIOD_S = 5.0
#: Columns of a bar.
BAR_WIDTH = 12
#: What moves is drawn at most this often.
DRAW_PERIOD_S = 0.1


class Face(Protocol):
    """Shows one training or one simulation."""

    def begin(self) -> None:
        """It starts."""

    def show(self, *, last: bool) -> None:
        """The watch has learnt something, for the last time perhaps."""

    def say(self, text: str) -> None:
        """Say something that stays."""

    def end(self) -> None:
        """Leave everything in order. It may have ended already."""


class Lines:
    """A complete line now and then. The seconds of the run decide when, so they are the same every time."""

    def __init__(self, console: Console, watch: Watch) -> None:
        self._console, self._watch = console, watch
        self._due_s = 0.0

    def begin(self) -> None:
        """Nothing to be done."""

    def show(self, *, last: bool) -> None:
        """Print a line, if it is time."""
        seconds, line = self._line()
        if line and (last or seconds >= self._due_s):
            self._due_s = seconds + LINE_PERIOD_S
            self.say(line)

    def say(self, text: str) -> None:
        """Print it."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def end(self) -> None:
        """Nothing to be done."""

    def _line(self) -> tuple[float, str]:
        watch, event = self._watch, self._watch.last
        done = watch.simulation
        if done is not None and done.done:
            parts = [f"simulated, {done.seconds:.1f} s", *simulation_words(done)]
            return done.seconds, f"{done.done}/{done.total}  {', '.join(parts)}"
        if event is None:
            return 0.0, ""
        words = [
            watch.figures(event.bound, event.estimate),
            count(event.cuts_active, "cut"),
            f"{event.seconds:.1f} s",
            left_words(event.remaining),
        ]
        return event.seconds, f"{watch.number}  {', '.join(filter(None, words))}"


class Bar(Lines):
    """One live line in a terminal."""

    def __init__(self, console: Console, watch: Watch) -> None:
        super().__init__(console, watch)
        self._live: Progress | None = None
        self._task = TaskID(0)
        self._drawn_s = 0.0

    def begin(self) -> None:
        """Draw it."""
        total, _, _ = self._how_far()
        columns: list[ProgressColumn] = [TextColumn("{task.fields[number]}", markup=False)]
        if total:
            columns.append(BarColumn(bar_width=BAR_WIDTH))
        columns.append(TextColumn("{task.description}", markup=False))
        # Refreshed by events alone: a thread of its own would outlive a run that nobody closed.
        # What goes from standard output to a file is none of the terminal's business.
        self._live = Progress(
            *columns, console=self._console, auto_refresh=False, redirect_stdout=sys.stdout.isatty()
        )
        self._live.start()
        self._task = self._live.add_task("", total=total, number="")

    def show(self, *, last: bool) -> None:
        """Draw it again, if it is time."""
        now = time.monotonic()
        if self._live is None or (not last and now < self._drawn_s + DRAW_PERIOD_S):
            return
        self._drawn_s = now
        total, done, texts = self._how_far()
        number = f"{done}/{total}" if total else str(done)
        room = self._console.width - len(number) - (BAR_WIDTH + 2) * bool(total)
        text = next((text for text in texts if len(text) < room), texts[-1])
        self._live.update(self._task, completed=done, description=text, number=number, refresh=True)

    def end(self) -> None:
        """Leave the line as it is, and the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _how_far(self) -> tuple[int | None, int, list[str]]:
        """Of how many how many are done, and words for it, the longest first."""
        watch, event, done = self._watch, self._watch.last, self._watch.simulation
        if done is not None:
            words = ["simulated", *simulation_words(done)]
            return done.total, done.done, [", ".join(words[:size]) for size in range(len(words), 0, -1)]
        if event is None:
            return watch.limit, 0, [""]
        figures, left = watch.figures(event.bound, event.estimate), left_words(event.remaining)
        words = [f"{figures}, {clock(event.seconds)}", figures, f"bound {event.bound:.6g}"]
        return watch.limit, event.iteration, [f"{text}, {left}" if left else text for text in words]
