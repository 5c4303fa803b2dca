"""Work that a signal should not stop halfway."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def finishing() -> Iterator[None]:
    """Let what is begun be finished before Ctrl-C, or SIGTERM where a program handles it, takes effect.

    A second one takes effect at once. Python raises the exception of a signal wherever it happens to be; in
    the clearing away of a file it would even be lost. In other threads than the main one there is no signal.
    """
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
    if threading.current_thread() is threading.main_thread():
        known = ((number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM))
        handlers = {number: handler for number, handler in known if callable(handler)}
    waiting: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        waiting.append(number)
        if len(waiting) > 1:
            handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if waiting:
        handlers[waiting[0]](waiting[0], None)
