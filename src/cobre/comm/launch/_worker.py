"""The first code of a started process: tie its life to its parent's, then run a command or a function.

The launcher runs this file by its path. At first the process has not even its parent's ``sys.path``, so
only the standard library is imported at the top; what costs time is imported where it is needed.

```text
_worker.py exec PARENT GUARD_FD COMMAND…                become another program
_worker.py call PARENT GUARD_FD PAYLOAD_FD CHANNEL_FD  call a function with a communicator, report its result
_worker.py guard WATCHED_FD                            wait for the launcher's end, then end what ranks left
```
"""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False  # `typing` and `signal` take longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG, SIGKILL = 1, 9  # Linux


def main(action: str, *details: str) -> None:
    """Do what the command line says."""
    if action == "guard":
        guard(int(details[0]))
        return
    parent, guard_fd, *rest = details
    register(int(guard_fd))
    die_with_parent(int(parent))
    if action == "exec":
        become(rest)
    else:
        payload, channel = (int(fd) for fd in rest)
        call(payload, Channel(channel))


def guard(watched: int) -> None:
    """Kill all registered process groups once nobody holds the other end of this pipe any more."""
    from contextlib import suppress  # noqa: PLC0415

    groups = b""
    while part := os.read(watched, 4096):
        groups += part
    for group in groups.split():
        with suppress(ProcessLookupError, PermissionError):  # it has ended
            os.killpg(int(group), SIGKILL)


def register(guard_fd: int) -> None:
    """Tell the guard of this process's group, before there is anybody else in it."""
    try:
        os.write(guard_fd, b"%d\n" % os.getpgrp())
    except BrokenPipeError:  # it has been killed
        pass
    finally:
        os.close(guard_fd)


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when ``parent`` ends, even by SIGKILL. Linux only.

    The kernel watches the *thread* that started this process, so the launcher waits for its ranks in
    the thread that started them. The tie survives ``exec``; children of this process do not inherit it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above could take effect
        os._exit(1)


def become(command: list[str]) -> None:
    """Replace this program by another; exit as a shell does if there is none."""
    try:
        os.execvp(command[0], command)  # noqa: S606  running commands is its purpose
    except OSError as exc:
        sys.stderr.write(f"cannot run {command[0]!r}: {exc.strerror}\n")
        sys.exit(127 if isinstance(exc, FileNotFoundError) else 126)


class Channel:
    """This process's end of the connection to its parent; see `cobre.comm.launch.Parent`.

    To the parent: frames of eight bytes of length and a pickled pair, the kind of message and its content.
    From the parent: a byte for each `release` of another rank, and the stream's end once a rank has failed.
    """

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self._fd = fd
        self._reported = False

    def send(self, message: object) -> None:
        """Send a message to the parent. An exception raised by a signal would tear it: defer signals."""
        self._send("message", message)

    def release(self) -> None:
        """Let the other ranks return from their next `wait`."""
        self._send("release", None)

    def work_is_saved(self) -> None:
        """Tell the parent that this rank needs no time to save its work if another fails."""
        self._send("saved", None)

    def wait(self) -> None:
        """Wait, without a time limit, until another rank has called `release`.

        Raises:
            CollectiveFailed: a rank has failed, so nobody will.
        """
        if not os.read(self._fd, 1):
            from cobre.errors import CollectiveFailed  # noqa: PLC0415

            raise CollectiveFailed("wait", "another rank has failed; read its own traceback first")

    def joined(self) -> None:
        """Tell the parent that the group is assembled, so that this rank may have work to save."""
        self._send("joined", None)

    def succeed(self, value: bytes) -> None:
        """Report the pickled result."""
        self._report("result", value)

    def fail(self, error: BaseException) -> None:
        """Report the exception, its traceback as text, and what is lost when it is pickled."""
        import time  # noqa: PLC0415

        when = time.monotonic()  # comparable between the processes of a machine
        import traceback  # noqa: PLC0415

        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next  # frames of this file say nothing to the user
        self._report(
            "failure",
            {
                "error": _pickled(error),
                "when": when,
                "trace": "".join(traceback.format_exception(type(error), error, trace)),
                "is_consequence": _is_consequence(error),
                "exit_code": _exit_code(error),
            },
        )

    def _report(self, kind: str, content: object) -> None:
        if not self._reported:  # only what happened first counts
            self._reported = True
            self._send(kind, content)

    def _send(self, kind: str, content: object) -> None:
        import pickle  # noqa: PLC0415

        data = pickle.dumps((kind, content), pickle.HIGHEST_PROTOCOL)
        frame = memoryview(len(data).to_bytes(8, "little") + data)
        try:
            while frame:
                frame = frame[os.write(self._fd, frame) :]
        except BrokenPipeError:  # the parent is gone, and this process about to be
            pass


