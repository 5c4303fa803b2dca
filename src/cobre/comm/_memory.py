"""How much memory there is: asked before a region is made, since otherwise the answer is a killed process."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def available_bytes(proc: str = "/proc", cgroups: str = "/sys/fs/cgroup") -> int:
    """What could be allocated without swapping: the kernel's estimate, or less where a container has less."""
    available = sys.maxsize
    with open(f"{proc}/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                available = int(line.split()[1]) * 1024
    with suppress(OSError, ValueError):  # no cgroups of version 2: no limit that we could know
        group = _contents(f"{proc}/self/cgroup").partition("0::/")[2]
        while True:
            folder = f"{cgroups}/{group}".rstrip("/")
            if (
                os.path.exists(f"{folder}/memory.max")
                and (limit := _contents(f"{folder}/memory.max")) != "max"
            ):
                used = int(_contents(f"{folder}/memory.current"))
                available = min(available, max(0, int(limit) - used))
            if not group:
                break
            group = os.path.dirname(group)
    return available


def _contents(path: str) -> str:
    with open(path) as file:
        return file.read().strip()
