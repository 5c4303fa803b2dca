"""Collectives between processes: cobre beside MPI libraries and gloo, in one run.

``python benchmarks/comm.py [--backend shm|tcp|mpi] [--ranks 2,4] [--only allreduce] [--peers openmpi,mpich]``

All use the same transport: beside ``shm`` stand mpi4py over Open MPI and over MPICH in shared memory; beside
``tcp`` the same two, forced onto TCP through loopback, and torch.distributed's gloo. ``mpi`` is measured on
each of the two, in turn with mpi4py by itself in the same processes: what it adds. ``--backend none``
measures the peers alone, over ``--transport``. The peers are installed on first use, from wheels, into
environments of their own under ``build/peers``; one that cannot be installed is named and left out.
``--quick`` is short and says less.

All run the same program (`_comm_program.py`), round by round in changing order, and the best round counts: of
those with the same placement of the CPUs (`placement.py`), so there is a table for each. A ratio is
our time over that of the fastest MPI *for that case in this run*: below 1 we are faster. Targets
(`_targets.py`) are such ratios.

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

import _comm_tables
import _ratio_chart
import _targets
import harness
import placement
from _comm_program import Case
from _systems import PEERS, Cobre, CobreBefore, CobreOnMpi, CobreTls, Gloo, Mpi, SystemFailed, is_mpi
from rich.console import Console
from rich.table import Table

#: Seconds of each round, by placement of the CPUs, case and system.
Measured = dict[str, dict[Case, dict[str, list[float]]]]


@dataclass(frozen=True)
class Plan:
    """What to run."""

    ranks: tuple[int, ...] = (2, 4)
    backend: str = "shm"
    transport: str = "shm"  # what the peers use
    peers: tuple[str, ...] | None = None  # all that know the transport
    topology: str | None = None  # of tcp: star or direct; its own choice without it
    tls: bool = False  # measure tcp with TLS too
    only: tuple[str, ...] = ()
    quick: bool = False
    rounds: int | None = None  # 5, or 2 when quick
    budget_s: float | None = None  # per case and round: 0.3, or 0.1 when quick
    before: str | None = None  # interpreter of another checkout, measured beside this one
    bind: bool = True

    @property
    def name(self) -> str:
        """What the results are called, so that one kind of run does not overwrite another's."""
        if self.backend == "mpi":
            return "comm_mpi"
        tcp = "_tcp" if self.transport == "tcp" else ""
        return "comm" + tcp + ("_star" if self.topology == "star" else "")

    def systems(self) -> list[Cobre | Mpi | Gloo]:
        """Return who takes part, ours first."""
        known = PEERS[self.transport]
        peers = [known[name] for name in (known if self.peers is None else self.peers)]
        if self.backend == "none":
            return [*peers]
        if self.backend == "mpi":
            return [CobreOnMpi(peer) for peer in peers if isinstance(peer, Mpi)]
        variables = {"COBRE_TCP_TOPOLOGY": self.topology} if self.topology else {}
        ours = [Cobre(self.backend, variables)]
        if self.before:
            ours.append(CobreBefore(self.backend, variables, self.before))
        if self.tls:
            ours.append(CobreTls(self.backend, variables))
        return [*ours, *peers]


def run(quick: bool = False) -> dict[str, Any]:
    """Measure with the default plan; what ``make bench`` calls."""
    return execute(Plan(quick=quick))


