"""Other processes: how they begin, and waiting for them, never for ever."""

import signal
import time
from pathlib import Path

#: Far more than anything takes, even where other work keeps all processors busy.
DEADLINE_S = 60.0


def eventually(condition, within_s=DEADLINE_S):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def sleeps(pid):
    """Whether a process waits for something."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] == "S"


def output_of(process):
    """Exit code, stdout and stderr of a process that is about to end."""
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err


def give_children_default_signals():
    """Let no process that is started from here on ignore a signal because this one was started so.

    ``nohup`` and the background of a shell script ignore signals, and what is ignored stays ignored in every
    child. A handler does not: this process still goes on at a hang-up, and its children take it as usual.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _go_on)


def _go_on(_number, _frame):
    pass
