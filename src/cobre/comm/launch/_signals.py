"""Signal handling: every handler that this package installs is installed here.

Three situations need one. The parent of running ranks takes note of a signal and passes it on
(`SignalWatch`). A rank, or a command that runs alone, turns the request to end into an exception, so that
finished work is saved (`interrupt_on_sigterm`, `terminated_in_order`). And a save that has begun is completed
before either takes effect (`deferred_signals`).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

#: The signals that end a process and may leave it the time to save its work.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP has come; its number is the argument."""


class SignalWatch:
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
        if _in_main_thread():
            for number in ENDING:
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
        _restore(self._before)
        os.close(self.wakes)
        os.close(self._waker)

    def follow(self) -> None:
        """Do what the first signal asked for, now that no rank depends on this process."""
        if self.received and self.received[0] == signal.SIGINT:
            raise KeyboardInterrupt
        if self.received:
            os.kill(os.getpid(), self.received[0])


def interrupt_on_sigterm() -> None:
    """Let SIGTERM raise KeyboardInterrupt in this process, as Ctrl-C does: the end of work, not its loss."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextmanager
def terminated_in_order(*, ignored: bool = False) -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `Terminated` inside the ``with`` statement.

    Args:
        ignored: ignore them, and Ctrl-C, instead: for a rank that stays until another has saved the run.
    """
    before: dict[int, Any] = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if ignored:
            signal.signal(number, signal.SIG_IGN)
        elif handler == signal.SIG_DFL:  # under nohup SIGHUP is ignored, and stays so
            signal.signal(number, _terminate)
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Complete what is in the ``with`` statement before Ctrl-C, or a handled SIGTERM, takes effect.

    A second signal takes effect at once. Python raises the exception of a signal wherever it happens to be;
    in the clearing away of a file it would even be lost. Outside the main thread no signal is handled, so
    there is none to defer.
    """
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
    if _in_main_thread():
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
        _restore(handlers)
    if waiting:
        handlers[waiting[0]](waiting[0], None)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(number)


def _restore(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
