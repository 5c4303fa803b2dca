"""Views of a run for a log and for one line of a terminal, and the interface that all views share."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn

from cobre.formatting import clock, count
from cobre.progress._state import ProgressState, describe_simulation, time_left

#: Log lines are at least this far apart, in seconds of the run.
LINE_PERIOD_S = 5.0
#: Width of a bar in columns.
BAR_WIDTH = 12
#: A live view is redrawn at most this often.
DRAW_PERIOD_S = 0.1


class ProgressView(Protocol):
    """Display of one training or one simulation."""

    def begin(self) -> None:
        """Start the display."""

    def show(self, *, last: bool) -> None:
        """Display the state, which has changed; ``last`` says that it will not change again."""

    def say(self, text: str) -> None:
        """Print a line that stays."""

    def end(self) -> None:
        """End the display and restore the terminal. A second call does nothing."""


class LogView:
    """A complete line every few seconds of the run. The run's own clock decides, so logs are reproducible."""

    def __init__(self, console: Console, state: ProgressState) -> None:
        self._console, self._state = console, state
        self._due_s = 0.0

    def begin(self) -> None:
        """Do nothing: lines come with events."""

    def show(self, *, last: bool) -> None:
        """Print a line, if one is due."""
        seconds, line = self._line()
        if line and (last or seconds >= self._due_s):
            self._due_s = seconds + LINE_PERIOD_S
            self.say(line)

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def end(self) -> None:
        """Do nothing: every line is complete."""

    def _line(self) -> tuple[float, str]:
        """Return the seconds of the run and the line for them, empty before the first event."""
        state, event, simulation = self._state, self._state.last, self._state.simulation
        if simulation is not None and simulation.done:
            parts = [f"simulated, {simulation.seconds:.1f} s", *describe_simulation(simulation)]
            return simulation.seconds, f"{simulation.done}/{simulation.total}  {', '.join(parts)}"
        if event is None:
            return 0.0, ""
        parts = [
            state.describe_bound(event.bound, event.estimate),
            count(event.cuts_active, "cut"),
            f"{event.seconds:.1f} s",
            time_left(event.remaining),
        ]
        number = f"{event.iteration}/{state.limit}" if state.limit else str(event.iteration)
        return event.seconds, f"{number}  {', '.join(filter(None, parts))}"


class BarView(LogView):
    """One live line in a terminal."""

    def __init__(self, console: Console, state: ProgressState) -> None:
        super().__init__(console, state)
        self._live: Progress | None = None
        self._task = TaskID(0)
        self._drawn_s = 0.0

    def begin(self) -> None:
        """Draw the line."""
        total, _, _ = self._progress()
        columns: list[ProgressColumn] = [TextColumn("{task.fields[number]}", markup=False)]
        if total:
            columns.append(BarColumn(bar_width=BAR_WIDTH))
        columns.append(TextColumn("{task.description}", markup=False))
        # Only events refresh it, because a thread would outlive a run whose listener is never closed.
        # Standard output that goes to a file must not be redirected to the terminal.
        self._live = Progress(
            *columns, console=self._console, auto_refresh=False, redirect_stdout=sys.stdout.isatty()
        )
        self._live.start()
        self._task = self._live.add_task("", total=total, number="")

    def show(self, *, last: bool) -> None:
        """Redraw the line, if it is due."""
        now = time.monotonic()
        if self._live is None or (not last and now < self._drawn_s + DRAW_PERIOD_S):
            return
        self._drawn_s = now
        total, done, texts = self._progress()
        number = f"{done}/{total}" if total else str(done)
        room = self._console.width - len(number) - (BAR_WIDTH + 2) * bool(total)
        text = next((text for text in texts if len(text) < room), texts[-1])
        self._live.update(self._task, completed=done, description=text, number=number, refresh=True)

    def end(self) -> None:
        """Keep the line as it is, and restore the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _progress(self) -> tuple[int | None, int, list[str]]:
        """Return total, number done, and texts of decreasing length, so that one fits the terminal."""
        state, event, simulation = self._state, self._state.last, self._state.simulation
        if simulation is not None:
            parts = ["simulated", *describe_simulation(simulation)]
            texts = [", ".join(parts[:size]) for size in range(len(parts), 0, -1)]
            return simulation.total, simulation.done, texts
        if event is None:
            return state.limit, 0, [""]
        figures, left = state.describe_bound(event.bound, event.estimate), time_left(event.remaining)
        texts = [f"{figures}, {clock(event.seconds)}", figures, f"bound {event.bound:.6g}"]
        return state.limit, event.iteration, [f"{text}, {left}" if left else text for text in texts]
