"""Guard of a run: ends what ranks have started if the launcher is killed.

The kernel ends a rank with its launcher (`cobre.comm.launch._worker`), but not what the rank has started: the
program behind ``sh -c``, for instance. That is in the rank's process group. So a small process of its own
knows all groups, and waits for the end of a pipe that only the launcher holds open.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: The program of the guard, of ranks, and of what becomes a command.
WORKER = str(Path(__file__).with_name("_worker.py"))


class Guard:
    """The launcher's end of the pipe. Close it only when no rank is left, so that nothing needs a guard."""

    def __init__(self) -> None:
        watched, self.fd = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own program
                [sys.executable, "-I", "-S", WORKER, "guard", str(watched)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[watched],
                process_group=0,  # a signal to our group, from a terminal for instance, must not end it first
            )
        except BaseException:
            os.close(self.fd)
            raise
        finally:
            os.close(watched)

    def close(self) -> None:
        """End the guard; the run has ended in order."""
        self._process.kill()
        self._process.wait()
        os.close(self.fd)