def execute(plan: Plan, say: Callable[[str], object] = print) -> dict[str, Any]:
    """Measure; one group of rows per number of ranks and placement of the CPUs.

    A system that fails is named and left out.
    """
    campaign = _Campaign(plan, say)
    with harness.Neighbours() as neighbours:
        groups = [
            group
            for contest in campaign.contests()
            for ranks in plan.ranks
            for group in campaign.groups(ranks, contest)
        ]
    return {
        "benchmark": plan.name,
        "others_cpu_percent": neighbours.percent,
        "backend": plan.backend,
        "transport": plan.transport,
        "topology": plan.topology,
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
        self._systems: dict[str, Cobre | Mpi | Gloo] = {}
        for system in plan.systems():
            try:
                system.install()
                self._systems[system.label] = system
            except SystemFailed as failure:
                self._leave_out(system.label, failure)

    def _leave_out(self, what: str, failure: SystemFailed) -> None:
        self.missing[what] = str(failure)
        self._say(f"{what} is left out: {failure}")

    def contests(self) -> list[list[str]]:
        """Return who is compared with whom: all with all, but our mpi backend on one library at a time."""
        taking_part = list(self._systems)
        return [[label] for label in taking_part] if self._plan.backend == "mpi" else [taking_part]

    def groups(self, ranks: int, contest: list[str]) -> list[dict[str, Any]]:
        """Measure these systems with so many ranks; return a group of rows per placement that occurred."""
        plan = self._plan
        bound = plan.bind and ranks <= harness.usable_cpus()
        rounds, measured = self._rounds(ranks, contest, bound)
        about = {"ranks": ranks, "library": contest[0] if plan.backend == "mpi" else None, "bound": bound}
        return [
            {
                **about,
                "placement": kind,
                "rounds": [_of_kind(kind, record) for record in rounds],
                "rows": [_row(case, cases, ranks, plan) for case in cases],
            }
            for kind, cases in measured.items()
        ]

    def _rounds(self, ranks: int, contest: list[str], bound: bool) -> tuple[list[dict[str, Any]], Measured]:
        plan = self._plan
        arguments = [word for name in plan.only for word in ("--only", name)]
        budget_s = plan.budget_s or (0.1 if plan.quick else 0.3)
        arguments += ["--budget", str(budget_s)] + ["--quick"] * plan.quick + ["--bind"] * bound
        taking_part = list(contest)
        measured: Measured = {}
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
                cases = measured.setdefault(placement.kind(found), {})
                for case in report["cases"]:
                    per_system = cases.setdefault(Case(case["operation"], case["bytes"]), {})
                    ours = plan.backend == "mpi" and case["adapter"] == "cobre"
                    name = "cobre mpi" if ours else label
                    per_system.setdefault(name, []).append(case["median_s"])
            rounds.append(record)
            self._say(f"{ranks} ranks, round {turn + 1}: {_round_words(record)}")
        return rounds, measured


def _of_kind(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    return {label: about for label, about in record.items() if placement.kind(about["placement"]) == kind}


def _round_words(record: dict[str, Any]) -> str:
    words = []
    for label, about in record.items():
        barrier = about["placement"].get("spin_barrier_ns", "?")
        words.append(f"{label} (spin barrier {barrier} ns, others' CPU {about['others_cpu_percent']} %)")
    return ", ".join(words) or "nobody"


def _row(case: Case, measured: dict[Case, dict[str, list[float]]], ranks: int, plan: Plan) -> dict[str, Any]:
    times = measured[case]
    # A zero-copy gather does an allgatherv's job, and that is what it is compared with.
    rival = Case("allgatherv", case.bytes) if case.operation == "zero-copy gather" else case
    mpi = {label: rounds for label, rounds in measured.get(rival, {}).items() if is_mpi(label)}
    fastest = min(mpi, key=lambda label: min(mpi[label]), default=None)
    own = times.get(f"cobre {plan.backend}")
    by_round = zip(own or [], *mpi.values(), strict=False) if mpi else ()
    over_mpi = plan.backend == "mpi"
    if over_mpi:
        target = _targets.of_mpi4py(ranks, case)
    else:
        target = _targets.of_fastest_mpi(plan.transport, ranks, case, plan.topology == "star")
    return {
        "operation": case.operation,
        "bytes": case.bytes,
        "systems": {label: {"best_s": min(rounds), "rounds_s": rounds} for label, rounds in times.items()},
        "fastest_mpi": fastest,
        "fastest_mpi_s": min(mpi[fastest]) if fastest else None,
        "target": target,
        "ratio": _ratio(own, mpi[fastest] if fastest else None),
        "ratio_by_round": [mine / min(others) for mine, *others in by_round],
        "more_s": min(own) - min(mpi[fastest]) if over_mpi and own and fastest else None,
        "more_target_s": _targets.more_than_mpi4py(case) if over_mpi else None,
        "gloo_target": _targets.of_gloo(plan.transport, case),
        "gloo_ratio": _ratio(own, times.get(Gloo.label)),
        "tls_ratio": _ratio(times.get(f"cobre {plan.backend}+tls"), own),
        "before_ratio": _ratio(own, times.get(f"cobre {plan.backend} before")),
    }


def _ratio(rounds: list[float] | None, others: list[float] | None) -> float | None:
    return min(rounds) / min(others) if rounds and others else None


def tables(result: dict[str, Any]) -> list[Table]:
    """Return one table per number of ranks; also draws the chart, which shows the same."""
    harness.RESULTS.mkdir(exist_ok=True)
    path = harness.RESULTS / f"{result['benchmark']}.svg"
    path.write_text(_ratio_chart.draw(result["groups"]))
    return [_comm_tables.table(group) for group in result["groups"]]


def versions(result: dict[str, Any]) -> dict[str, str]:
    """Return what the systems said they are."""
    found = result["systems"].items()
    return {label: ", ".join(f"{name} {number}" for name, number in said.items()) for label, said in found}


def main() -> None:
    """Measure what the command line asks for."""
    words = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(description=__doc__, **words)
    parser.add_argument("--backend", default="shm", help="which of our backends; 'none' for the peers alone")
    parser.add_argument(
        "--transport", choices=PEERS, help="what the peers use; that of our backend without it"
    )
    parser.add_argument("--peers", help="which peers, with commas; may be empty; all without it")
    parser.add_argument("--topology", choices=("star", "direct"), help="how the ranks of tcp are connected")
    parser.add_argument("--tls", action="store_true", help="measure tcp with TLS too")
    parser.add_argument("--ranks", default="2,4", help="how many ranks, with commas")
    parser.add_argument("--only", action="append", default=[], help="an operation, or operation:bytes")
    parser.add_argument("--rounds", type=int, help="5 without it, 2 when quick")
    parser.add_argument(
        "--budget", type=float, help="seconds per case and round; 0.3 without it, 0.1 when quick"
    )
    parser.add_argument(
        "--before", metavar="PYTHON", help="interpreter with another cobre, to be measured too"
    )
    parser.add_argument("--quick", action="store_true", help="up to 4 MB, few rounds; says less")
    parser.add_argument("--no-bind", action="store_true", help="do not keep each rank on a CPU of its own")
    options = parser.parse_args()
    transport = options.transport or ("tcp" if options.backend == "tcp" else "shm")
    peers = None if options.peers is None else tuple(name for name in options.peers.split(",") if name)
    if unknown := set(peers or ()) - set(PEERS[transport]):
        parser.error(
            f"unknown peers {sorted(unknown)}; over {transport} there are {', '.join(PEERS[transport])}"
        )
    if options.backend != "tcp" and (options.topology or options.tls):
        parser.error("--topology and --tls are for --backend tcp")
    plan = Plan(
        ranks=tuple(int(number) for number in options.ranks.split(",")),
        backend=options.backend,
        transport=transport,
        peers=peers,
        topology=options.topology,
        tls=options.tls,
        only=tuple(options.only),
        quick=options.quick,
        rounds=options.rounds,
        budget_s=options.budget,
        before=options.before,
        bind=not options.no_bind,
    )
    console = Console()
    console.width = max(console.width, harness.TABLE_WIDTH)  # a table that wraps cannot be read
    result = {"quick": plan.quick, **execute(plan, console.print)}
    for table in tables(result):
        console.print(table)
    path: Path = harness.write_result(plan.name, result, versions(result))
    console.print(f"wrote {path.name} and {path.stem}.svg in {path.parent.name}/")


if __name__ == "__main__":
    main()
