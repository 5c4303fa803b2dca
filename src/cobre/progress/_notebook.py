"""Progress in a notebook: one output, updated in place, that needs no widgets and stays in the saved file."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from cobre.formatting import clock, count
from cobre.progress._state import ProgressState, describe_simulation, time_left

#: An update costs the front end more than it costs a terminal.
DRAW_PERIOD_S = 0.25
#: Number of messages shown, the last ones.
MESSAGES = 6

_OUTPUT = (
    '<div style="font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px;line-height:1.6;'
    'font-variant-numeric:tabular-nums">{}</div>'
)
_TRACK = (
    '<div role="progressbar" aria-valuemin="0" aria-valuemax="{total}" aria-valuenow="{done}" '
    'style="height:8px;max-width:40em;margin:4px 0;border-radius:4px;background:rgba(128,128,128,.3)">'
    '<div style="height:100%;width:{share:.1f}%;border-radius:4px;background:#2a9d8f"></div></div>'
)
#: Neither black nor white, because either may be the background.
_MESSAGE = '<div style="opacity:.75">{}</div>'


class NotebookCell:
    """The output of a cell, shared by the trainings and simulations of the cell."""

    def __init__(self) -> None:
        self._cell: object = None
        self._handle: Any = None
        self._above = self._now = ""

    def begin(self) -> None:
        """Begin a part, below those of this cell, or in a new output for another cell."""
        from IPython import get_ipython  # noqa: PLC0415  only notebooks have it
        from IPython.display import HTML, display  # noqa: PLC0415

        cell = get_ipython().execution_count
        self._above = self._above + self._now if cell == self._cell else ""
        self._now = ""
        if cell != self._cell:
            self._cell = cell
            self._handle = display(HTML(_OUTPUT.format("")), display_id=True)  # type: ignore[no-untyped-call]

    def show(self, content: str) -> None:
        """Replace the content of the part."""
        from IPython.display import HTML  # noqa: PLC0415

        self._now = content
        self._handle.update(HTML(_OUTPUT.format(self._above + content)))  # type: ignore[no-untyped-call]


class NotebookView:
    """A training or a simulation in a notebook."""

    def __init__(self, cell: NotebookCell, state: ProgressState) -> None:
        self._output, self._state = cell, state
        self._messages: list[str] = []
        self._drawn_s = 0.0
        self._begun = False

    def begin(self) -> None:
        """Start the display."""
        self._output.begin()
        self._begun = True
        self._draw()

    def show(self, *, last: bool) -> None:
        """Redraw it, if that is due."""
        if last or time.monotonic() >= self._drawn_s + DRAW_PERIOD_S:
            self._draw()

    def say(self, text: str) -> None:
        """Add a message."""
        self._messages.append(text)
        if self._begun:
            self._draw()

    def end(self) -> None:
        """Display the final state."""
        if self._begun:
            self._draw()

    def _draw(self) -> None:
        self._drawn_s = time.monotonic()
        done, total, text = self._progress()
        bar = _TRACK.format(done=done, total=total, share=100 * done / total) if total else ""
        messages = "".join(_MESSAGE.format(escape(line)) for line in self._messages[-MESSAGES:])
        self._output.show(f"{bar}<div>{text}</div>{messages}")

    def _progress(self) -> tuple[int, int | None, str]:
        state, event, simulation = self._state, self._state.last, self._state.simulation
        if simulation is not None:
            parts = ["simulated", clock(simulation.seconds), *describe_simulation(simulation)]
            text = f"<b>{simulation.done}</b> of {simulation.total} {escape(', '.join(parts))}"
            return simulation.done, simulation.total, text
        if event is None:
            return 0, state.limit, "the first iteration"
        of = f" of {state.limit}" if state.limit else ""
        parts = [state.describe_bound(event.bound, event.estimate), count(event.cuts_active, "cut")]
        parts += [clock(event.seconds), time_left(event.remaining)]
        text = f"iteration <b>{event.iteration}</b>{of}: {escape(', '.join(filter(None, parts)))}"
        return event.iteration, state.limit, text
