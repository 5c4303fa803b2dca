"""Events on their way from rank 0's process to the process that started the run.

The listeners live in the process of the caller, who wrote them and may hold a terminal, a file or a notebook
in them. Rank 0 sends its events over a private socket to a thread there, which calls them in order.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge, wait
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cobre.comm._closing import Closing
from cobre.sddp.events import Event, Listener

#: The kernel takes no longer names for sockets, 104 on some systems, with the zero at the end.
_LONGEST_PATH = 103
#: How long a peer that is neither gone nor speaking may hold up the end: one stopped in mid-message.
_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Address:
    """Where a relay listens, and the key that opens it. It can be pickled, and is nobody else's business."""

    path: str
    key: bytes = field(repr=False)


class Relay:
    """The receiving end. Use it as a context manager around the run, and give `address` to rank 0.

    A listener that raises gets no further events, and the run goes on; its exception is raised when the
    relay closes, unless the run itself has failed. Closing delivers what has arrived, then leaves nothing:
    no thread, no file, no socket. Without listeners there is nothing from the start.
    """

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners: list[Listener] = list(listeners)
        self._errors: list[BaseException] = []
        self._address: Address | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> Address | None:
        """What `connect` takes; None if there are no listeners."""
        return self._address

    def __enter__(self) -> Self:
        if self._listeners:
            self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()
        if error is not None:
            for kept in self._errors:
                error.add_note(f"A listener has failed, too: {kept!r}")
        elif self._errors:
            first, *others = self._errors
            for other in others:
                first.add_note(f"Another listener has failed, too: {other!r}")
            raise first

    def _open(self) -> None:
        self._folder = _short_folder()
        self._address = Address(f"{self._folder}/s", secrets.token_bytes(32))
        self._peer: Connection[Any, Any] | None = None
        self._lock = threading.Lock()  # over `_peer`, which one thread closes and another interrupts
        self._door = socket.socket(socket.AF_UNIX)
        self._wake, self._alarm = socket.socketpair()
        try:
            self._door.bind(self._address.path)
            self._door.listen()
            self._thread = threading.Thread(target=self._serve, name="cobre-events", daemon=True)
            self._thread.start()
        except BaseException:
            for opened in (self._door, self._wake, self._alarm):
                opened.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def _close(self) -> None:
        if self._thread is None:
            return
        self._alarm.close()  # `_wake` is readable from now on
        self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():
            self._interrupt()
            self._thread.join()  # for a listener that is at work it waits, as a plain call would
        self._wake.close()
        self._thread = None

    def _interrupt(self) -> None:
        """End a read in which the thread is stuck; what has arrived whole is still delivered."""
        with self._lock:
            if self._peer is not None:
                with socket.socket(fileno=os.dup(self._peer.fileno())) as same, suppress(OSError):
                    same.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        try:
            peer = self._admit()
        finally:
            # There will be no second connection; so from here on even a killed process leaves nothing.
            self._door.close()
            shutil.rmtree(self._folder, ignore_errors=True)
        try:
            # It is over when rank 0 is done or dead, or when the relay closes and all that came is read.
            while peer is not None and peer in wait([peer, self._wake]):
                self._deliver(peer.recv())
        except (EOFError, OSError):
            pass
        finally:
            self._hang_up()

    def _admit(self) -> Connection[Any, Any] | None:
        """Wait for a peer that has the key; None if the relay closes first."""
        key = self._address.key if self._address else b""
        while self._wake not in wait([self._door, self._wake]):
            accepted, _ = self._door.accept()
            with self._lock:
                peer: Connection[Any, Any] = Connection(accepted.detach())
                self._peer = peer
            try:
                deliver_challenge(peer, key)
                answer_challenge(peer, key)
            except (AuthenticationError, EOFError, OSError):
                self._hang_up()
            else:
                return peer
        return None

    def _hang_up(self) -> None:
        with self._lock:
            if self._peer is not None:
                self._peer.close()
                self._peer = None

    def _deliver(self, event: Event) -> None:
        for listener in list(self._listeners):
            try:
                listener(event)
            except BaseException as error:  # noqa: BLE001  kept for the thread that can do something about it
                self._errors.append(error)
                self._listeners.remove(listener)


class Sender(Closing):
    """The sending end: a listener in rank 0's process. Once nobody listens any more, events are dropped."""

    def __init__(self, address: Address | None) -> None:
        self._connection: Connection[Any, Any] | None = None
        if address is not None:
            try:
                self._connection = Client(address.path, "AF_UNIX", authkey=address.key)
            except EOFError as error:
                raise ConnectionAbortedError(f"{address}: the relay has closed") from error

    def __call__(self, event: Event) -> None:
        """Send an event."""
        if self._connection is not None:
            try:
                self._connection.send(event)
            except OSError:
                self.close()

    def close(self) -> None:
        """Say that no more will come."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def connect(address: Address | None) -> Sender:
    """Return the way to the relay at ``address``; one that leads nowhere if it is None.

    Raises:
        OSError: nobody listens there any more.
    """
    return Sender(address)


def _short_folder() -> str:
    """Make a folder that only this user can enter, with a name that a socket's can begin with."""
    folder = tempfile.mkdtemp(prefix="cobre-")
    if len(os.fsencode(folder)) + len("/s") > _LONGEST_PATH:
        Path(folder).rmdir()
        folder = tempfile.mkdtemp(prefix="cobre-", dir="/tmp")
    return folder
