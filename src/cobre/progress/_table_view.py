"""Live table of a training in a terminal: when it is drawn, and how it leaves the terminal."""

from __future__ import annotations

import sys
import threading
import time

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment

from cobre.progress._screen import render
from cobre.progress._state import ProgressState
from cobre.progress._views import DRAW_PERIOD_S, LogView

#: Drawing takes at most this share of a run's time: a slow terminal is redrawn less often. The cheaper of the
#: last two drawings counts, because a single one may have paid for an import or a garbage collection.
DRAW_SHARE = 0.005
#: Without events the clock is redrawn this often.
CLOCK_PERIOD_S = 1.0


class TableView(LogView):
    """A table in a terminal, removed at the end. Messages appear above it.

    Args:
        console: a terminal.
        state: of the training.
        threaded: whether a thread draws it, between events too. Then an event costs next to nothing, and the
            caller must call `end`. Otherwise events draw it.
    """

    def __init__(self, console: Console, state: ProgressState, *, threaded: bool) -> None:
        super().__init__(console, state)
        self._live: Live | None = None
        thread = threading.Thread(target=self._draw_until_end, name="cobre-table", daemon=True)
        self._thread = thread if threaded else None
        self._ended = threading.Event()
        self._widths: list[int] = []
        self._drawn_s, self._cost_s, self._period_s = 0.0, 0.0, DRAW_PERIOD_S

    def begin(self) -> None:
        """Draw the table."""
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # what goes to a file must not reach the terminal
            vertical_overflow="crop",
        )
        self._live.start(refresh=True)
        if self._thread is not None:
            self._thread.start()

    def show(self, *, last: bool) -> None:
        """Redraw the table, if that is due and no thread does it."""
        if self._thread is None and (last or time.monotonic() >= self._drawn_s + self._period_s):
            self._draw()

    def end(self) -> None:
        """Remove the table. Of an unfinished training, a line says how far it came."""
        if self._live is None:
            return
        live, self._live = self._live, None
        self._ended.set()
        try:
            if self._thread is not None and self._thread.is_alive():
                self._thread.join()
            self._fit()
            live.stop()
        except BaseException:  # a second Ctrl-C does not wait
            self._console.show_cursor(True)
            raise
        event = self._state.last
        if event is not None and event.remaining is not None:
            self.say(self._line()[1])

    def _draw_until_end(self) -> None:
        while not self._ended.wait(self._period_s):
            changed = self._state.updated_s > self._drawn_s
            if changed or time.monotonic() >= self._drawn_s + CLOCK_PERIOD_S:
                try:
                    self._draw()
                except (OSError, SystemExit):  # the terminal is gone
                    return

    def _draw(self) -> None:
        live = self._live
        if live is None:
            return
        begun, self._drawn_s = time.thread_time(), time.monotonic()
        self._fit()
        live.refresh()
        before, self._cost_s = self._cost_s, time.thread_time() - begun
        self._period_s = max(DRAW_PERIOD_S, min(before, self._cost_s) / DRAW_SHARE)

    def _fit(self) -> None:
        """Erase lines that a narrower window has folded into several, which rich does not know of."""
        width = self._console.width
        rows = sum(max(1, -(-length // width)) for length in self._widths)
        if rows > len(self._widths):
            up = [(ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)] * (rows - 1)
            back = (ControlType.CURSOR_DOWN, len(self._widths) - 1)
            self._console.control(
                Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *up, back)
            )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table for a screen of one column and one line less than the terminal has."""
        lines = render(self._state, options.max_width - 1, console.height - 1)
        self._widths = [sum(len(text) for text, _ in line) for line in lines]
        for i, line in enumerate(lines):
            if i:
                yield Segment.line()
            yield from (Segment(text, console.get_style(style) if style else None) for text, style in line)
