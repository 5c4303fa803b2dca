"""What ranks do in the tests of the launcher. A module of its own, so that ranks need not import pytest."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import cobre.comm
from cobre.comm import CollectiveFailed

DEADLINE_S = 20.0


#: What a forked process would remember of the one that it is a copy of.
MEMORY = []


def remember(comm):
    return MEMORY


def wait_for(path):
    deadline = time.monotonic() + DEADLINE_S
    while not Path(path).exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.001)


def who(comm, *args, **kwargs):
    total = np.empty(1)
    comm.allreduce(np.array([float(comm.rank)]), total)
    return comm.rank, comm.size, total[0], args, kwargs


def environment(comm, *names):
    return [os.environ.get(name) for name in names]


def echo(comm, array):
    return array + comm.rank


def one_fails(comm, how):
    """Rank 1 ends in some way, while the others wait for it."""
    if comm.rank != 1:
        comm.barrier()
    match how:
        case "raise":
            raise ValueError("boom")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(3)
        case "exit with words":
            sys.exit("that is all")
        case "exit well":
            sys.exit()
        case "exit at once":
            os._exit(7)
        case "exit at once, well":
            os._exit(0)


def cause_comes_late(comm, path, how):
    """Rank 1 leaves, rank 0 fails in consequence and says so, and only then rank 1 raises."""
    if comm.rank == 1:
        comm.close()
        wait_for(path)
        raise ValueError("the cause")
    try:
        comm.barrier()
    except CollectiveFailed as exc:
        Path(path).touch()
        if how == "plain":
            raise
        if how == "wrapped":
            raise RuntimeError("the run failed") from exc
        sys.exit(5)


class Telling(Exception):
    """Touches a file when it is sent to the parent."""

    def __reduce__(self):
        Path(self.args[1]).touch()
        return Telling, self.args


def two_raise(comm, path):
    """Both ranks raise for reasons of their own, rank 0 when rank 1 has done so."""
    if comm.rank == 1:
        raise Telling("the first", path)
    wait_for(path)
    raise ValueError("the second")


def wait_long(comm, path=None):
    """Say that it has begun, and never end."""
    if path is not None:
        Path(f"{path}.{comm.rank}").touch()
    time.sleep(1000)


def say_and_wait(comm, path, go):
    """Say that it has begun, and end when told to."""
    Path(f"{path}.{comm.rank}").touch()
    wait_for(go)


def stubborn(comm, path):
    """One rank ignores all that can be ignored; the other fails once it does."""
    if comm.rank == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(path).touch()
        time.sleep(1000)
    wait_for(path)
    raise ValueError("boom")


def leaves_a_child(comm, stubborn):
    ignore = "trap '' TERM; " if stubborn else ""
    subprocess.Popen(["sh", "-c", f"{ignore}while true; do sleep 0.05; done"])
    return comm.rank


def leaves_a_thread(comm):
    """Report a failure, and then never end by itself."""
    threading.Thread(target=time.sleep, args=(1000,)).start()
    raise ValueError("boom")


def print_much(comm, count):
    """Write lines in pieces that have nothing to do with their ends, to both streams at once."""
    text = b"".join(b"%d:%d:%s\n" % (comm.rank, i, b"x" * (i % 200)) for i in range(count))
    comm.barrier()
    for start in range(0, len(text), 1013):
        os.write(1, text[start : start + 1013])
        os.write(2, text[start : start + 1013])


def print_raw(comm, data):
    os.write(1, data)


def print_both(comm):
    sys.stdout.write(f"out {comm.rank}\n")
    sys.stderr.write(f"err {comm.rank}\n")


def print_and_wait(comm, path):
    """Print through Python's own buffer, and end only when that has been seen."""
    sys.stdout.write("as it happens\n")
    wait_for(path)


def read_stdin(comm):
    return sys.stdin.read()


def returns_a_lock(comm):
    return threading.Lock() if comm.rank == 1 else None


class Needy(Exception):
    """Can be pickled, but not unpickled."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def raises_needy(comm):
    if comm.rank == 1:
        raise Needy("this", "that")


class OnlyThere:
    """Can be rebuilt in a rank, and not in the process of the tests."""

    def __reduce__(self):
        return _rebuild, (os.getpid(),)


def _rebuild(pid):
    if os.getpid() != pid:
        raise LookupError("no such thing here")
    return OnlyThere()


class DiesOnArrival:
    """Kills rank 1 when it gets its arguments, before it joins the group."""

    def __reduce__(self):
        return _die, (os.getpid(),)


def _die(pid):
    if os.getpid() != pid and os.environ["COBRE_SHM_RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)


def returns_what_only_exists_there(comm):
    return OnlyThere()


def nested(comm):
    return cobre.comm.run_ranks(who, 2, backend="socket", args=(comm.rank,))


def loaded_modules(comm):
    return sorted(sys.modules)


def interpreter(comm):
    return sys.flags.optimize, sys.argv, sys.path, Path.cwd()


def note_signals(comm, path):
    """Write down every SIGINT and SIGTERM; end a while after the first."""
    got = threading.Event()

    def note(number, frame):
        with Path(f"{path}.{comm.rank}.signals").open("a") as file:
            file.write(f"{signal.Signals(number).name}\n")
        got.set()

    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGTERM, note)
    Path(f"{path}.{comm.rank}").touch()
    assert got.wait(DEADLINE_S)
    time.sleep(0.2)  # for a second one, which must not come


def ignores_signals(comm, path):
    """Write down signals, and never end by itself."""

    def note(number, frame):
        Path(f"{path}.{comm.rank}.signals").touch()

    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGTERM, note)
    Path(f"{path}.{comm.rank}").touch()
    while True:
        time.sleep(1000)


def prints_until_asked(comm, path):
    """Print and print; when asked to stop, take a moment to do it well."""

    def stop(number, frame):
        time.sleep(0.1)
        Path(f"{path}.{comm.rank}").touch()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    comm.barrier()
    while True:
        sys.stdout.write("again\n")


def save_slowly(comm, path, seconds):
    """Take a while, on rank 0, to put work away when asked to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        Path(f"{path}.{comm.rank}").touch()
        time.sleep(60)
    except KeyboardInterrupt:
        if comm.rank == 0:
            Path(f"{path}.saving").touch()
            time.sleep(seconds)
            Path(f"{path}.saved").touch()
        raise


def arrays_as_they_came(comm, frozen, free):
    """Whether each array may be written to and has its own pages, before and after this rank has written."""
    looked_at = float(frozen.sum() + free.sum())
    comm.barrier()  # all ranks hold all pages
    before = own_kib(frozen), own_kib(free)
    comm.barrier()
    free += 1 + comm.rank
    comm.barrier()
    after = own_kib(frozen), own_kib(free)
    comm.barrier()
    return looked_at, (frozen.flags.writeable, free.flags.writeable), before, after, float(free[0])


def own_kib(array):
    """KiB of the pages of an array that no other process has."""
    first, pages, inside = array.ctypes.data, 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split()[0]
        if "-" in head and not head.endswith(":"):
            begin, end = (int(place, 16) for place in head.split("-"))
            inside = begin < first + array.nbytes and end > first
        elif inside and head in {"Private_Clean:", "Private_Dirty:"}:
            pages += int(line.split()[1])
    return pages
