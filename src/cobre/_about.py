"""What is installed here, for a report of a problem or a record of a run."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from cobre import __version__

#: The packages whose versions matter for what a run computes, writes or shows.
PACKAGES = ("numpy", "highspy", "pyarrow", "pydantic", "typer", "rich", "mpi4py", "altair", "mcp")


@dataclass(frozen=True)
class About:
    """An installation.

    Attributes:
        version: of cobre.
        python: version and implementation of the interpreter.
        executable: where that is.
        packages: the version of each package that is used; None for one that is not installed.
        core: the files of the compiled parts; None for one that is not there.
        platform: system, release and processor.
        cpus: how many the machine has.
        usable_cpus: how many of them this process may use.
    """

    version: str
    python: str
    executable: str
    packages: dict[str, str | None]
    core: dict[str, str | None]
    platform: str
    cpus: int
    usable_cpus: int


def about() -> About:
    """Look at this installation; nothing that takes long is imported."""
    return About(
        version=__version__,
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        executable=sys.executable,
        packages={name: _version(name) for name in PACKAGES},
        core={name: _file(f"cobre.{name}") for name in ("_native", "_lp")},
        platform=platform.platform(),
        cpus=os.cpu_count() or 1,
        usable_cpus=_usable_cpus(),
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _file(module: str) -> str | None:
    spec = find_spec(module)
    return None if spec is None else spec.origin


def _usable_cpus() -> int:
    """Containers and schedulers give a process fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
