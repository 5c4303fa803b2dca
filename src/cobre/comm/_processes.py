"""The processes of one group: started one after the other, watched in one loop, ended together.

The loop waits for everything at once: what ranks print and report, their ends, and signals to this
process. It runs in the thread that started them, so there is nothing to clear away but the processes.
"""

from __future__ import annotations

import math
import os
import pickle
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from cobre.comm._output import Lines
from cobre.comm._signals import Signals

#: How long the other ranks may still report once one has failed: the first seen is not always the first.
GRACE_S = 0.2
#: How long processes may take to stop when asked to.
STOP_S = 0.8
#: How often to look, where the kernel does not tell that a process has ended.
POLL_S = 0.005


class Rank:
    """One process: what it prints and reports, and how it ended."""

    def __init__(
        self, number: int, command: Sequence[str], env: Mapping[str, str], payload: int | None, prefix: bool
    ) -> None:
        self.number = number
        self.status: int | None = None  # as `subprocess.Popen.returncode`; None while it runs
        self.report: dict[str, Any] | None = None  # see `cobre.comm._worker.Report`
        self.pipes: dict[int, Callable[[bytes], object]] = {}  # our end → who takes what comes out of it
        self.pidfd: int | None = None  # readable once the process has ended
        self._ended_at = math.inf
        self._reports = payload is not None
        self._message = bytearray()
        self._lines: list[Lines] = []
        passed: list[int] = []
        theirs: list[int] = []
        try:
            if payload is not None:
                theirs.append(self._pipe(self._take_message))
                passed = [payload, theirs[0]]
            if prefix:
                self._lines = [Lines(f"[{number}] ", "stdout"), Lines(f"[{number}] ", "stderr")]
                theirs += [self._pipe(lines.feed) for lines in self._lines]
            self._process = subprocess.Popen(  # noqa: S603  running commands is its purpose
                [*command, *map(str, passed)],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=theirs[-2] if prefix else None,
                stderr=theirs[-1] if prefix else None,
                pass_fds=passed,
                process_group=0,  # so that Ctrl-C at a terminal comes to us alone; we pass it on, once
            )
        except BaseException:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        with suppress(AttributeError, OSError):  # where it does not exist we look now and then
            self.pidfd = os.pidfd_open(self._process.pid)

    def _pipe(self, take: Callable[[bytes], object]) -> int:
        """Make a pipe from the process to us; return its end."""
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self.pipes[ours] = take
        return theirs

    def _take_message(self, data: bytes) -> None:
        self._message += data
        if len(self._message) >= 8 and len(self._message) == 8 + int.from_bytes(self._message[:8], "little"):
            self.report = pickle.loads(memoryview(self._message)[8:])  # noqa: S301  from our worker
            self._message.clear()

    @property
    def failed(self) -> bool:
        """Whether it is known that it has not done, and will not do, its work."""
        if self.report is not None and not self.report["succeeded"]:
            return True
        return self.status is not None and (self.status != 0 or (self._reports and self.report is None))

    @property
    def blame(self) -> tuple[bool, float]:
        """The order of failed ranks: causes before consequences, then by time."""
        if self.report is not None and not self.report["succeeded"]:
            return self.report["is_consequence"], self.report["when"]
        killed = self.status is not None and self.status < 0
        return not killed and not self._reports, self._ended_at

    def read(self, fd: int) -> bool:
        """Take what has come through one of the pipes; False if that is nothing."""
        try:
            data = os.read(fd, 1 << 18)
        except BlockingIOError:
            return False
        if data:
            self.pipes[fd](data)
        return bool(data)

    def look(self) -> bool:
        """See whether the process has ended; if so, take the last of what it wrote."""
        self.status = self._look()
        if self.status is None:
            return False
        self._ended_at = time.monotonic()
        for fd in self.pipes:
            # A pipe is never that full; but a process which this one left behind may fill it again.
            any(not self.read(fd) for _ in range(64))
        for lines in self._lines:
            lines.finish()
        return True

    def _look(self) -> int | None:
        if not hasattr(os, "waitid"):
            return self._process.poll()
        # It is reaped later: until then its number is taken, and we cannot signal a stranger by mistake.
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def send(self, number: int) -> None:
        """Send a signal to the process and to those that it has started."""
        with suppress(ProcessLookupError, PermissionError):  # macOS: nobody but a zombie is left
            os.killpg(self._process.pid, number)

    def reap(self) -> bool:
        """Forget the ended process; return whether it left others behind."""
        self._process.wait()
        try:
            os.killpg(self._process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def mute(self) -> None:
        """Drop what it prints from now on."""
        self._lines.clear()
        for fd in self.pipes:
            self.pipes[fd] = len

    def close(self) -> None:
        """Close our ends of the pipes."""
        for fd in self.pipes:
            os.close(fd)
        self.pipes.clear()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None


class Group:
    """The ranks of one run. Leaving the ``with`` statement ends those that still run.

    Args:
        signals: that come to this process, and are passed on.
        patience_s: how long ranks may take to end by themselves once a signal has come.
        failure_patience_s: likewise, once one of them has failed.
    """

    def __init__(self, signals: Signals, patience_s: float = 0.0, failure_patience_s: float = 0.0) -> None:
        self.ranks: list[Rank] = []
        self.timed_out = False
        self._signals = signals
        self._patience_s, self._failure_patience_s = patience_s, failure_patience_s
        self._started_at = time.monotonic()

    def __enter__(self) -> Self:
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._signals.wakes, selectors.EVENT_READ, self._signals.clear)
        return self

    @property
    def running(self) -> list[Rank]:
        """The ranks that have not ended."""
        return [rank for rank in self.ranks if rank.status is None]

    def start(
        self, command: Sequence[str], env: Mapping[str, str], payload: int | None = None, prefix: bool = True
    ) -> None:
        """Start one more rank. With a payload, its last arguments are that and a pipe for its report."""
        rank = Rank(len(self.ranks), command, env, payload, prefix)
        self.ranks.append(rank)
        for fd in rank.pipes:
            self._selector.register(fd, selectors.EVENT_READ, lambda fd=fd: self._read(rank, fd))
        if rank.pidfd is not None:
            self._selector.register(rank.pidfd, selectors.EVENT_READ, lambda: self._look(rank))

    def wait(self, timeout_s: float | None = None) -> Rank | None:
        """Wait until all ranks have ended, one has failed, the time is up, or a signal has come.

        Returns:
            Who is to blame: the rank that failed first or, if `timed_out`, the lowest that still
            runs. None if all went well, or a signal has come.
        """
        deadline = math.inf if timeout_s is None else self._started_at + timeout_s
        self._serve(deadline, lambda: bool(self._signals.received) or any(rank.failed for rank in self.ranks))
        if self._signals.received:
            return None
        if any(rank.failed for rank in self.ranks):
            patience_s = max(GRACE_S, self._failure_patience_s)
            self._serve(time.monotonic() + patience_s, lambda: bool(self._signals.received))
            return min((rank for rank in self.ranks if rank.failed), key=lambda rank: rank.blame)
        self.timed_out = bool(self.running)
        return self.running[0] if self.timed_out else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is not None:  # perhaps nobody listens any more
                for rank in self.ranks:
                    rank.mute()
            interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
            self._stop(self._patience_s if interrupted or self._signals.received else 0.0)
            self._end_orphans()
        finally:  # whatever happened there
            for rank in self.ranks:
                if rank.status is None:
                    rank.send(signal.SIGKILL)
                rank.reap()
                rank.close()
            self._selector.close()

    def _stop(self, patience_s: float) -> None:
        """Ask everybody to stop, by the signal that we got; end whoever does not, or if asked again."""
        received = self._signals.received
        asked = len(received)
        for rank in self.running:
            rank.send(received[0] if received else signal.SIGTERM)
        self._serve(time.monotonic() + max(STOP_S, patience_s), lambda: len(received) > asked)
        for rank in self.running:
            rank.send(signal.SIGKILL)
        self._serve(math.inf, lambda: False)

    def _end_orphans(self) -> None:
        """End what ended ranks have left behind in their process groups."""
        if not hasattr(os, "waitid"):
            return  # ended ranks are reaped there, and their numbers may be somebody else's by now
        left = self.ranks
        for number, patience_s in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, GRACE_S)):
            for rank in left:
                rank.send(number)
            deadline = time.monotonic() + patience_s
            while (left := [rank for rank in left if rank.reap()]) and time.monotonic() < deadline:
                time.sleep(POLL_S)

    def _serve(self, until: float, done: Callable[[], bool]) -> None:
        """Take what comes, while ranks run, until ``done()`` or that time."""
        while self.running and not done() and (left := until - time.monotonic()) > 0:
            blind = [rank for rank in self.running if rank.pidfd is None]
            limit = POLL_S if blind else None if left == math.inf else left
            for key, _ in self._selector.select(limit):
                key.data()
            for rank in blind:
                self._look(rank)

    def _read(self, rank: Rank, fd: int) -> None:
        if fd in rank.pipes and not rank.read(fd):
            self._selector.unregister(fd)  # the process has closed it, and may run on

    def _look(self, rank: Rank) -> None:
        if rank.look():
            watched = self._selector.get_map()
            for fd in (*rank.pipes, rank.pidfd):
                if fd is not None and fd in watched:
                    self._selector.unregister(fd)
            rank.close()
