"""Runs of a case folder, each in a process of its own: by us, and by cobre-python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from harness import BUILD, HERE

PROGRAM = HERE / "_case_program.py"
PEER = "cobre-python==0.5.1"
PEER_HOME = BUILD / "peers" / "cobre-python"
PEER_NEEDS = "python3.12"  # the only interpreter that its wheels are for
FOUR_REGIONS = HERE.parent / "examples" / "cases" / "four-regions"


class PeerMissing(Exception):
    """The peer cannot run here; the message says why."""


@dataclass(frozen=True)
class Trace:
    """How a training went: what had passed, and the bound, after each iteration."""

    seconds: list[float]
    bounds: list[float]
    solves: int
    solving_s: float | None = None

    def until(self, bound: float) -> tuple[float, int] | None:
        """Return the seconds and the iterations until a bound was reached; None if it was not."""
        for i, reached in enumerate(self.bounds):
            if reached >= bound:
                return self.seconds[i], i + 1
        return None


def copy_of(folder: Path, to: Path, iterations: int, scenarios: int = 0) -> Path:
    """Copy a case folder with other settings: so many iterations, and scenarios to simulate if any."""
    shutil.copytree(folder, to)
    path = to / "config.json"
    config = json.loads(path.read_text())
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": iterations}]
    config["simulation"] = {"enabled": scenarios > 0, **({"num_scenarios": scenarios} if scenarios else {})}
    path.write_text(json.dumps(config, indent=2) + "\n")
    return to


def run(
    action: str, folder: Path, output: Path, python: str = sys.executable, **ranks: int
) -> dict[str, Any]:
    """Run the program once, on so many ``workers`` and ``threads``; return what it says of itself."""
    who = [str(ranks.get("workers", 1)), str(ranks.get("threads", 1))]
    command = [python, str(PROGRAM), action, str(folder), str(output), *who]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr or done.stdout}")
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def trace_of(output: Path) -> Trace:
    """Read how a training went from the table that both leave."""
    table = pq.read_table(output / "training" / "convergence.parquet")
    seconds, passed = [], 0.0
    for taken in table["time_total_ms"].to_pylist():
        passed += taken / 1000
        seconds.append(passed)
    solves = sum(table["lp_solves"].to_pylist())
    return Trace(seconds, table["lower_bound"].to_pylist(), solves, _solving(output))


def _solving(output: Path) -> float | None:
    """The seconds in solves, over all threads; None where they are not told, as by the peer."""
    path = output / "training" / "solver" / "iterations.parquet"
    if not path.exists() or "solve_time_ms" not in pq.read_schema(path).names:
        return None
    return float(sum(pq.read_table(path)["solve_time_ms"].to_pylist()) / 1000)


def bits_of(output: Path) -> str:
    """A checksum over bounds and policy of a run of ours."""
    digest = sha256(str(trace_of(output).bounds).encode())
    digest.update((output / "policy" / "policy.cobre").read_bytes())
    return digest.hexdigest()


def size_of(folder: Path) -> tuple[int, int]:
    """Return how many files are in a folder, and their bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def peer_python(given: str | None) -> str:
    """Return an interpreter that has the peer: the one given, or that of an environment made for it, once.

    Raises:
        PeerMissing: there is none, and none can be made.
    """
    if given is not None:
        return given
    python, complete = PEER_HOME / "bin" / "python", PEER_HOME / "complete"
    if not complete.exists():
        _install(
            [_maker(), "-m", "venv", "--clear", str(PEER_HOME)],
            [str(python), "-m", "pip", "install", "--quiet", PEER],
        )
        complete.touch()
    return str(python)


def peer_version(python: str) -> str:
    """Return the version of the peer that an interpreter has."""
    asked = "import importlib.metadata as m; print(m.version('cobre-python'))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def _maker() -> str:
    """An interpreter that works: on PATH, where pyenv's may be a stand-in that does not, or pyenv's own."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [*os.environ["PATH"].split(os.pathsep), *(str(path) for path in versions.glob("*/bin"))]
    for place in places:
        found = shutil.which(PEER_NEEDS, path=place)
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    raise PeerMissing(f"{PEER} needs CPython 3.12, and there is no {PEER_NEEDS} on PATH; see --peer")


def _install(*commands: list[str]) -> None:
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeerMissing(f"{PEER} cannot be installed: {done.stderr.strip().splitlines()[-1]}")


def _environment() -> Mapping[str, str]:
    """Without what could make a rank or several threads of a run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COBRE_")}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
