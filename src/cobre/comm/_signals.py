"""Signals to a process that has ranks to look after."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self


class Signals:
    """Takes note of signals that would end this process, instead of letting them, while ranks run.

    A signal for which the program has a handler of its own is left to it. Outside the main thread,
    where Python handles no signals, none are taken.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.wakes, self._waker = os.pipe()  # readable once a signal has come
        os.set_blocking(self.wakes, False)
        os.set_blocking(self._waker, False)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)
        if len(self.received) > 2:  # somebody means it: we may be stuck in passing on output
            raise KeyboardInterrupt
        os.write(self._waker, b"!")

    def clear(self) -> None:
        """Make `wakes` wait for the next signal."""
        with suppress(BlockingIOError):
            os.read(self.wakes, 64)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.wakes)
        os.close(self._waker)

    def follow(self) -> None:
        """Do what the first signal asked for, now that nobody depends on us."""
        if self.received and self.received[0] == signal.SIGINT:
            raise KeyboardInterrupt
        if self.received:
            os.kill(os.getpid(), self.received[0])
