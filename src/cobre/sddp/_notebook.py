"""Progress in a notebook: one output that changes in place. It needs no widgets, and stays in the file."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from cobre._words import clock, count
from cobre.sddp._watch import Watch, left_words, simulation_words

#: What each change costs the front end is more than a terminal takes.
DRAW_PERIOD_S = 0.25
#: How many of the things that were said are shown, the last ones.
SAID = 6

_PAGE = (
    '<div style="font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px;line-height:1.6;'
    'font-variant-numeric:tabular-nums">{}</div>'
)
_TRACK = (
    '<div role="progressbar" aria-valuemin="0" aria-valuemax="{total}" aria-valuenow="{done}" '
    'style="height:8px;max-width:40em;margin:4px 0;border-radius:4px;background:rgba(128,128,128,.3)">'
    '<div style="height:100%;width:{share:.1f}%;border-radius:4px;background:#2a9d8f"></div></div>'
)
#: Neither black nor white: both are a notebook's background.
_SAID = '<div style="opacity:.75">{}</div>'


class Page:
    """The output of a cell. A training and a simulation of one cell share it."""

    def __init__(self) -> None:
        self._cell: object = None
        self._handle: Any = None
        self._above = self._now = ""

    def begin(self) -> None:
        """Below what this cell has shown, or in the output of another cell."""
        from IPython import get_ipython  # noqa: PLC0415  only notebooks have it
        from IPython.display import HTML, display  # noqa: PLC0415

        cell = get_ipython().execution_count
        self._above = self._above + self._now if cell == self._cell else ""
        self._now = ""
        if cell != self._cell:
            self._cell = cell
            self._handle = display(HTML(_PAGE.format("")), display_id=True)  # type: ignore[no-untyped-call]

    def show(self, content: str) -> None:
        """Replace what was shown since `begin`."""
        from IPython.display import HTML  # noqa: PLC0415

        self._now = content
        self._handle.update(HTML(_PAGE.format(self._above + content)))  # type: ignore[no-untyped-call]


class Notebook:
    """A training or a simulation in a notebook."""

    def __init__(self, page: Page, watch: Watch) -> None:
        self._page, self._watch = page, watch
        self._said: list[str] = []
        self._drawn_s = 0.0
        self._begun = False

    def begin(self) -> None:
        """Make room for it."""
        self._page.begin()
        self._begun = True
        self._draw()

    def show(self, *, last: bool) -> None:
        """Show it, if it is time."""
        if last or time.monotonic() >= self._drawn_s + DRAW_PERIOD_S:
            self._draw()

    def say(self, text: str) -> None:
        """Add it to what was said."""
        self._said.append(text)
        if self._begun:
            self._draw()

    def end(self) -> None:
        """Show how far it came."""
        if self._begun:
            self._draw()

    def _draw(self) -> None:
        self._drawn_s = time.monotonic()
        done, total, text = self._how_far()
        bar = _TRACK.format(done=done, total=total, share=100 * done / total) if total else ""
        said = "".join(_SAID.format(escape(line)) for line in self._said[-SAID:])
        self._page.show(f"{bar}<div>{text}</div>{said}")

    def _how_far(self) -> tuple[int, int | None, str]:
        watch, event = self._watch, self._watch.last
        if watch.simulation is not None:
            done = watch.simulation
            words = escape(", ".join(["simulated", clock(done.seconds), *simulation_words(done)]))
            text = f"<b>{done.done}</b> of {done.total} {words}"
            return done.done, done.total, text
        if event is None:
            return 0, watch.limit, "the first iteration"
        of = f" of {watch.limit}" if watch.limit else ""
        parts = [watch.figures(event.bound, event.estimate), count(event.cuts_active, "cut")]
        parts += [clock(event.seconds), left_words(event.remaining)]
        text = f"iteration <b>{event.iteration}</b>{of}: {escape(', '.join(filter(None, parts)))}"
        return event.iteration, watch.limit, text
