"""Delivery of events to listeners, in a thread of the process that started the workers.

The process that starts workers must wait for them in one loop. A listener may block, write to a slow terminal
or raise; in a thread of its own it holds up neither training nor the report of a worker that has died.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from cobre.sddp.events import Event, Listener

#: Time in which listeners may take what has arrived before a failure of the run is raised.
FAILURE_GRACE_S = 0.25


class EventDelivery:
    """Calls listeners with events in the order of `put`. A context manager around the run.

    A listener that raises gets no further events, and the run goes on; its exception is raised at the end,
    unless the run itself has failed. At the end of a run that has not, all events are delivered.
    """

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = list(listeners)
        self._errors: list[BaseException] = []
        self._queue: SimpleQueue[Event | None] = SimpleQueue()  # None ends the thread
        self._abandoned = False
        self._thread = threading.Thread(target=self._serve, name="cobre-events", daemon=True)

    def __enter__(self) -> Self:
        if self._listeners:
            self._thread.start()
        return self

    def put(self, event: Event) -> None:
        """Deliver an event soon."""
        self._queue.put(event)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.ident is None:
            return
        self._queue.put(None)
        try:
            self._thread.join(None if error is None else FAILURE_GRACE_S)
        finally:  # Ctrl-C ends the wait for a listener that blocks; so does the failure of the run
            self._abandoned = True
        self._report(error)

    def _report(self, error: BaseException | None) -> None:
        if error is not None:
            for kept in self._errors:
                error.add_note(f"A listener has failed, too: {kept!r}")
        elif self._errors:
            first, *others = self._errors
            for other in others:
                first.add_note(f"Another listener has failed, too: {other!r}")
            raise first

    def _serve(self) -> None:
        while (event := self._queue.get()) is not None:
            for listener in list(self._listeners):
                if self._abandoned:
                    return
                try:
                    listener(event)
                except BaseException as error:  # noqa: BLE001  kept for the thread that can raise it
                    self._errors.append(error)
                    self._listeners.remove(listener)
