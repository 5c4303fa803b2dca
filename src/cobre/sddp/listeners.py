"""Listeners: who watches a run, and who writes it down."""

from __future__ import annotations

import json
import math
from os import PathLike
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn

from cobre.comm._closing import Closing
from cobre.sddp.events import (
    Event,
    GuardTripped,
    IterationFinished,
    SimulationProgress,
    TrainingFinished,
    TrainingStarted,
    to_dict,
)
from cobre.sddp.stopping import Estimate

#: Where nobody watches a terminal, a line at most this often, in seconds of the run.
LINE_PERIOD_S = 5.0

GUARD_WORDS = {
    "value_corrected": "a value was wrong, and was computed again",
    "cut_rejected": "a cut was above a value that is known, and was not added",
    "bound_above": "the bound is beyond what trajectories cost: it is wrong, or they missed what is rare",
}


class ProgressBar(Closing):
    """Shows how far a run is: one live line in a terminal, a plain line now and then elsewhere.

    It ends with the run. Use it as a context manager, and the terminal is in order after a failure too.

    Args:
        console: where to; standard error unless given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._live: Progress | None = None
        self._task = TaskID(0)
        self._limit: int | None = None
        self._risk_neutral = True
        self._line_due_s = 0.0

    def __call__(self, event: Event) -> None:
        """Show an event. If nobody reads any more, the run goes on unseen."""
        try:
            self._show_event(event)
        except (OSError, SystemExit):  # the latter is what rich makes of a broken pipe
            self._console.quiet = True

    def _show_event(self, event: Event) -> None:
        match event:
            case TrainingStarted():
                self._started(event)
            case IterationFinished():
                self._iteration(event)
            case TrainingFinished():
                self.close()
                self._print(
                    f"stopped: {event.reason}; {_count(event.iterations, 'iteration')}, "
                    f"{self._figures(event.bound, event.estimate)}, {event.seconds:.1f} s"
                )
            case GuardTripped():
                self._print(
                    f"iteration {event.iteration}, node {event.node!r}: {GUARD_WORDS[event.kind]} "
                    f"({event.claimed:.8g} and {event.found:.8g})"
                )
            case SimulationProgress():
                self._simulation(event)

    def close(self) -> None:
        """Leave the terminal as it was. Another run may be shown afterwards."""
        self._line_due_s = 0.0
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _started(self, event: TrainingStarted) -> None:
        self.close()
        self._print(
            f"training {_count(event.nodes, 'node')} with {_count(event.states, 'state')}, "
            f"{_count(event.trajectories, 'trajectory', 'trajectories')} per iteration, on "
            f"{_count(event.ranks, 'rank')} of {_count(event.threads, 'thread')} over {event.backend}"
        )
        self._print(f"until: {event.stop}")
        self._limit, self._risk_neutral = event.iteration_limit, event.risk_neutral
        self._begin(self._limit, event.first_iteration - 1)

    def _iteration(self, event: IterationFinished) -> None:
        last = event.iteration == self._limit
        of = f"/{self._limit}" if self._limit else ""
        self._show(
            f"{event.iteration}{of}",
            f"{self._figures(event.bound, event.estimate)}, {_count(event.cuts_active, 'cut')}, "
            f"{event.seconds:.1f} s",
            event.iteration,
            event.seconds,
            at_once=last,
        )

    def _simulation(self, event: SimulationProgress) -> None:
        if self._live is None:
            self._begin(event.total, 0)
        finished = event.done >= event.total
        of = f"{event.done}/{event.total}"
        self._show(of, f"simulated, {event.seconds:.1f} s", event.done, event.seconds, at_once=finished)
        if finished:
            self.close()

    def _begin(self, total: int | None, done: int) -> None:
        if not (self._console.is_terminal or self._console.is_jupyter):
            return
        columns: list[ProgressColumn] = [TextColumn("{task.fields[number]}", markup=False)]
        if total:
            columns.append(BarColumn(bar_width=12))
        columns.append(TextColumn("{task.description}", markup=False))
        # Refreshed by events alone: a thread of its own would outlive a run that nobody closed.
        self._live = Progress(*columns, console=self._console, auto_refresh=False)
        self._live.start()
        self._task = self._live.add_task("", total=total, completed=done, number="")

    def _show(self, number: str, text: str, done: int, seconds: float, *, at_once: bool) -> None:
        if self._live is not None:
            self._live.update(self._task, completed=done, description=text, number=number, refresh=True)
        elif at_once or seconds >= self._line_due_s:
            self._line_due_s = seconds + LINE_PERIOD_S
            self._print(f"{number}  {text}")

    def _figures(self, bound: float, estimate: Estimate) -> str:
        half = f" ± {estimate.half_width():.2g}" if estimate.count > 1 else ""
        # With risk the bound is on another number than the mean.
        gap = abs(estimate.mean - bound) / abs(bound) if self._risk_neutral and bound else math.inf
        shown = f", gap {gap:.2%}" if gap <= 1 else ""  # at first it says nothing
        return f"bound {bound:.6g}, mean {estimate.mean:.6g}{half}{shown}"

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


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


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
