"""What one SDDP iteration of production size spends in collectives, modelled to 1 024 ranks.

A model, not a measurement: `docs/explanation/cost.md` has the formulas and what they leave out. What the
software takes is calibrated on one machine; the networks are assumptions. Writes that page's figure, prints
its table.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, log2
from pathlib import Path
from typing import Any

from _cost_chart import PER_MACHINE, draw
from _systems import Cobre, _finish, _program
from harness import HERE, usable_cpus, write_result

FIGURE = HERE.parent / "docs" / "explanation" / "cost.svg"
RANKS = [2**power for power in range(1, 11)]
STAGES, TRAJECTORIES, STATE = 120, 192, 2080
STATES_BYTES = 8 * STAGES * TRAJECTORIES * STATE  # gathered once per iteration
CUTS_BYTES = 8 * TRAJECTORIES * (STATE + 1)  # gathered once per stage but the first


@dataclass(frozen=True)
class Software:
    """What the programs need by themselves: seconds per message or meeting, seconds per byte."""

    tcp_message_s: float
    tcp_byte_s: float
    shm_meeting_s: float
    shm_byte_s: float
    mpi_message_s: float
    mpi_byte_s: float


# The least of four calibrations on two cores of a virtual machine that other work shared: upper bounds.
CALIBRATED = Software(
    tcp_message_s=6.7e-6,
    tcp_byte_s=1.05e-9,
    shm_meeting_s=1.4e-7,
    shm_byte_s=2.1e-10,
    mpi_message_s=2.6e-7,
    mpi_byte_s=5.3e-10,
)


@dataclass(frozen=True)
class Cluster:
    """A network and its machines, all of it assumed."""

    name: str
    tcp_latency_s: float
    mpi_latency_s: float
    card_byte_s: float
    ranks_per_node: int = PER_MACHINE
    memory_byte_s: float = 1 / 100e9  # a whole machine's


CLUSTERS = [
    Cluster("10 GbE", 30e-6, 30e-6, 1 / 1.1e9),
    Cluster("25 GbE", 20e-6, 20e-6, 1 / 2.8e9),
    Cluster("100 Gb, MPI past the kernel", 15e-6, 2e-6, 1 / 11e9),
]


# The formulas: seconds for an allgatherv of so many bytes in all


def star(total: float, ranks: int, on: Cluster, by: Software) -> float:
    here = min(ranks, on.ranks_per_node)
    sent = total * (ranks - 1) / ranks  # to each of the others
    bytes_s = max(by.tcp_byte_s * (ranks - 1) * sent, on.card_byte_s * (ranks - here) * sent)
    return 2 * _latency(ranks, on, on.tcp_latency_s) + 2 * (ranks - 1) * by.tcp_message_s + bytes_s


def direct(total: float, ranks: int, on: Cluster, by: Software) -> float:
    here = min(ranks, on.ranks_per_node)
    per_rank = by.tcp_byte_s * total * (ranks - 1) / ranks
    per_card = on.card_byte_s * here * total * (ranks - here) / ranks
    bytes_s = max(per_rank, per_card, on.memory_byte_s * here * total)
    return _latency(ranks, on, on.tcp_latency_s) + (ranks - 1) * by.tcp_message_s + bytes_s


def shared_and_tcp(total: float, ranks: int, on: Cluster, by: Software) -> float:
    """One rank per machine exchanges by tcp, the others by memory. An estimate: cobre has no such backend."""
    here = min(ranks, on.ranks_per_node)
    nodes = ceil(ranks / on.ranks_per_node)
    meetings = (here - 1) * by.shm_meeting_s
    copies = max(by.shm_byte_s * total, on.memory_byte_s * here * total)
    if nodes == 1:
        return meetings + copies
    between = max(by.tcp_byte_s, on.card_byte_s) * total * (nodes - 1) / nodes
    return 2 * meetings + copies + on.tcp_latency_s + (nodes - 1) * by.tcp_message_s + between


def mpi(total: float, ranks: int, on: Cluster, by: Software) -> float:
    """The better of a ring and recursive doubling, as libraries choose by size."""
    here = min(ranks, on.ranks_per_node)
    nodes = ceil(ranks / on.ranks_per_node)
    copies = max(by.mpi_byte_s * total * (ranks - 1) / ranks, on.memory_byte_s * here * total)
    step = by.mpi_message_s + _latency(ranks, on, on.mpi_latency_s)
    across = on.card_byte_s * total * (nodes - 1) / nodes
    ring = (ranks - 1) * step + max(copies, across)
    inside = ceil(log2(here)) * by.mpi_message_s
    between = ceil(log2(nodes)) * (by.mpi_message_s + on.mpi_latency_s)
    return min(ring, inside + between + max(copies, here * across))


def _latency(ranks: int, on: Cluster, latency_s: float) -> float:
    return latency_s if ranks > on.ranks_per_node else 0.0


Way = Callable[[float, int, Cluster, Software], float]
WAYS: dict[str, Way] = {"tcp, star": star, "tcp, direct": direct}
WAYS |= {"shm + tcp (estimate)": shared_and_tcp, "mpi": mpi}


def iteration(way: Way, ranks: int, on: Cluster, by: Software) -> float:
    """Seconds: the states once, the cuts of each stage, and two small sums that gather 32 bytes per rank."""
    small = way(32.0 * ranks, ranks, on, by)
    return way(STATES_BYTES, ranks, on, by) + (STAGES - 1) * way(CUTS_BYTES, ranks, on, by) + 2 * small


# Calibration


class _UnderMpiexec(Cobre):
    """Our ranks, started by the mpiexec beside this interpreter: Open MPI's."""

    def run(self, ranks: int, arguments: Sequence[str]) -> dict[str, Any]:
        launch = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks)]
        launch += ["--bind-to", "core"] + ["--allow-run-as-root"] * (os.geteuid() == 0)
        with tempfile.TemporaryDirectory() as folder:
            return _finish([(launch + _program(sys.executable, "cobre", folder, arguments), {})], folder)


