"""The processes of one group: started one after the other, watched in one loop, ended together.

The loop waits for everything at once: what ranks print, send and report, their ends, and signals to this
process. It runs in the thread that started them, so there is nothing to clear away but the processes.
"""

from __future__ import annotations

import math
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self

from cobre.comm.launch._guard import Guard
from cobre.comm.launch._signals import SignalWatch

#: How long the other ranks may still report once one has failed: the first seen is not always the first.
GRACE_S = 0.2
#: How long processes may take to stop when asked to.
STOP_S = 0.8
#: How often to look, where the kernel does not tell that a process has ended.
POLL_S = 0.005
#: The most that is read in one go, so that no rank keeps the loop from the others.
PIECE = 1 << 18


class PrefixedOutput:
    """One output stream of one rank, passed on in whole lines with the rank in front.

    They go to ``sys.stdout`` or ``sys.stderr`` as they are at that moment, so that notebooks
    and test frameworks see them. Bytes pass unchanged where the stream has bytes underneath.
    """

    def __init__(self, prefix: str, target: Literal["stdout", "stderr"]) -> None:
        self._prefix = prefix.encode()
        self._target = target
        self._begun = bytearray()  # a line without its end

    def feed(self, data: bytes) -> None:
        """Pass on the lines that ``data`` completes; keep the rest."""
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._begun += data
            return
        lines = bytes(self._begun) + data[:end]
        self._begun[:] = data[end:]
        marked = self._prefix + lines[:-1].replace(b"\n", b"\n" + self._prefix) + b"\n"
        self._write(marked)

    def finish(self) -> None:
        """Pass on a last line that was left without its end."""
        if self._begun:
            self.feed(b"\n")

    def _write(self, data: bytes) -> None:
        stream = getattr(sys, self._target)
        if stream is None:  # a program without a console
            return
        below = getattr(stream, "buffer", None)
        if below is None:
            stream.write(data.decode("utf-8", "backslashreplace"))
        else:
            stream.flush()  # what was printed before comes first
            below.write(data)
        stream.flush()


class ParentChannel:
    """This process's end of the connection to one rank; `cobre.comm.launch._worker.Channel` is the other.

    Args:
        take: called with the kind and the content of each message.
    """

    def __init__(self, take: Callable[[str, Any], None]) -> None:
        self._take = take
        self._socket, self.theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._received = bytearray()

    @property
    def fd(self) -> int:
        """Its file descriptor."""
        return self._socket.fileno()

    def feed(self, data: bytes) -> None:
        """Take the messages that ``data`` completes; keep the rest."""
        self._received += data
        while len(self._received) >= 8:
            end = 8 + int.from_bytes(self._received[:8], "little")
            if len(self._received) < end:
                return
            with memoryview(self._received)[8:end] as frame:
                kind, content = pickle.loads(frame)  # noqa: S301  from our worker
            del self._received[:end]
            self._take(kind, content)

    def release(self) -> None:
        """Let the rank return from its next wait."""
        with suppress(OSError):  # it has ended
            self._socket.send(b"!")

    def hang_up(self) -> None:
        """Say that nothing will come: a rank that waits, or will wait, fails. What it sends still arrives."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close our end."""
        self._socket.close()


