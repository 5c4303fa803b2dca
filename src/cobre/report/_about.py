"""Run details on the report page: date, workers, outcome, settings, versions and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cobre.formatting import count
from cobre.report._facts import Facts

Entries = list[tuple[str, str]]


@dataclass(frozen=True)
class Status:
    """Outcome of a run in a word or two; ``kind`` is ``"good"`` or ``"warn"``."""

    kind: str
    words: str


@dataclass(frozen=True)
class Banner:
    """Notice of an unfinished or failed run, with the command that resumes it."""

    words: str
    advice: str
    command: str


@dataclass(frozen=True)
class Group:
    """Facts under a heading; those of a ``long`` one have long values."""

    heading: str
    entries: Entries
    long: bool = False


def about(facts: Facts) -> list[str]:
    """Return the line below the title: date, workers and machine."""
    known = facts.summary.distribution
    hosts = [str(host) for host in known.get("hosts") or []]
    where = [f"on {hosts[0]}" if len(hosts) == 1 else f"on {count(len(hosts), 'machine')}"] if hosts else []
    return [*_when(facts), workers_line(known), *where]


def workers_line(distribution: Mapping[str, Any]) -> str:
    """Number of workers, backend and threads, from the ``distribution`` of a manifest.

    >>> workers_line({"backend": "shm", "world_size": 4, "threads_per_rank": 2}), workers_line({})
    ('4 workers over shm, 2 threads each', 'one process')
    """
    workers, threads = distribution.get("world_size") or 1, distribution.get("threads_per_rank") or 1
    several = workers > 1
    words = f"{count(workers, 'worker')} over {distribution.get('backend')}" if several else "one process"
    return f"{words}, {count(threads, 'thread')}{' each' * several}" if threads > 1 else words


def _when(facts: Facts) -> list[str]:
    manifest = facts.results.manifest or facts.results.simulation_manifest or {}
    return [moment(manifest["started_at"])] if manifest.get("started_at") else []


def moment(text: str) -> str:
    """Return a manifest's timestamp as text.

    >>> moment("2026-11-06T13:04:50Z")
    '6 November 2026, 13:04 UTC'
    """
    found = datetime.fromisoformat(text)
    return f"{found.day} {found:%B %Y, %H:%M} UTC"


def status(facts: Facts) -> Status:
    """Outcome of the run."""
    if facts.unfinished:
        return Status("warn", f"{facts.unfinished} not finished")
    ended = facts.results.manifest.get("status", "complete")
    return Status("good", "converged" if ended == "converged" else "complete")


def banner(facts: Facts) -> Banner | None:
    """Notice of an unfinished run; None for one that is finished."""
    part = facts.unfinished
    if part is None:
        return None
    manifest = facts.results.manifest if part == "training" else facts.results.simulation_manifest or {}
    ending = {
        "running": f"The {part} is still running or was killed.",
        "partial": "Some scenarios of the simulation are missing.",
    }
    words = ending.get(str(manifest.get("status")), f"The {part} failed: {_reason(manifest)}.")
    return Banner(words, "If it is no longer running, resume it with:", facts.next_command)


def _reason(manifest: Mapping[str, Any]) -> str:
    return str(manifest.get("error") or "no reason was recorded").rstrip(".")


def run_groups(facts: Facts) -> list[Group]:
    """Facts needed to reproduce the run."""
    about_run = facts.results.metadata
    info, environment = about_run.get("run_info", {}), about_run.get("environment", {})
    inputs = about_run.get("data_integrity", {}).get("input_files", {})
    settings = about_run.get("configuration_snapshot", {}).get("settings", {})
    groups = [
        Group("Run", _plain({**info, **environment, "distribution": None})),
        Group("Workers", _plain(facts.summary.distribution)),
        Group("Problem", _plain(facts.summary.dimensions)),
        Group("Settings", [("seed", str(_seed(about_run))), *_leaves(settings)] if settings else []),
        Group("Result files", _result_files(facts)),
        Group("SHA-256 of the results", [*_leaves({**_checksum(facts), "algorithm": None})], long=True),
        Group("SHA-256 of the case", [(str(name), str(value)) for name, value in inputs.items()], long=True),
    ]
    return [group for group in groups if group.entries]


def _seed(about_run: Mapping[str, Any]) -> Any:
    return about_run.get("configuration_snapshot", {}).get("seed")


def _checksum(facts: Facts) -> dict[str, Any]:
    return facts.results.manifest.get("checksum") or {}


def _plain(content: Mapping[str, Any]) -> Entries:
    """Values that are set, with readable names."""
    return [(path.replace("_", " "), text) for path, text in _leaves(content)]


def _leaves(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Values that are set, each with its path as in ``config.json``."""
    for name, value in content.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}.")
        elif isinstance(value, list):
            yield from _items(path, value)
        elif value is not None:
            yield path, _text(value)


def _items(path: str, values: list[Any]) -> Iterator[tuple[str, str]]:
    if all(isinstance(value, Mapping) for value in values):
        for place, value in enumerate(values):
            yield from _leaves(value, f"{path}[{place}].")
    else:
        yield path, ", ".join(_text(value) for value in values)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _result_files(facts: Facts) -> Entries:
    """The folder's files with their sizes; those of a simulation are counted by table."""
    folder = facts.results.folder
    found = [
        (os.path.relpath(path, folder), _size(path.stat().st_size))
        for part in (folder / "training", facts.results.policy_path.parent)
        for path in sorted(part.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    ]
    scenarios = (facts.results.simulation_manifest or {}).get("scenarios", {}).get("completed", 0)
    tables = [(f"simulation/{name}", count(scenarios, "scenario")) for name in facts.results.tables]
    return [*found, *tables]


def _size(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}" if unit != "B" else f"{size} B"
        size = size / 1000  # type: ignore[assignment]
    return f"{size:.3g} GB"
