"""The systems that `comm.py` compares: how each is installed and how its ranks are started.

Every system runs the same program, `_comm_program.py`, and leaves its report in a file.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import BUILD, HERE, usable_cpus

PROGRAM = HERE / "_comm_program.py"
REPORT = "report.json"
ENVIRONMENTS = BUILD / "peers"
TIMEOUT_S = 300.0
# A launcher above us, or a group we are part of, must not be taken for the one to be started.
FOREIGN = ("COBRE_", "OMPI_", "PMI_", "PMIX_", "PRTE_", "HYDRA_", "MPI", "SLURM_")


class SystemFailed(Exception):
    """A system cannot be installed or did not finish; the benchmark goes on without it."""


# The systems


class _Wheels:
    """An environment made from wheels; peers that need the same one share it."""

    def __init__(self, name: str, *packages: str) -> None:
        self.bin, self._complete = ENVIRONMENTS / name / "bin", ENVIRONMENTS / name / "complete"
        self._packages = packages

    def install(self) -> None:
        """Make the environment, once; with our NumPy, so that only the system under test differs."""
        if self._complete.exists():
            return
        packages = [*self._packages, f"numpy=={importlib.metadata.version('numpy')}"]
        try:
            _run([sys.executable, "-m", "venv", "--clear", str(self.bin.parent)])
            _run([str(self.bin / "python"), "-m", "pip", "install", "--quiet", *packages])
        except (OSError, subprocess.SubprocessError) as failure:
            said = getattr(failure, "stderr", None) or str(failure)
            raise SystemFailed(f"pip install {' '.join(packages)} failed: {_tail(said)}") from failure
        self._complete.touch()


class Mpi:
    """mpi4py over an MPI library, whose own variables can force it onto a transport."""

    adapters: tuple[str, ...] = ("mpi",)

    def __init__(self, label: str, library: str, **variables: str) -> None:
        self.label = label
        self._library, self._variables = library, variables
        self._wheels = _Wheels(library, "mpi4py", library)
        self._python = str(self._wheels.bin / "python")

    def install(self) -> None:
        self._wheels.install()

    def run(self, ranks: int, arguments: Sequence[str]) -> dict[str, Any]:
        """Run the program once; return rank 0's report."""
        launch = [str(self._wheels.bin / "mpiexec"), *self._placement(ranks), "-n", str(ranks)]
        with tempfile.TemporaryDirectory() as folder:
            program = _program(self._python, self.adapters, folder, arguments)
            return _finish([(launch + program, self._variables)], folder)

    def _placement(self, ranks: int) -> list[str]:
        if self._library == "mpich":
            return ["-bind-to", "core"] if ranks <= usable_cpus() else []
        # Open MPI yields by itself when it knows that there are more ranks than cores.
        placement = ["--bind-to", "core"] if ranks <= usable_cpus() else ["--oversubscribe"]
        return placement + ["--allow-run-as-root"] * (os.geteuid() == 0)


class CobreOnMpi(Mpi):
    """Our mpi backend and mpi4py by itself, in turn in the same processes, over a peer's library.

    What ours adds is less than what differs between two runs.
    """

    adapters = ("cobre", "mpi")

    def __init__(self, peer: Mpi) -> None:
        super().__init__(peer.label, peer._library, **peer._variables)

    def install(self) -> None:
        """Install the library, and have our interpreter use it."""
        Cobre("mpi").install()
        super().install()
        library = next((self._wheels.bin.parent / "lib").glob("libmpi.so.*"))
        self._variables |= {"MPI4PY_LIBMPI": str(library), "OMPI_MCA_osc": "^ucx"}
        self._python = sys.executable


class Gloo:
    """torch.distributed over gloo, which has no launcher that we need."""

    label = "gloo"

    def __init__(self) -> None:
        self._wheels = _Wheels("gloo", "torch==2.13.0")  # its wheel for the CPU is enough

    def install(self) -> None:
        self._wheels.install()

    def run(self, ranks: int, arguments: Sequence[str]) -> dict[str, Any]:
        """Run the program once; return rank 0's report."""
        with tempfile.TemporaryDirectory() as folder:
            program = _program(self._wheels.bin / "python", ("gloo",), folder, arguments)
            group = {
                "WORLD_SIZE": str(ranks),
                "MEETING_PLACE": f"file://{folder}/ranks",
                "GLOO_SOCKET_IFNAME": LOOPBACK,
            }
            return _finish([(program, group | {"RANK": str(rank)}) for rank in range(ranks)], folder)


class Cobre:
    """This package, over one of its backends."""

    _python = sys.executable

    def __init__(self, backend: str, variables: Mapping[str, str] | None = None) -> None:
        self.label = f"cobre {backend}"
        self._backend, self._variables = backend, dict(variables or {})

    def install(self) -> None:
        """See that the backend can run here."""
        from cobre.comm import available_backends  # noqa: PLC0415  a peers-only run does without

        status = available_backends().get(self._backend)
        if status is None or not status.available:
            raise SystemFailed(status.reason if status else f"there is no backend called {self._backend!r}")

    def run(self, ranks: int, arguments: Sequence[str]) -> dict[str, Any]:
        """Run the program once; return rank 0's report."""
        launch = [self._python, "-m", "cobre", "launch", "-n", str(ranks), "--backend", self._backend, "--"]
        with tempfile.TemporaryDirectory() as folder:
            program = _program(self._python, ("cobre",), folder, arguments)
            return _finish([(launch + program, self._variables)], folder)


