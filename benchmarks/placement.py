"""Whether this machine's first two CPUs are two cores or two threads of one core.

On a virtual machine the host may change that between two runs, and then everything that passes between
ranks changes with it: small collectives get several times faster, large ones slower. So each round of a
benchmark between processes records what this finds, and rounds with different answers do not compare.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from harness import BUILD, HERE

PROGRAM = BUILD / "placement"
FAR_NS = 100.0  # a spin barrier above that passes through no shared cache


def probe() -> dict[str, Any]:
    """Return a ``verdict``, and the two numbers it rests on or the ``reason`` why there are none."""
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cpus) < 2:
        return {"verdict": "unknown", "reason": "fewer than two CPUs, or a system that does not tell"}
    try:
        _build(HERE / "placement.cpp")
        command = [str(PROGRAM), str(cpus[0]), str(cpus[1])]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as failure:
        return {"verdict": "unknown", "reason": f"the probe did not run: {failure}"}
    barrier_ns, shared = (float(word) for word in done.stdout.split())
    return {
        "verdict": "two cores" if shared > 0.85 else "one core" if shared < 0.75 else "unclear",
        "spin_barrier_ns": barrier_ns,
        "rate_with_other_busy": shared,
    }


def kind(found: dict[str, Any]) -> str:
    """Return which rounds a round compares with, by what `probe` found before it."""
    if "spin_barrier_ns" not in found:
        return "placement unknown"
    if found["verdict"] == "one core":
        return "two threads of one core"
    return "two cores, near" if found["spin_barrier_ns"] < FAR_NS else "two cores, far"


def _build(source: Path) -> None:
    if PROGRAM.exists() and PROGRAM.stat().st_mtime > source.stat().st_mtime:
        return
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise OSError("no C++ compiler found")
    PROGRAM.parent.mkdir(exist_ok=True)
    command = [compiler, "-O2", "-pthread", "-o", str(PROGRAM), str(source)]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
