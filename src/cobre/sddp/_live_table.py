"""The table that changes in place: when it is drawn, and how it leaves the terminal."""

from __future__ import annotations

import sys
import threading
import time

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment

from cobre.sddp._faces import DRAW_PERIOD_S, Lines
from cobre.sddp._picture import picture
from cobre.sddp._watch import Watch

#: Of the time of a run, drawing takes no more than this share: what takes longer is drawn less often.
SHARE = 0.005
#: When nothing has happened, the clock alone moves, and so often.
CLOCK_S = 1.0


class Table(Lines):
    """A table in a terminal, which is taken away at the end. What is said meanwhile appears above it.

    Args:
        console: a terminal.
        watch: what to show.
        moving: whether a thread draws it, between events too. Then events cost next to nothing, and
            somebody must call `end`. Otherwise events draw it.
    """

    def __init__(self, console: Console, watch: Watch, *, moving: bool) -> None:
        super().__init__(console, watch)
        self._live: Live | None = None
        thread = threading.Thread(target=self._move, name="cobre-table", daemon=True)
        self._thread = thread if moving else None
        self._over = threading.Event()
        self._widths: list[int] = []
        self._drawn_s, self._period_s = 0.0, DRAW_PERIOD_S

    def begin(self) -> None:
        """Draw it."""
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # what goes to a file is none of the terminal's business
            vertical_overflow="crop",
        )
        self._live.start(refresh=True)
        if self._thread is not None:
            self._thread.start()

    def show(self, *, last: bool) -> None:
        """Draw it again, if it is time and nobody else does."""
        if self._thread is None and (last or time.monotonic() >= self._drawn_s + self._period_s):
            self._draw()

    def end(self) -> None:
        """Take the table away. If training was not finished, a line says how far it was."""
        if self._live is None:
            return
        live, self._live = self._live, None
        self._over.set()
        try:
            if self._thread is not None and self._thread.is_alive():
                self._thread.join()
            self._fit()
            live.stop()
        except BaseException:  # a second Ctrl-C does not wait
            self._console.show_cursor(True)
            raise
        event = self._watch.last
        if event is not None and event.remaining is not None:
            self.say(self._line()[1])

    def _move(self) -> None:
        """Draw as long as it lasts."""
        while not self._over.wait(self._period_s):
            changed = self._watch.heard_s > self._drawn_s
            if changed or time.monotonic() >= self._drawn_s + CLOCK_S:
                try:
                    self._draw()
                except (OSError, SystemExit):  # nobody reads any more
                    return

    def _draw(self) -> None:
        live = self._live
        if live is None:
            return
        begun, self._drawn_s = time.thread_time(), time.monotonic()
        self._fit()
        live.refresh()
        self._period_s = max(DRAW_PERIOD_S, (time.thread_time() - begun) / SHARE)

    def _fit(self) -> None:
        """In a window that was made narrower, long lines have become several: take all of them away."""
        width = self._console.width
        rows = sum(max(1, -(-length // width)) for length in self._widths)
        if rows > len(self._widths):
            up = [(ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)] * (rows - 1)
            back = (ControlType.CURSOR_DOWN, len(self._widths) - 1)
            self._console.control(
                Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *up, back)
            )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the picture in the room that there is, one column and one line less than the terminal has."""
        lines = picture(self._watch, options.max_width - 1, console.height - 1)
        self._widths = [sum(len(text) for text, _ in line) for line in lines]
        for i, line in enumerate(lines):
            if i:
                yield Segment.line()
            yield from (Segment(text, console.get_style(style) if style else None) for text, style in line)