class RankProcess:
    """One process of the group: what it prints, sends and reports, and how it ended.

    Args:
        number: its rank.
        command: to run; with a payload, the file descriptors of that and of the channel are added to it.
        env: all its variables.
        guard: the file descriptor by which it registers with the guard of the run.
        payload: the file with the function to call, for a process that reports a result.
        prefix: whether to pass on what it prints, marked with the rank.
        take: called with its rank and each message that is not a report.
    """

    def __init__(  # noqa: PLR0913
        self,
        number: int,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        guard: int | None = None,
        payload: int | None = None,
        prefix: bool = True,
        take: Callable[[int, str, Any], None] = lambda rank, kind, content: None,
    ) -> None:
        self.number = number
        self.status: int | None = None  # as `subprocess.Popen.returncode`; None while it runs
        self.result: bytes | None = None  # pickled
        self.failure: dict[str, Any] | None = None  # see `cobre.comm.launch._worker.Channel.fail`
        self.streams: dict[int, Callable[[bytes], object]] = {}  # our end → what takes its bytes
        self.pidfd: int | None = None  # readable once the process has ended
        self.channel: ParentChannel | None = None
        self._take = take
        self._ended_at = math.inf
        self._output: list[PrefixedOutput] = []
        passed: list[int] = []
        pipes: list[int] = []
        try:
            if payload is not None:
                self.channel = ParentChannel(self._take_message)
                self.streams[self.channel.fd] = self.channel.feed
                passed = [payload, self.channel.theirs.fileno()]
            if prefix:
                self._output = [
                    PrefixedOutput(f"[{number}] ", "stdout"),
                    PrefixedOutput(f"[{number}] ", "stderr"),
                ]
                pipes = [self._pipe(output.feed) for output in self._output]
            self._process = subprocess.Popen(  # noqa: S603  running commands is its purpose
                [*command, *map(str, passed)],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=pipes[0] if prefix else None,
                stderr=pipes[1] if prefix else None,
                pass_fds=passed if guard is None else [*passed, guard],
                process_group=0,  # so that Ctrl-C at a terminal comes to us alone; we pass it on, once
            )
        except BaseException:
            self.close()
            raise
        finally:
            for fd in pipes:
                os.close(fd)
            if self.channel is not None:
                self.channel.theirs.close()
        with suppress(AttributeError, OSError):  # where it does not exist we look now and then
            self.pidfd = os.pidfd_open(self._process.pid)

    def _pipe(self, take: Callable[[bytes], object]) -> int:
        """Make a pipe from the process to us; return its end."""
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self.streams[ours] = take
        return theirs

    def _take_message(self, kind: str, content: Any) -> None:
        if kind == "result":
            self.result = content
        elif kind == "failure":
            self.failure = content
        else:
            self._take(self.number, kind, content)

    @property
    def failed(self) -> bool:
        """True once it is known that this rank has not done, and will not do, its work."""
        if self.failure is not None:
            return True
        unreported = self.channel is not None and self.result is None
        return self.status is not None and (self.status != 0 or unreported)

    @property
    def blame(self) -> tuple[bool, float]:
        """The order of failed ranks: causes before consequences, then by time."""
        if self.failure is not None:
            return self.failure["is_consequence"], self.failure["when"]
        killed = self.status is not None and self.status < 0
        return not killed and self.channel is None, self._ended_at

    def read(self, fd: int) -> bool:
        """Take what has come through one of the streams; False if that is nothing."""
        try:
            data = os.read(fd, PIECE)
        except BlockingIOError:
            return False
        except ConnectionResetError:  # it has ended with a message to it unread
            return False
        if data:
            self.streams[fd](data)
        return bool(data)

    def look(self) -> bool:
        """See whether the process has ended; if so, take the last of what it wrote."""
        self.status = self._look()
        if self.status is None:
            return False
        self._ended_at = time.monotonic()
        for fd in self.streams:
            # A pipe is never that full; but a process which this one left behind may fill it again.
            any(not self.read(fd) for _ in range(64))
        for output in self._output:
            output.finish()
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
        """Drop what it prints from now on; what it sends still counts."""
        self._output.clear()
        for fd in self.streams:
            if self.channel is None or fd != self.channel.fd:
                self.streams[fd] = len

    def close(self) -> None:
        """Close our ends of the streams."""
        if self.channel is not None:
            self.streams.pop(self.channel.fd, None)
            self.channel.close()
        for fd in self.streams:
            os.close(fd)
        self.streams.clear()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None


