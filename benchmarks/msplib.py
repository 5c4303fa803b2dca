"""Instances of MSPLib, the benchmark library on which implementations of SDDP are compared, one per row.

``python benchmarks/msplib.py FOLDER [--only 6,7,14,15,17] [--budget 60] [--every] [--apart] [--quick]``

``FOLDER`` has the files ``*.problem.json`` and ``*.lattice.json`` of the library
(<https://github.com/bonnkleiford/MSPLib-Library>, ``0_MSPFormat_Files``), at any depth. Archives there, which
are called ``Problem_06.tar.gz`` but are ZIP files, are unpacked into ``build/msplib``.

Each instance is trained in a process of its own, on one thread, for a budget of seconds that begins with the
first iteration. Shown are nodes, and those that are left once nodes that differ in data alone are merged;
states; seconds from the file to the problem, and from there to the end of the first iteration; iterations
per second; microseconds per solve in the solver, around it (native code of ours), and outside it (Python);
those of the processor for all of it, which a busy machine changes least; the bound at the end; and the memory
of the process at its peak.

Integers are relaxed. Where no bound on the value can be computed, one is given that no instance comes near:
``BOUND``. What the numbers do not mean: a bound after so many seconds is not how good the policy is.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import harness
from rich.console import Console
from rich.table import Table

from cobre.errors import InvalidProblem
from cobre.formats import read_mspformat
from cobre.lp import HIGHS_VERSION
from cobre.sddp import IterationFinished, MultistageProblem, TimeLimit, TrainingStarted, train

PROBLEMS = (6, 7, 14, 15, 17)
NAME = re.compile(r"\((\d+)_(\d+)\)_(\w+)\.problem\.json")
#: Given where the programmes do not bound the value, as a cost.
BOUND = -1e9
#: Seconds beyond its budget after which an instance is given up.
GRACE_S = 300


def instances(folder: Path, only: tuple[int, ...], every: bool) -> list[Path]:
    """Return the files of the instances of some problems; the first of each that is not deterministic."""
    for archive in folder.rglob("Problem_*.tar.gz"):
        unpacked = harness.BUILD / "msplib" / archive.name.partition(".")[0]
        if _number(archive.name) in only and not unpacked.exists():
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(unpacked)
    found: dict[int, list[Path]] = {number: [] for number in only}
    for place in (folder, harness.BUILD / "msplib"):
        for path in sorted(place.rglob("*.problem.json")):
            known = NAME.fullmatch(path.name)
            if known and int(known[1]) in found and "__MACOSX" not in path.parts:
                found[int(known[1])].append(path)
    if every:
        return [path for paths in found.values() for path in paths]
    random = [[path for path in paths if "_D." not in path.name] for paths in found.values()]
    return [paths[0] for paths in random if paths]


def _number(name: str) -> int:
    return int(re.findall(r"\d+", name)[0])


def measure(path: Path, budget_s: float, *, merge_nodes: bool) -> dict[str, Any]:
    """Train one instance in this process."""
    warnings.simplefilter("ignore")  # that integers are relaxed
    begin = time.perf_counter()
    problem = read_mspformat(path, relax_integers=True)
    read_s = time.perf_counter() - begin
    begin, seen, cpu = time.perf_counter(), _Seen(), time.process_time()
    how = {"threads": 1, "listeners": seen, "merge_nodes": merge_nodes, "backend": "local"}
    given = False
    try:
        result = train(problem, TimeLimit(budget_s), **how)
    except InvalidProblem:
        given, begin, cpu = True, time.perf_counter(), time.process_time()
        problem = _bounded(problem)
        result = train(problem, TimeLimit(budget_s), **how)
    cpu = time.process_time() - cpu
    statistics, last = result.statistics, result.log[-1]
    trained_s = last.seconds
    return {
        "instance": path.name.removesuffix(".problem.json"),
        "nodes": len(problem.nodes),
        "value_functions": len({id(record) for record in result.policy.records.values()}),
        "states": len(problem.states),
        "bound_given": given,
        "read_s": read_s,
        "first_s": seen.first - begin,
        "iterations": result.iterations,
        "iterations_per_s": result.iterations / trained_s,
        "solves": statistics.solves,
        "solver_us": 1e6 * statistics.solver_s / statistics.solves,
        "around_us": 1e6 * (statistics.solving_s - statistics.solver_s) / statistics.solves,
        "rest_us": 1e6 * max(trained_s - statistics.solving_s, 0.0) / statistics.solves,
        "cpu_us": 1e6 * cpu / statistics.solves,
        "retries": statistics.retries,
        "bound": result.bound,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


class _Seen:
    """Listener: the moment at which the first iteration ended."""

    def __init__(self) -> None:
        self.first = float("nan")

    def __call__(self, event: object) -> None:
        if isinstance(event, TrainingStarted):
            self.first = float("nan")
        elif isinstance(event, IterationFinished) and event.iteration == 1:
            self.first = time.perf_counter()


def _bounded(problem: MultistageProblem) -> MultistageProblem:
    sign = 1.0 if problem.sense == "min" else -1.0
    fields = (problem.nodes, problem.initial_state, problem.beginning, problem.transitions, problem.sense)
    return MultistageProblem(*fields, value_bound=sign * BOUND)


def run(paths: list[Path], budget_s: float, console: Console, *, merge_nodes: bool = True) -> dict[str, Any]:
    """Measure each instance in a process of its own."""
    rows = []
    with harness.Neighbours() as neighbours:
        for path in paths:
            console.print(f"{path.name} ...")
            options = [] if merge_nodes else ["--apart"]
            command = [sys.executable, __file__, str(path), "--budget", str(budget_s), "--one", *options]
            try:
                ended = subprocess.run(
                    command, capture_output=True, text=True, check=True, timeout=budget_s + GRACE_S
                )
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                console.print(f"{path.name} is left out: {error.stderr or error}", markup=False)
                continue
            rows.append(json.loads(ended.stdout))
    return {
        "budget_s": budget_s,
        "merge_nodes": merge_nodes,
        "others_cpu_percent": neighbours.percent,
        "instances": rows,
    }


def table(result: dict[str, Any]) -> Table:
    """Return the table of all instances."""
    apart = "" if result["merge_nodes"] else ", each node by itself"
    shown = Table(title=f"MSPLib, {result['budget_s']:g} s of training each, one thread{apart}")
    shown.add_column("instance")
    for name in (
        *("nodes", "merged", "states", "read, s", "first, s", "iterations", "it/s"),
        *("solver, µs", "around, µs", "rest, µs", "CPU, µs", "retries", "bound", "MB"),
    ):
        shown.add_column(name, justify="right")
    for row in result["instances"]:
        shown.add_row(
            row["instance"],
            f"{row['nodes']:,}",
            f"{row['value_functions']:,}",
            str(row["states"]),
            f"{row['read_s']:.2f}",
            f"{row['first_s']:.2f}",
            f"{row['iterations']:,}",
            f"{row['iterations_per_s']:.3g}",
            *(f"{row[name]:.2f}" for name in ("solver_us", "around_us", "rest_us", "cpu_us")),
            f"{row['retries']:,}",
            f"{row['bound']:.9g}{'*' if row['bound_given'] else ''}",
            f"{row['memory_mb']:.0f}",
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder with the library")
    parser.add_argument(
        "--only", default=",".join(map(str, PROBLEMS)), help="numbers of problems, with commas"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of training per instance")
    parser.add_argument("--every", action="store_true", help="all instances of each problem, not one")
    parser.add_argument("--apart", action="store_true", help="with nodes that are not merged")
    parser.add_argument("--quick", action="store_true", help="5 seconds each")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.folder, options.budget, merge_nodes=not options.apart)))
        return
    console = Console()
    console.width = max(console.width, harness.TABLE_WIDTH)
    paths = instances(options.folder, tuple(map(int, options.only.split(","))), options.every)
    if not paths:
        parser.error(f"{options.folder} has no instances of these problems; see --help for its layout")
    budget_s = 5.0 if options.quick else options.budget
    result = run(paths, budget_s, console, merge_nodes=not options.apart)
    console.print(table(result))
    console.print("* the bound on the value was given; it may be far from what can be reached")
    name = "msplib_apart" if options.apart else "msplib"
    path = harness.write_result(name, result, {"highs": HIGHS_VERSION})
    console.print(f"others used {result['others_cpu_percent']} % of one CPU meanwhile; wrote {path.name}")


if __name__ == "__main__":
    main()
