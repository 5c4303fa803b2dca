"""What the benchmarks share: a clock, a fair order, a record of where the numbers come from.

A *measurement* of one candidate in one round is the median over batches of the time per call. Rounds
alternate between the candidates, beginning with another one each time, so that a busy neighbour or a
changing clock frequency meets all of them. The *best* of the rounds is reported: interference only
ever adds time. What compares candidates is a ratio of such numbers from one run.
"""

from __future__ import annotations

import datetime
import gc
import importlib.metadata
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
BUILD = HERE.parent / "build"
TABLE_WIDTH = 170  # what the widest table needs; what does not fit, Rich would cut


# Timing


def best_of_rounds(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 5,
    batches: int = 7,
    batch_s: float = 0.002,
) -> dict[str, dict[str, Any]]:
    """Time the candidates against each other; seconds per call, for each of them.

    Returns, per candidate, ``best`` (of the rounds' medians) and ``rounds`` (all of them).
    """
    calls = {name: calls_per_batch(call, batch_s) for name, call in candidates.items()}
    measured: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds):
        for name in rotated(list(candidates), turn):
            measured[name].append(_median_per_call(candidates[name], calls[name], batches))
    return {name: {"best": min(values), "rounds": values} for name, values in measured.items()}


def rotated(names: list[str], turn: int) -> list[str]:
    """Return the names, beginning with another one each turn."""
    shift = turn % max(1, len(names))
    return names[shift:] + names[:shift]


def calls_per_batch(call: Callable[[], object], batch_s: float) -> int:
    """Return how many calls fill a batch; the calls made on the way warm up caches and branches."""
    calls = 1
    while True:
        elapsed = time_batch(call, calls)
        if elapsed >= batch_s / 4 or calls >= 1 << 20:
            return max(1, min(1 << 20, round(calls * batch_s / max(elapsed, 1e-9))))
        calls *= 4


def time_batch(call: Callable[[], object], calls: int) -> float:
    """Return the seconds that so many calls take."""
    begin = time.perf_counter_ns()
    for _ in repeat(None, calls):
        call()
    return (time.perf_counter_ns() - begin) * 1e-9


def _median_per_call(call: Callable[[], object], calls: int, batches: int) -> float:
    gc.collect()
    gc.disable()
    try:
        return statistics.median(time_batch(call, calls) / calls for _ in range(batches))
    finally:
        gc.enable()


class Neighbours:
    """How much CPU the rest of the machine used while a block ran, in percent of one CPU.

    A figure that the reader of a result needs: a benchmark that shares its cores measures the sharing.
    It is None where the system does not tell.
    """

    def __enter__(self) -> Neighbours:
        self.percent: float | None = None
        self._begin = self._reading()
        return self

    def __exit__(self, *_: object) -> None:
        end = self._reading()
        if self._begin and end and end[0] > self._begin[0]:
            wall, busy, own = (after - before for after, before in zip(end, self._begin, strict=True))
            self.percent = round(max(0.0, 100 * (busy - own) / wall), 1)

    @staticmethod
    def _reading() -> tuple[float, float, float] | None:
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        ticks = [int(word) for word in stat.read_text().split("\n", 1)[0].split()[1:8]]
        user, nice, system, _idle, _iowait, irq, softirq = ticks
        busy = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return time.monotonic(), busy, sum(u.ru_utime + u.ru_stime for u in usage)


# Where a number comes from


def provenance(extra_versions: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the machine, the versions and the date that every result carries."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": _cpu_model(),
            "cores": usable_cpus(),
            "architecture": platform.machine(),
            "kernel": f"{platform.system()} {platform.release()}",
        },
        "versions": {
            "python": platform.python_version(),
            "numpy": importlib.metadata.version("numpy"),
            "cobre": importlib.metadata.version("cobre-parallel"),
            "revision": _revision(),
            "compiler": _compiler(),
            **(extra_versions or {}),
        },
    }


def usable_cpus() -> int:
    """Return the number of CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.processor() or "unknown"


def _compiler() -> str:
    """Return what the native module itself says it was compiled with."""
    import cobre._native  # noqa: PLC0415  the harness is also for benchmarks that do without it

    comment = re.search(rb"GCC: [^\0]{3,80}|clang version [^\0]{3,80}", _contents(cobre._native.__file__))
    return comment[0].decode(errors="replace") if comment else "unknown"


def _contents(path: str | None) -> bytes:
    return Path(path).read_bytes() if path else b""


def _revision() -> str:
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write_result(name: str, body: Mapping[str, Any], extra_versions: Mapping[str, str] | None = None) -> Path:
    """Write ``results/<name>.json``: provenance first, then the body."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    whole = {"benchmark": name, **provenance(extra_versions), **body}
    path.write_text(json.dumps(whole, indent=1) + "\n")
    return path


# Words for numbers


def show_bytes(count: int) -> str:
    """Return a size as people say it.

    >>> [show_bytes(count) for count in (32, 1024, 65536, 3_200_000, 1 << 24)]
    ['32 B', '1 KB', '64 KB', '3.2 MB', '16 MB']
    """
    for unit, name in ((1 << 20, "MB"), (1_000_000, "MB"), (1 << 10, "KB")):
        if count >= unit and (count % unit == 0 or unit == 1_000_000):
            return f"{count / unit:g} {name}"
    return f"{count} B"


def show_seconds(seconds: float) -> str:
    """Return a duration with three digits or so.

    >>> [show_seconds(seconds) for seconds in (0.0000001234, 0.0000123, 0.0345)]
    ['0.123 µs', '12.3 µs', '34,500 µs']
    """
    micros = seconds * 1e6
    digits = 3 if micros < 1 else 2 if micros < 10 else 1 if micros < 1000 else 0
    return f"{micros:,.{digits}f} µs"
