"""The payload of a rank: a function, its arguments, and the settings that let a fresh process call it.

The technique, and the importing of the main module, are those of `multiprocessing` with the start method
``spawn``.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import process, spawn
from typing import IO, Any

from cobre.errors import InitializationFailed

ALIGNMENT = 64

GUARD = """\
this script is just being imported by a rank, which needs the functions in it, and must not start ranks \
itself. Put what the script does when it is run under

    if __name__ == "__main__":
        main()
"""


@contextmanager
def payload(
    backend: str,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    takes_parent: bool,
) -> Iterator[int]:
    """Yield the file descriptor of a file without a name that holds everything for all ranks.

    It is pickled once, and every rank maps the same pages: arrays among the arguments are in memory once, as
    long as nobody writes to them. In the file come the contents of arrays, what unpickles them, and in the
    last eight bytes the place where that begins. ``takes_parent`` tells whether the function takes
    the connection to the parent as its second argument.

    Raises:
        InitializationFailed: nothing may be started from here.
        TypeError: something cannot be pickled, or not be found by another process.
    """
    refuse_to_start(backend)
    call, buffers = _pickled(backend, fn, takes_parent, args, kwargs)
    preparation = _preparation(needs_main=b"__main__" in call)
    with _nameless_file() as file:
        places = [_write_aligned(file, buffer.raw()) for buffer in buffers]
        begin = file.tell()
        file.write(pickle.dumps((preparation, call, places), pickle.HIGHEST_PROTOCOL))
        file.write(begin.to_bytes(8, "little"))
        file.flush()
        yield file.fileno()


def _write_aligned(file: IO[bytes], content: memoryview) -> slice:
    """Write at a place where a vector may begin; return the place."""
    file.write(bytes(-file.tell() % ALIGNMENT))
    begin = file.tell()
    file.write(content)
    return slice(begin, file.tell())


def _nameless_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("cobre-payload"), "w+b")
    return tempfile.TemporaryFile()


def refuse_to_start(backend: str) -> None:
    """Raise InitializationFailed if ranks must not be started from this process, whatever they are to do."""
    if getattr(process.current_process(), "_inheriting", False):
        raise InitializationFailed(backend, GUARD)


def _pickled(
    backend: str,
    fn: Callable[..., Any],
    takes_parent: bool,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """Return the pickled call, and the contents of its arrays, which are not in it."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        task = (backend, fn, takes_parent, args, kwargs)
        return pickle.dumps(task, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append), buffers
    except Exception as exc:
        what, advice = "an argument", ""
        try:
            pickle.dumps(fn, pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001  whatever its own methods raise
            what = f"the function {fn!r}"
            advice = "; define it at the top level of a module or script, with def"
        raise TypeError(f"run_ranks: {what} cannot be sent to other processes: {exc}{advice}") from exc


def _preparation(*, needs_main: bool) -> dict[str, Any]:
    """Return the settings that make a fresh process resemble this one; the main module only if needed."""
    method = multiprocessing.get_start_method(allow_none=True)
    preparation: dict[str, Any] = spawn.get_preparation_data("rank")
    preparation["authkey"] = bytes(preparation["authkey"])  # in its own type it refuses to be pickled
    if method is None:  # asking for it has set it to the default, which we neither want here nor in ranks
        multiprocessing.set_start_method(None, force=True)
        del preparation["start_method"]
    main = {"init_main_from_name", "init_main_from_path"}
    if not needs_main:
        return {name: value for name, value in preparation.items() if name not in main}
    if not main & preparation.keys():
        raise TypeError(
            "run_ranks: the function or an argument was defined in an interactive session, where other "
            "processes cannot find it; put it into a module and import it from there"
        )
    return preparation
