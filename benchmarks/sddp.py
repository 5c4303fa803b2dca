"""What training by SDDP costs, where the time goes, and who else does it.

``python benchmarks/sddp.py [--only split,speedup,peer,memory] [--quick]``

- *split*: a policy is trained until each stage has many cuts; a few further iterations are then divided into
  the simplex method itself, native code around it (checking and adding cuts, setting bounds and bases) and
  the rest, which is Python and waiting; with the solver for small programmes, and with HiGHS for all. The
  target for all that is not the simplex method is 10 % of the time with HiGHS.
- *speedup*: the same training on one worker, on two workers that share memory, and on one with two threads,
  in turn. The target for two is 0.60 of the time of one. All must give the same bits, or there is no result.
- *peer*: the time until the bound is within 0.1 % of what a long run reaches, beside msppy, where it is
  installed, and beside a loop over highspy written by hand. The target is a tenth of msppy's time.
- *memory*: what ranks hold when 60 stages with 160 states have up to 5,000 cuts each, which they share.

What the numbers do not mean: the problems are drawn, not anybody's, and a bound's way up depends on the draws
of the trajectories, which differ between the contestants. msppy stands on Gurobi, the others on
HiGHS: what is compared is a package with its solver. Processor time, where given, is
what other work on the machine disturbs least.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import product
from typing import Any

import _sddp_memory
import _sddp_peers
import harness
import numpy as np
from _parts import PartsParser, measure
from _sddp_problems import Size, hydrothermal
from rich.table import Table

from cobre.comm import run_ranks
from cobre.lp._solver import HIGHS_VERSION, StageSolver
from cobre.sddp import TrainedPolicy, TrainingFinished, TrainingStarted, train

PARTS = ("split", "speedup", "peer", "memory")
OUTSIDE_TARGET = 0.10
SPEEDUP_TARGET = 0.60
PEER_TARGET = 0.10
GAP = 1e-3


def run(
    quick: bool = False, only: tuple[str, ...] = PARTS, say: Callable[[str], object] = print
) -> dict[str, Any]:
    """Measure; one entry per part."""
    measures = {"split": _split, "speedup": _speedup, "peer": _peer, "memory": _memory}
    result: dict[str, Any] = {}
    with harness.Neighbours() as neighbours:
        for part in only:
            result[part] = measures[part](quick, say)
    return {"others_cpu_percent": neighbours.percent, **result}


def versions(_: dict[str, Any]) -> dict[str, str]:
    """Return what solves."""
    return {"highs": HIGHS_VERSION}


# Where the time goes


#: Size, trajectories, and iterations before those that are measured.
SPLITS = (
    (Size(5, 6, 20), 20, 100),
    (Size(20, 6, 20), 20, 50),
    (Size(160, 6, 20), 20, 8),
)
QUICK_SPLITS = (
    (Size(5, 4, 10), 10, 20),
    (Size(20, 4, 10), 10, 10),
    (Size(160, 4, 10), 10, 3),
)


def _split(quick: bool, say: Callable[[str], object]) -> list[dict[str, Any]]:
    rows = []
    for size, trajectories, iterations in QUICK_SPLITS if quick else SPLITS:
        say(f"split: {size.plants} plants")
        problem = hydrothermal(size)
        policy = train(problem, iterations, trajectories=trajectories).policy
        for threads, dual_simplex in product((1,) if quick else (1, 2), (True, False)):
            with _solver(dual_simplex):
                seconds, trained = _timed_training(
                    problem, 3, trajectories=trajectories, seed=1, warm_start=policy, threads=threads
                )
            taken, whole = trained.statistics, seconds * threads
            rows.append(
                {
                    **asdict(size),
                    "cuts_per_stage": max(len(record.cuts) for record in policy.records.values()),
                    "threads": threads,
                    "solver": "ours" if dual_simplex else "HiGHS",
                    "seconds": seconds,
                    "solves": taken.solves,
                    "runs_per_solve": taken.rounds / taken.solves,
                    "iterations_per_solve": taken.iterations / taken.solves,
                    "retries": taken.retries,
                    "micros_per_solve": 1e6 * whole / taken.solves,
                    "in_solver": taken.solver_s / whole,
                    "around_it": (taken.solving_s - taken.solver_s) / whole,
                    "rest": 1 - taken.solving_s / whole,
                    "target": OUTSIDE_TARGET,
                }
            )
    return rows


@contextmanager
def _solver(dual_simplex: bool) -> Iterator[None]:
    """Let HiGHS solve all programmes, unless ``dual_simplex``."""
    usual = StageSolver.__init__.__kwdefaults__["dual_simplex"]
    StageSolver.__init__.__kwdefaults__["dual_simplex"] = dual_simplex
    try:
        yield
    finally:
        StageSolver.__init__.__kwdefaults__["dual_simplex"] = usual


def _timed_training(problem: Any, stop: int, **settings: Any) -> tuple[float, TrainedPolicy]:
    """Train; return the seconds from the first iteration's beginning to the last one's end, too."""
    moments: dict[type, float] = {}

    def note(event: object) -> None:
        moments[type(event)] = time.perf_counter()

    trained = train(problem, stop, listeners=[note], **settings)
    return moments[TrainingFinished] - moments[TrainingStarted], trained


# More workers


SPEEDUP = (Size(20, 12, 20), 20, 60)  # size, trajectories, iterations: 20 s or more for one worker
QUICK_SPEEDUP = (Size(20, 6, 10), 10, 5)
WAYS = {
    "one worker": {},
    "two workers (shm)": {"num_workers": 2, "backend": "shm"},
    "two threads": {"threads": 2},
}


def _speedup(quick: bool, say: Callable[[str], object]) -> dict[str, Any]:
    size, trajectories, iterations = QUICK_SPEEDUP if quick else SPEEDUP
    problem = hydrothermal(size)
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    bits: dict[str, str] = {}
    for turn in range(2 if quick else 3):
        say(f"speedup: turn {turn + 1}")
        for name in harness.rotated(list(WAYS), turn):
            trained = train(problem, iterations, trajectories=trajectories, **WAYS[name])
            seconds[name].append(trained.seconds)
            bits[name] = _bits(trained)
    if len(set(bits.values())) != 1:
        raise RuntimeError(f"the ways to train differ in their results: {bits}")
    one = seconds["one worker"]
    return {
        **asdict(size),
        "trajectories": trajectories,
        "iterations": iterations,
        "sha256": bits["one worker"],
        "target": SPEEDUP_TARGET,
        "rows": [
            {
                "way": name,
                "seconds": min(taken),
                "turns": taken,
                "ratio": min(taken) / min(one),
                "ratios": [mine / theirs for mine, theirs in zip(taken, one, strict=True)],
            }
            for name, taken in seconds.items()
        ],
    }


def _bits(trained: TrainedPolicy) -> str:
    """A checksum over bounds, estimates and cuts."""
    digest = hashlib.sha256(np.asarray(trained.bounds).tobytes())
    digest.update(repr(trained.estimates).encode())
    for record in trained.policy.records.values():
        digest.update(record.cuts.tobytes())
    return digest.hexdigest()


# Others


PEERS = (Size(5, 12, 20), Size(20, 12, 20))
QUICK_PEERS = (Size(5, 6, 5),)
#: By name: who trains, and how.
CONTESTANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cobre, 1 trajectory": ("cobre", {"trajectories": 1}),
    "cobre, 10 trajectories": ("cobre", {"trajectories": 10}),
    "cobre, 10 trajectories, 2 threads": ("cobre", {"trajectories": 10, "threads": 2}),
    "cobre, 10 trajectories, 2 workers": ("cobre", {"trajectories": 10, "num_workers": 2}),
    "highspy, a loop by hand": ("loop", {}),
    "msppy": ("msppy", {}),
    "msppy, 2 processes, 2 steps": ("msppy", {"processes": 2, "steps": 2}),
    "msppy, 2 processes, 10 steps": ("msppy", {"processes": 2, "steps": 10}),
}


def _peer(quick: bool, say: Callable[[str], object]) -> list[dict[str, Any]]:
    return [_race(size, 10.0 if quick else 100.0, say) for size in (QUICK_PEERS if quick else PEERS)]


def _race(size: Size, limit_s: float, say: Callable[[str], object]) -> dict[str, Any]:
    """Let all train the same problem, one after the other."""
    problem = hydrothermal(size)
    reference = _sddp_peers.traced("cobre", problem, np.inf, limit_s / 4, trajectories=10, threads=2)[
        -1
    ].bound
    until = reference - GAP * abs(reference)
    rows = []
    for name, (who, settings) in CONTESTANTS.items():
        say(f"peer: {size.plants} plants, {name}")
        reason = _sddp_peers.why_not(who)
        if reason is not None:
            rows.append({"who": name, "skipped": reason})
            continue
        trace = _sddp_peers.traced(who, problem, until, limit_s, **settings)
        last = trace[-1]
        rows.append(
            {
                "who": name,
                "reached": last.bound >= until,
                "seconds": last.seconds,
                "cpu_s": None if np.isnan(last.cpu_s) else last.cpu_s,
                "iterations": len(trace),
                "bound": last.bound,
            }
        )
    return {**asdict(size), "gap": GAP, "reference": reference, "target": PEER_TARGET, "rows": rows}


# Memory


def _memory(quick: bool, say: Callable[[str], object]) -> dict[str, Any]:
    size = Size(160, 6, 2) if quick else Size(160, 60, 2)
    levels = [0, 500, 1000] if quick else [0, 1000, 2500, 5000]
    groups = []
    for ranks in (1, 2) if quick else (1, 2, 4):
        say(f"memory: {ranks} ranks")
        found = run_ranks(_sddp_memory.fill, ranks, args=(size, levels), timeout_s=600)
        for at, level in enumerate([None, *levels]):
            per_rank = [rank[at] for rank in found]
            groups.append(
                {
                    "ranks": ranks,
                    "cuts_per_stage": level,
                    "own_mb_per_rank": max(rank["share"] - rank["shared_regions"] for rank in per_rank),
                    "shared_mb": sum(rank["shared_regions"] for rank in per_rank),
                    "all_mb": sum(rank["share"] for rank in per_rank),
                    "mapped_mb_per_rank": max(rank["mapped"] for rank in per_rank),
                    "numbers_mb": (level or 0) * size.stages * (size.plants + 1) * 8 / 2**20,
                }
            )
    return {**asdict(size), "rows": groups}


# Words for numbers


def tables(result: dict[str, Any]) -> list[Table]:
    """Show each part that was measured."""
    shown = []
    if "split" in result:
        shown.append(_split_table(result["split"]))
    if "speedup" in result:
        shown.append(_speedup_table(result["speedup"]))
    shown += [_race_table(race) for race in result.get("peer", ())]
    if "memory" in result:
        shown.append(_memory_table(result["memory"]))
    return shown


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title)
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _split_table(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "where the time of training goes",
        *(
            "plants",
            "cuts per stage",
            "threads",
            "solver",
            "solves",
            "pivots / solve",
            "runs / solve",
            "µs / solve",
        ),
        *("in it", "around it", "rest", "not in it"),
    )
    for row in rows:
        outside = row["around_it"] + row["rest"]
        table.add_row(
            *(str(row["plants"]), f"{row['cuts_per_stage']:,}", str(row["threads"]), row["solver"]),
            f"{row['solves']:,}",
            *(f"{row[name]:.2f}" for name in ("iterations_per_solve", "runs_per_solve")),
            f"{row['micros_per_solve']:,.0f}",
            *(f"{100 * row[name]:.1f} %" for name in ("in_solver", "around_it", "rest")),
            f"{100 * outside:.1f} %{' !' if row['solver'] == 'HiGHS' and outside > row['target'] else ''}",
        )
    return table


def _speedup_table(result: dict[str, Any]) -> Table:
    title = f"the same training, {result['plants']} plants, {result['stages']} stages, same bits"
    table = _table(title, "on", "s, best turn", "ratio to one", "by turn", "target")
    for row in result["rows"]:
        alone = row["way"] == "one worker"
        mark = " !" if not alone and row["ratio"] > result["target"] else ""
        table.add_row(
            row["way"],
            f"{row['seconds']:.2f}",
            f"{row['ratio']:.2f}{mark}",
            f"{min(row['ratios']):.2f} to {max(row['ratios']):.2f}",
            "" if alone else f"{result['target']:.2f}",
        )
    return table


def _race_table(race: dict[str, Any]) -> Table:
    title = (
        f"{race['plants']} plants, {race['stages']} stages, {race['openings']} openings: until the bound is "
        f"within {100 * race['gap']:g} % of {race['reference']:.6g}"
    )
    table = _table(title, "who", "s", "processor s", "iterations", "fastest of ours / its time")
    ran = [row for row in race["rows"] if "skipped" not in row]
    ours = [row["seconds"] for row in ran if row["who"].startswith("cobre") and row["reached"]]
    for row in ran:
        ratio = ""
        if ours and not row["who"].startswith("cobre"):
            number = min(ours) / row["seconds"]
            missed = row["who"].startswith("msppy") and row["reached"] and number > race["target"]
            ratio = f"{'' if row['reached'] else 'below '}{number:.3f}{' !' if missed else ''}"
        table.add_row(
            row["who"],
            f"{row['seconds']:.1f}"
            if row["reached"]
            else f"not in {row['seconds']:.0f} ({row['bound']:.6g})",
            "" if row["cpu_s"] is None else f"{row['cpu_s']:.1f}",
            str(row["iterations"]),
            ratio,
        )
    reasons = {row["skipped"] for row in race["rows"] if "skipped" in row}
    table.caption = "\n".join(sorted(reasons)) or None
    return table


def _memory_table(result: dict[str, Any]) -> Table:
    title = f"memory in MB, {result['stages']} stages, {result['plants']} states"
    table = _table(
        *(
            title,
            "ranks",
            "cuts per stage",
            "the cuts' numbers",
            "shared, once",
            "own, per rank",
            "all ranks",
        ),
    )
    for row in result["rows"]:
        table.add_row(
            str(row["ranks"]),
            "before" if row["cuts_per_stage"] is None else f"{row['cuts_per_stage']:,}",
            *(f"{row[name]:.0f}" for name in ("numbers_mb", "shared_mb", "own_mb_per_rank", "all_mb")),
        )
    return table


def main() -> None:
    """Measure what the command line asks for."""
    options = PartsParser(__doc__, PARTS).parse_args()
    measure("sddp", options, lambda part, say: run(options.quick, (part,), say), tables, versions)


if __name__ == "__main__":
    main()
