"""The systems that `comm.py` compares: how each is installed and how its ranks are started.

Every system runs the same program, `_comm_program.py`, and leaves its report in a file.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import BUILD, HERE, usable_cpus

PROGRAM = HERE / "_comm_program.py"
PEERS = BUILD / "peers"
TIMEOUT_S = 300.0
# A launcher above us, or a group we are part of, must not be taken for the one to be started.
FOREIGN = ("COBRE_", "OMPI_", "PMI_", "PMIX_", "PRTE_", "HYDRA_", "MPI", "SLURM_")


class SystemFailed(Exception):
    """A system cannot be installed or did not finish; the benchmark goes on without it."""


class Mpi:
    """mpi4py over an MPI library, both from wheels, in an environment of their own."""

    def __init__(self, name: str, label: str, binding: Sequence[str], oversubscribed: Sequence[str]) -> None:
        self.name, self.label = name, label
        self._binding, self._oversubscribed = binding, oversubscribed

    def install(self) -> None:
        """Make the environment, once; with our NumPy, so that only the MPI differs."""
        home, complete = PEERS / self.name, PEERS / self.name / "complete"
        if complete.exists():
            return
        numpy = f"numpy=={importlib.metadata.version('numpy')}"
        packages = ["mpi4py", self.name, numpy]
        try:
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            _run([str(home / "bin/python"), "-m", "pip", "install", "--quiet", *packages])
        except (OSError, subprocess.SubprocessError) as failure:
            said = getattr(failure, "stderr", None) or str(failure)
            raise SystemFailed(f"pip install {' '.join(packages)} failed: {_tail(said)}") from failure
        complete.touch()

    def run(self, ranks: int, arguments: Sequence[str]) -> dict[str, Any]:
        """Run the program once; return rank 0's report."""
        enough = ranks <= usable_cpus()
        options = [*(self._binding if enough else self._oversubscribed), "-n", str(ranks)]
        if self.name == "openmpi" and os.geteuid() == 0:
            options.append("--allow-run-as-root")
        home = PEERS / self.name / "bin"
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "report.json"
            program = [str(home / "python"), str(PROGRAM), "--adapter", "mpi", "--out", str(out), *arguments]
            return _finish([([str(home / "mpiexec"), *options, *program], {})], out)


class Cobre:
    """This package, over one of its backends."""

    name = "cobre"

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.label = f"cobre {backend}"

    def install(self) -> None:
        """See that the backend can run here."""
        from cobre.comm import available_backends  # noqa: PLC0415  a peers-only run does without

        status = available_backends().get(self.backend)
        if status is None or not status.available:
            raise SystemFailed(status.reason if status else f"there is no backend called {self.backend!r}")

    def run(self, ranks: int, arguments: Sequence[str]) -> dict[str, Any]:
        """Run the program once; return rank 0's report."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "report.json"
            program = [sys.executable, str(PROGRAM), "--adapter", "cobre", "--out", str(out), *arguments]
            launch = [
                sys.executable,
                "-m",
                "cobre",
                "launch",
                "-n",
                str(ranks),
                "--backend",
                self.backend,
                "--",
            ]
            return _finish([(launch + program, {})], out)


def is_ours(label: str) -> bool:
    """Say whether a label is cobre's."""
    return label.startswith("cobre ")


MPI_PEERS = {
    # Open MPI binds by itself when there are cores enough, and yields by itself when there are not.
    "openmpi": Mpi("openmpi", "Open MPI", ["--bind-to", "core"], ["--oversubscribe"]),
    "mpich": Mpi("mpich", "MPICH", ["-bind-to", "core"], []),
}


def _finish(commands: list[tuple[list[str], dict[str, str]]], out: Path) -> dict[str, Any]:
    """Start the processes, wait for all, and end those that are left when one fails or time is up."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment["OMP_NUM_THREADS"] = "1"
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


def _run(command: list[str]) -> None:
    subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)


def _tail(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return " | ".join(lines[-4:])[-400:] or "it said nothing"
