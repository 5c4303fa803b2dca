"""Writers that let a worker die, or wait, at a chosen place of a run. Workers import them."""

import os
import signal
import time
from pathlib import Path

from cobre.results import Writer


class DyingWriter(Writer):
    """A writer in whose process a place of the run is the last.

    ``policy``: while the policy is saved; ``between``: when the training is written and the simulation is not
    begun; ``simulation``: when the first scenarios are written.
    """

    def __init__(self, writer, place):
        super().__init__(writer.folder)
        self.place = place

    def begin(self, run):
        super().begin(run)
        replace = Path.replace

        def dying(path, target):
            if self.place == "policy" and Path(target).name == "policy.cobre":
                self.die()
            return replace(path, target)

        Path.replace = dying  # in this worker, whose only run this is

    def begin_simulation(self, *args):
        if self.place == "between":
            self.die()
        super().begin_simulation(*args)

    def scenarios(self):
        writing = super().scenarios()
        if self.place == "simulation":
            write = writing.write

            def dying(tables):
                write(tables)
                self.die()

            writing.write = dying
        return writing

    def die(self):
        if not (self.folder / "died").exists():  # the first death counts
            (self.folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)


class WaitingWriter(Writer):
    """A writer that waits between training and simulation until it may go on."""

    def __init__(self, writer):
        super().__init__(writer.folder)

    def begin_simulation(self, *args):
        (self.folder / "waiting").touch()
        while not (self.folder / "go").exists():
            time.sleep(0.002)
        super().begin_simulation(*args)