def calibrate() -> Software:
    """Measure, for a minute or so, what the software takes where no network is in the way."""

    def seconds(system: Cobre, case: str, ranks: int = 2) -> float:
        reports = [system.run(ranks, ["--only", case]) for _ in range(3)]
        return min(report["cases"][0]["min_s"] for report in reports)  # others only ever add time

    tcp, shm, mpi_ranks = Cobre("tcp"), Cobre("shm"), _UnderMpiexec("mpi")
    large = 64_000_000
    # Four ranks on few cores leave none of them idle, so that the time is that of twelve messages.
    messages_at_once = 12 / min(4, usable_cpus())
    return Software(
        tcp_message_s=seconds(tcp, "barrier:0", 4) / messages_at_once,
        tcp_byte_s=seconds(tcp, f"allgatherv:{large}") / (large / 2),
        shm_meeting_s=seconds(shm, "barrier:0"),
        shm_byte_s=seconds(shm, f"allgatherv:{large}") / large,
        mpi_message_s=seconds(mpi_ranks, "barrier:0"),
        mpi_byte_s=seconds(mpi_ranks, f"allgatherv:{large}") / (large / 2),
    )


# What the page shows


def table(by: Software) -> str:
    """Return the Markdown: seconds per iteration for some numbers of ranks."""
    lines = [("any: one machine", CLUSTERS[0], 16), ("any: one machine", CLUSTERS[0], 64)]
    lines += [(on.name, on, ranks) for on in CLUSTERS for ranks in (128, 1024)]
    rows = [f"| Network | Ranks | {' | '.join(WAYS)} |", "| --- | --- |" + " --- |" * len(WAYS)]
    for name, on, ranks in lines:
        times = [f"{float(f'{iteration(way, ranks, on, by):.2g}'):g} s" for way in WAYS.values()]
        rows.append(f"| {name} | {ranks} | {' | '.join(times)} |")
    return "\n".join(rows)


def main() -> None:
    """Calibrate if asked to, then draw and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibrate", action="store_true", help="measure here, for about a minute")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=SECONDS", help="a given number")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where the figure goes")
    options = parser.parse_args()
    by = calibrate() if options.calibrate else CALIBRATED
    by = replace(by, **{name: float(value) for name, _, value in (one.partition("=") for one in options.set)})
    if options.calibrate:
        print(by, write_result("cost_model", asdict(by)), sep="\n")
    curves = {
        on.name: {name: [iteration(way, ranks, on, by) for ranks in RANKS] for name, way in WAYS.items()}
        for on in CLUSTERS
    }
    options.out.write_text(draw(RANKS, curves))
    print(table(by))


if __name__ == "__main__":
    main()