def call(payload: int, channel: Channel) -> None:
    """Run the payload's function with a communicator and report its result or its exception."""
    try:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a pipe holds lines back
        backend, function, takes_parent, args, kwargs = _load(payload)
        from cobre.comm.selection import create_communicator  # noqa: PLC0415  sys.path is the parent's now

        with create_communicator(backend) as comm:
            channel.joined()
            try:
                given = (comm, channel) if takes_parent else (comm,)
                value = _pickled_result(function(*given, *args, **kwargs))
            except BaseException as exc:
                channel.fail(exc)  # before the communicator closes and others fail in consequence
                raise
        channel.succeed(value)
    except BaseException as exc:
        channel.fail(exc)
        if isinstance(exc, SystemExit):
            raise  # its words and its code are Python's business
        sys.exit(1)


def _load(payload: int) -> Any:
    """Make this process resemble its parent, then unpickle what to call."""
    import mmap  # noqa: PLC0415
    import pickle  # noqa: PLC0415

    # Pages that somebody writes to are copied. Arrays refer to the others as long as they live.
    shared = memoryview(mmap.mmap(payload, 0, access=mmap.ACCESS_COPY))
    begin = int.from_bytes(shared[-8:], "little")
    preparation, task, places = pickle.loads(shared[begin:-8])  # noqa: S301  written by the parent
    buffers = [shared[place] for place in places]
    os.close(payload)
    sys.path[:] = preparation["sys_path"]
    sys.argv[:] = preparation["sys_argv"]
    if not preparation.keys() & {"init_main_from_name", "init_main_from_path"}:
        return pickle.loads(task, buffers=buffers)  # noqa: S301
    # Importing multiprocessing takes a third of the time that importing NumPy does.
    from multiprocessing import process, spawn  # noqa: PLC0415

    this: Any = process.current_process()
    this._inheriting = True  # what makes starting processes during the import an error
    try:
        spawn.prepare(preparation)
        return pickle.loads(task, buffers=buffers)  # noqa: S301
    finally:
        del this._inheriting


def _pickled_result(result: object) -> bytes:
    import pickle  # noqa: PLC0415

    try:
        return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Exception as exc:
        kind = type(result).__name__
        raise TypeError(f"the result, of type {kind}, cannot be sent to another process: {exc}") from exc


def _pickled(error: BaseException) -> bytes:
    """Pickle an exception, or a description of it if it does not survive that."""
    import pickle  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    try:
        data = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        if type(pickle.loads(data)) is type(error):  # noqa: S301
            return data
        reason = "it turns into another type"
    except Exception as exc:  # noqa: BLE001  whatever its own methods raise
        reason = str(exc)
    words = "".join(traceback.format_exception_only(error)).strip()
    return pickle.dumps(RuntimeError(f"{words} (this exception cannot be sent to another process: {reason})"))


def _is_consequence(error: BaseException | None) -> bool:
    """True if it was raised because another rank had failed, or while that was being handled."""
    errors = sys.modules.get("cobre.errors")
    while errors is not None and error is not None:
        if isinstance(error, errors.CollectiveFailed | errors.InvalidCommunicator):
            return True
        error = error.__cause__ or error.__context__
    return False


def _exit_code(error: BaseException) -> int:
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


if __name__ == "__main__":
    main(*sys.argv[1:])