class CobreBefore(Cobre):
    """The package of another checkout, to see what a change costs or gains."""

    def __init__(self, backend: str, variables: Mapping[str, str], python: str) -> None:
        super().__init__(backend, variables)
        self.label += " before"
        self._python = python


class CobreTls(Cobre):
    """The same with TLS between the ranks; its certificates last as long as this object."""

    def __init__(self, backend: str, variables: Mapping[str, str] | None = None) -> None:
        super().__init__(backend, variables)
        self.label += "+tls"
        self._folder = tempfile.TemporaryDirectory()

    def install(self) -> None:
        """See that the backend can run here, and make the certificates."""
        super().install()
        try:
            self._variables |= _certificates(Path(self._folder.name))
        except (OSError, subprocess.SubprocessError) as failure:
            said = getattr(failure, "stderr", None) or str(failure)
            raise SystemFailed(f"openssl could not make certificates: {_tail(said)}") from failure


LOOPBACK = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")

# Who stands beside us, by the transport that all use. UCX takes no loopback interface; it takes the address
# of another one, which the kernel routes through loopback all the same.
PEERS: dict[str, dict[str, Mpi | Gloo]] = {
    "shm": {"openmpi": Mpi("Open MPI", "openmpi"), "mpich": Mpi("MPICH", "mpich")},
    "tcp": {
        "openmpi": Mpi(
            "Open MPI",
            "openmpi",
            OMPI_MCA_pml="ob1",
            OMPI_MCA_btl="tcp,self",
            OMPI_MCA_btl_tcp_if_include=LOOPBACK,
            OMPI_MCA_coll="^sm",
        ),
        "mpich-ofi": Mpi(
            "MPICH ofi",
            "mpich",
            MPIR_CVAR_NOLOCAL="1",
            MPIR_CVAR_CH4_NETMOD="ofi",
            FI_PROVIDER="tcp",
            FI_TCP_IFACE=LOOPBACK,
        ),
        "mpich-ucx": Mpi(
            "MPICH ucx",
            "mpich",
            MPIR_CVAR_NOLOCAL="1",
            MPIR_CVAR_CH4_NETMOD="ucx",
            UCX_TLS="tcp,self",
        ),
        "gloo": Gloo(),
    },
}


def is_ours(label: str) -> bool:
    """Say whether a label is cobre's."""
    return label.startswith("cobre ")


def is_mpi(label: str) -> bool:
    """Say whether a label is that of an MPI library."""
    return not is_ours(label) and label != Gloo.label


def in_order(labels: set[str]) -> list[str]:
    """Return the labels as tables and charts show them: ours, MPI, the rest."""
    return sorted(labels, key=lambda label: (not is_ours(label), not is_mpi(label), label))


# Their processes


def _program(python: Path | str, adapters: Sequence[str], folder: str, arguments: Sequence[str]) -> list[str]:
    report = str(Path(folder) / REPORT)
    chosen = [word for adapter in adapters for word in ("--adapter", adapter)]
    return [str(python), str(PROGRAM), *chosen, "--out", report, *arguments]


def _finish(commands: list[tuple[list[str], dict[str, str]]], folder: str) -> dict[str, Any]:
    """Start the processes, wait for all, and end those that are left when one fails or time is up."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment["OMP_NUM_THREADS"] = "1"
    out = Path(folder) / REPORT
    with tempfile.TemporaryFile("w+") as log:
        started = [
            subprocess.Popen(
                command,
                env=environment | variables,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            for command, variables in commands
        ]
        try:
            problem = _wait(started)
        finally:
            _end(started)
        if problem or not out.exists():
            log.seek(0)
            raise SystemFailed(f"{problem or 'no report'}: {_tail(log.read())}")
    return json.loads(out.read_text())


def _wait(started: list[subprocess.Popen[bytes]]) -> str:
    """Return what went wrong; nothing if all ended well."""
    deadline = time.monotonic() + TIMEOUT_S
    while any(process.poll() is None for process in started):
        if any(process.poll() for process in started):
            time.sleep(1.0)  # the others may notice by themselves and say more
            break
        if time.monotonic() > deadline:
            return f"not finished after {TIMEOUT_S:.0f} s"
        time.sleep(0.02)
    failed = {index: process.returncode for index, process in enumerate(started) if process.returncode}
    return f"exit status {failed}" if failed else ""


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
    for process in started:
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _certificates(folder: Path) -> dict[str, str]:
    """Make an authority and a certificate, which all ranks show; return the variables that tell them so."""
    script = HERE.parent / "examples" / "several_machines" / "certificates.sh"
    _run(["sh", str(script), "1", str(folder)])
    files = {"CERT": "rank-0.pem", "KEY": "rank-0.key", "CA": "ca.pem"}
    return {f"COBRE_TCP_TLS_{use}": str(folder / file) for use, file in files.items()}


def _run(command: list[str]) -> None:
    subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)


def _tail(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return " | ".join(lines[-4:])[-400:] or "it said nothing"
