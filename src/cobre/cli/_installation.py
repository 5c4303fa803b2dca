"""The installation: versions, compiled parts and machine, for problem reports."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from cobre import __version__

#: Packages whose versions affect results, files or output.
PACKAGES = ("numpy", "highspy", "pyarrow", "pydantic", "typer", "rich", "mpi4py", "altair", "mcp")


@dataclass(frozen=True)
class Installation:
    """Versions, compiled parts and machine.

    Attributes:
        version: version of cobre.
        python: version and implementation of the interpreter.
        executable: path of the interpreter.
        packages: version of each dependency; None for one that is not installed.
        core: files of the compiled extensions; None for one that is missing.
        platform: system, release and processor.
        cpus: number of CPUs of the machine.
        usable_cpus: number of CPUs that this process may use.
    """

    version: str
    python: str
    executable: str
    packages: dict[str, str | None]
    core: dict[str, str | None]
    platform: str
    cpus: int
    usable_cpus: int


def inspect_installation() -> Installation:
    """Inspect the installation, without slow imports."""
    return Installation(
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
    """CPUs of this process, which containers and schedulers limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
