"""The pages, and how to run what they show."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.mpi_launch import turn

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in DOCS.rglob("*.md") if "_build" not in page.relative_to(DOCS).parts),
]

needs_shm = pytest.mark.skipif(sys.platform != "linux", reason="the pages use shm, which needs Linux")

#: Pages that are one story: their commands leave files that later ones use.
STORIES = [
    DOCS / "tutorial" / "newcomer.md",
    DOCS / "how-to" / "make-a-case.md",
    DOCS / "how-to" / "run-a-case.md",
    DOCS / "how-to" / "solve-a-file.md",
    DOCS / "how-to" / "run-a-cyclic-study.md",
    DOCS / "how-to" / "look-at-results.md",
    DOCS / "how-to" / "compare-two-runs.md",
    DOCS / "how-to" / "train-in-parallel.md",
    DOCS / "explanation" / "guarantees.md",
]

#: A machine that tests has few cores, perhaps no ordinary user, and no network card; and no terminal.
ENVIRONMENT = {
    "COLUMNS": "80",
    "DEMO": "one-reservoir",  # what `make demo` runs otherwise takes a minute
    "TERM": "dumb",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_osc": "^ucx",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def as_a_clone(folder):
    """Fill a folder with what a clone has, built: examples to write to, the rest as links."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("output"))
    for name in ("Makefile", "benchmarks", "pyproject.toml", "tools", "CMakeLists.txt", "native", "src"):
        (folder / name).symlink_to(ROOT / name)
    environment = folder / ".venv"
    environment.mkdir()
    for entry in Path(sys.prefix).iterdir():
        (environment / entry.name).symlink_to(entry)
    for stamp in ("tools", "built"):  # make takes what is newer than its sources for done
        (environment / stamp).unlink(missing_ok=True)
        (environment / stamp).touch()


def blocks(text, language):
    """The contents of the fenced blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _outside_make():
    """The variables of this process without those by which make knows that it was called by another."""
    return {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }


def run_session(block, folder):
    """Run the commands of a ``console`` block; what they print must be what follows them there."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    assert commands, f"no command in\n{block}"
    for command, wanted in commands:
        # A launch of MPI takes its turn: tests of it remove what launches leave in shared memory.
        with turn() if "mpiexec" in command else nullcontext():
            ran = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env={**_outside_make(), **ENVIRONMENT, "PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=100,
                check=False,
            )
        assert doctest.OutputChecker().check_output(
            _by_rank(wanted), _by_rank(ran.stdout), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ), f"{command} printed\n{ran.stdout}"


def _by_rank(output):
    """Lines in the order of their rank, since ranks print when they like."""
    lines = output.splitlines(keepends=True)
    return "".join(sorted(lines, key=lambda line: re.match(r"(\[\d+\])?", line)[0]))
