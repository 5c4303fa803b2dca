"""How long a terminal waits for ``cobre`` before it does any work: help, completion, a small listing.

Beside it the least it could be, an interpreter that does nothing, and one that imports NumPy, which the
command must not. All are measured in turn; the best of all rounds counts. It says nothing about the first
start after an installation, which compiles, nor about disks that are slow to read from.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import harness
from rich.table import Table

LIMIT_S = 0.3
COBRE = (sys.executable, "-m", "cobre")
ASKED = {"_COBRE_COMPLETE": "complete_bash", "COMP_WORDS": "cobre run --b", "COMP_CWORD": "2"}
#: Pressing Tab asks the installed script, on whose name the variable's name depends.
SCRIPT = "import sys; sys.argv[0] = 'cobre'; from cobre.cli import main; main()"
STARTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "python -c pass": ((sys.executable, "-c", "pass"), {}),
    "python -c 'import numpy'": ((sys.executable, "-c", "import numpy"), {}),
    "cobre --version": ((*COBRE, "--version"), {}),
    "cobre --help": ((*COBRE, "--help"), {}),
    "cobre run --help": ((*COBRE, "run", "--help"), {}),
    "cobre run --b<Tab>": ((sys.executable, "-c", SCRIPT), ASKED),
    "cobre comm info": ((*COBRE, "comm", "info"), {}),
    "cobre init --list": ((*COBRE, "init", "--list"), {}),
}
#: What must answer at once; the others import what they work with.
AT_ONCE = ("cobre --version", "cobre --help", "cobre run --help", "cobre run --b<Tab>")


def run(quick: bool = False) -> dict[str, Any]:
    """Start each some times, in turn."""
    best = dict.fromkeys(STARTS, float("inf"))
    with harness.Neighbours() as neighbours:
        for _ in range(5 if quick else 20):
            for name, (command, variables) in STARTS.items():
                begun = time.perf_counter()
                subprocess.run(command, env={**os.environ, **variables}, check=True, capture_output=True)
                best[name] = min(best[name], time.perf_counter() - begun)
    return {"seconds": best, "limit_s": LIMIT_S, "others_cpu_percent": neighbours.percent}


def tables(result: dict[str, Any]) -> list[Table]:
    """Return one table."""
    table = Table(title="starting a command, best round")
    table.add_column("what")
    table.add_column("ms", justify="right")
    table.add_column(f"target {1e3 * result['limit_s']:.0f} ms")
    for name, seconds in result["seconds"].items():
        mark = "!" if seconds > result["limit_s"] else "kept"
        table.add_row(name, f"{1e3 * seconds:.0f}", mark if name in AT_ONCE else "")
    return [table]