class ProcessGroup:
    """The processes of one run. Leaving the ``with`` statement ends those that still run.

    Args:
        signals: that come to this process, and are passed on.
        grace_period_s: how long ranks may take to end by themselves once a signal has come.
        failure_grace_period_s: likewise, once one of them has failed.
        on_message: called with its rank and the content of each message that a rank sends.
    """

    def __init__(
        self,
        signals: SignalWatch,
        grace_period_s: float = 0.0,
        failure_grace_period_s: float = 0.0,
        on_message: Callable[[int, Any], None] | None = None,
    ) -> None:
        self.ranks: list[RankProcess] = []
        self.timed_out = False
        self._assembled = self._work_is_saved = False
        self._signals = signals
        self._grace_period_s, self._failure_grace_period_s = grace_period_s, failure_grace_period_s
        self._on_message = on_message
        self._started_at = time.monotonic()

    def __enter__(self) -> Self:
        self.guard = Guard()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._signals.wakes, selectors.EVENT_READ, self._signals.clear)
        return self

    @property
    def running(self) -> list[RankProcess]:
        """The ranks that have not ended."""
        return [rank for rank in self.ranks if rank.status is None]

    def start(
        self, command: Sequence[str], env: Mapping[str, str], payload: int | None = None, prefix: bool = True
    ) -> None:
        """Start one more rank. With a payload, its last arguments are that and its end of a channel."""
        number = len(self.ranks)
        rank = RankProcess(
            number, command, env, guard=self.guard.fd, payload=payload, prefix=prefix, take=self._take
        )
        self.ranks.append(rank)
        for fd in rank.streams:
            self._selector.register(fd, selectors.EVENT_READ, lambda fd=fd: self._read(rank, fd))
        if rank.pidfd is not None:
            self._selector.register(rank.pidfd, selectors.EVENT_READ, lambda: self._look(rank))

    def _take(self, sender: int, kind: str, content: Any) -> None:
        if kind == "release":
            for rank in self.ranks:
                if rank.number != sender and rank.channel is not None:
                    rank.channel.release()
        elif kind == "joined":
            self._assembled = True
        elif kind == "saved":
            self._work_is_saved = True
        elif self._on_message is not None:
            self._on_message(sender, content)

    def wait(self, timeout_s: float | None = None) -> RankProcess | None:
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
            self._hang_up()
            begun = time.monotonic()
            # Ranks that wait for one that ended before it joined have nothing to save, and would wait long.
            grace_s = self._failure_grace_period_s if self._assembled else 0.0
            self._serve(begun + grace_s, lambda: self._work_is_saved or bool(self._signals.received))
            self._serve(begun + GRACE_S, lambda: bool(self._signals.received))
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
            self._stop(self._grace_period_s if interrupted or self._signals.received else 0.0)
            self._end_orphans()
        finally:  # whatever happened there
            for rank in self.ranks:
                if rank.status is None:
                    rank.send(signal.SIGKILL)
                rank.reap()
                rank.close()
            self._selector.close()
            self.guard.close()

    def _hang_up(self) -> None:
        """Let ranks fail that wait for another: it may be the one that has failed."""
        for rank in self.ranks:
            if rank.channel is not None:
                rank.channel.hang_up()

    def _stop(self, grace_s: float) -> None:
        """Ask all ranks to stop, by the signal that we got; kill those that do not, or if asked again."""
        self._hang_up()
        received = self._signals.received
        asked = len(received)
        for rank in self.running:
            rank.send(received[0] if received else signal.SIGTERM)
        stop_s = max(GRACE_S if self._work_is_saved else STOP_S, grace_s)
        self._serve(time.monotonic() + stop_s, lambda: len(received) > asked)
        for rank in self.running:
            rank.send(signal.SIGKILL)
        self._serve(math.inf, lambda: False)

    def _end_orphans(self) -> None:
        """End what ended ranks have left behind in their process groups."""
        if not hasattr(os, "waitid"):
            return  # ended ranks are reaped there, and their numbers may be somebody else's by now
        left = self.ranks
        for number, grace_s in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, GRACE_S)):
            for rank in left:
                rank.send(number)
            deadline = time.monotonic() + grace_s
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

    def _read(self, rank: RankProcess, fd: int) -> None:
        if fd in rank.streams and not rank.read(fd):
            self._selector.unregister(fd)  # the process has closed it, and may run on

    def _look(self, rank: RankProcess) -> None:
        if rank.look():
            watched = self._selector.get_map()
            for fd in (*rank.streams, rank.pidfd):
                if fd is not None and fd in watched:
                    self._selector.unregister(fd)
            rank.close()
