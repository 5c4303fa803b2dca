"""Waiting for other processes, never for ever."""

import time

#: Far more than anything takes, even where other work keeps all processors busy.
DEADLINE_S = 60.0


def eventually(condition, within_s=DEADLINE_S):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def output_of(process):
    """Exit code, stdout and stderr of a process that is about to end."""
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err
