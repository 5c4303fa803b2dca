"""What a case folder costs: loading, training, a simulation with all its tables; and the peer beside it.

``python benchmarks/case.py [--only peer,speedup,simulation,loading] [--quick] [--peer PYTHON]``

All parts but the last use ``examples/cases/four-regions``: four reservoirs, 124 thermal plants, 24 stages
with 20 realisations each. The folder gives these, so everybody solves the same problem.

- *peer*: training on one worker with one thread, beside cobre-python 0.5.1, the package of Cobre for Rust,
  on the same folder, with as many iterations and trajectories. Compared are the time until both have the
  same bound, the lower of the two at the end, and the time of an iteration; the target is half of the peer's.
- *speedup*: the same training on two workers that share memory, and on one with two threads. The target is
  0.60 of the time of one. All must give the same bits, or there is no result.
- *simulation*: scenarios per second, with all tables written in both layouts, and what of it is solving,
  making tables, encoding them, and waiting for the last files. The target of two workers is 0.60 of the time
  of one.
- *loading*: reading and checking a folder with 160 hydro plants and 120 stages; the target is 5 s.

Every run is a process of its own, and says how much memory it had at most. The peer is installed on first
use into ``build/peers``, from wheels that are for CPython 3.12; ``--peer`` names an interpreter that has it.

What the numbers do not mean: the two draw their trajectories by different generators, so bounds rise
differently, and how far one is after so many iterations is luck too. Nor is one case all cases: none of these
has random costs or coefficients, with which a solve takes us longer.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import _case_runs as runs
import harness
from _big_case import write_big_case
from _case_tables import tables
from _parts import PartsParser, measure

from cobre.lp._solver import HIGHS_VERSION

PARTS = ("peer", "speedup", "simulation", "loading")
PEER_TARGET = 0.50
SPEEDUP_TARGET = 0.60
SIMULATION_TARGET = 0.60
LOADING_TARGET_S = 5.0
#: Iterations beside the peer, who would take minutes for more, and of workers beside each other.
RACE, ITERATIONS, QUICK_ITERATIONS = 30, 60, 10
SCENARIOS, QUICK_SCENARIOS = 500, 60
SIMULATION_TURNS = 3
#: Hydro plants and stages of the case that is loaded.
LARGE, QUICK_LARGE = (160, 120), (40, 12)
WAYS = {
    "one worker": {},
    "two workers (shm)": {"workers": 2},
    "two threads": {"threads": 2},
}

Say = Callable[[str], object]


def run(
    quick: bool = False, only: tuple[str, ...] = PARTS, say: Say = print, peer: str | None = None
) -> dict[str, Any]:
    """Measure; one entry per part."""
    measures = {
        "peer": lambda: _peer(quick, say, peer),
        "speedup": lambda: _speedup(quick, say),
        "simulation": lambda: _simulation(quick, say),
        "loading": lambda: _loading(quick, say),
    }
    result: dict[str, Any] = {}
    with harness.Neighbours() as neighbours:
        for part in only:
            result[part] = measures[part]()
    return {"others_cpu_percent": neighbours.percent, **result}


def versions(result: dict[str, Any]) -> dict[str, str]:
    """Return what solves, and whom we are compared with."""
    peer = result.get("peer", {}).get("version")
    return {"highs": HIGHS_VERSION, **({"cobre-python": peer} if peer else {})}


@contextmanager
def _case(iterations: int, scenarios: int = 0) -> Iterator[tuple[Path, Path]]:
    """A copy of the case, and a folder for what comes of it."""
    with tempfile.TemporaryDirectory(prefix="cobre-case-") as place:
        yield runs.copy_of(runs.FOUR_REGIONS, Path(place) / "case", iterations, scenarios), Path(place)


# Beside the peer


def _peer(quick: bool, say: Say, given: str | None) -> dict[str, Any]:
    try:
        python = runs.peer_python(given)
    except runs.PeerMissing as reason:
        say(f"peer: {reason}")
        return {"skipped": str(reason)}
    iterations = QUICK_ITERATIONS if quick else RACE
    ways = {"ours": ("ours", {}), "cobre-python": ("peer", {"python": python})}
    best: dict[str, tuple[runs.Trace, dict[str, Any]]] = {}
    with _case(iterations) as (folder, place):
        for turn in range(1 if quick else 2):
            for name in harness.rotated(list(ways), turn):
                say(f"peer: turn {turn + 1}, {name}")
                action, settings = ways[name]
                output = place / f"{name}-{turn}"
                report = runs.run(action, folder, output, **settings)
                trace = runs.trace_of(output)
                if name not in best or trace.seconds[-1] < best[name][0].seconds[-1]:
                    best[name] = trace, report
    goal = min(trace.bounds[-1] for trace, _ in best.values())
    return {
        "version": runs.peer_version(python),
        "iterations": iterations,
        "goal": goal,
        "target": PEER_TARGET,
        "rows": [_contestant(name, goal, *found) for name, found in best.items()],
    }


def _contestant(name: str, goal: float, trace: runs.Trace, report: dict[str, Any]) -> dict[str, Any]:
    seconds, iteration = trace.until(goal) or (None, None)
    return {
        "who": name,
        "to_goal_s": seconds,
        "to_goal_iterations": iteration,
        "bound": trace.bounds[-1],
        "training_s": trace.seconds[-1],
        "solves": trace.solves,
        **report,
    }


# More workers


def _speedup(quick: bool, say: Say) -> dict[str, Any]:
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    outside: dict[str, float] = {}
    memory: dict[str, float] = {}
    bits: dict[str, str] = {}
    with _case(iterations) as (folder, place):
        for turn in range(2):
            say(f"speedup: turn {turn + 1}")
            for name in harness.rotated(list(WAYS), turn):
                output = place / f"{name}-{turn}"
                report = runs.run("ours", folder, output, **WAYS[name])
                trace = runs.trace_of(output)
                seconds[name].append(trace.seconds[-1])
                if not WAYS[name] and trace.solving_s is not None:
                    outside[name] = 1 - trace.solving_s / trace.seconds[-1]
                several = WAYS[name].get("workers", 1) > 1
                memory[name] = report["peak_mb_of_workers" if several else "peak_mb"]
                bits[name] = runs.bits_of(output)
    if len(set(bits.values())) != 1:
        raise RuntimeError(f"the ways to train differ in their results: {bits}")
    one = seconds["one worker"]
    rows = [
        {
            "way": name,
            "seconds": min(taken),
            "turns": taken,
            "ratio": min(taken) / min(one),
            "ratios": [mine / theirs for mine, theirs in zip(taken, one, strict=True)],
            "outside_solves": outside.get(name),
            "peak_mb_per_process": memory[name],
        }
        for name, taken in seconds.items()
    ]
    return {"iterations": iterations, "sha256": bits["one worker"], "target": SPEEDUP_TARGET, "rows": rows}


# Simulation


def _simulation(quick: bool, say: Say) -> dict[str, Any]:
    scenarios = QUICK_SCENARIOS if quick else SCENARIOS
    layouts = {"scenarios": "simulate", "compact": "compact"}
    ways = {(layout, way): (layouts[layout], ranks) for way, ranks in WAYS.items() for layout in layouts}
    turns: list[dict[tuple[str, str], dict[str, Any]]] = []
    sizes: dict[str, tuple[int, int]] = {}
    with _case(QUICK_ITERATIONS) as (training, place), _case(QUICK_ITERATIONS, scenarios) as (folder, _):
        runs.run("ours", training, place / "trained")
        for turn in range(1 if quick else SIMULATION_TURNS):
            say(f"simulation: turn {turn + 1}")
            turns.append({})
            for which, name in enumerate(harness.rotated(list(ways), turn)):
                action, ranks = ways[name]
                # A folder of its own: what an earlier turn left would have to be removed.
                output = place / f"simulated-{turn}-{which}"
                turns[-1][name] = runs.run(action, folder, output, **ranks)
                sizes[name[0]] = runs.size_of(output / "simulation")
    return {
        "scenarios": scenarios,
        "target": SIMULATION_TARGET,
        "rows": [_simulated(scenarios, *name, turns, sizes[name[0]]) for name in ways],
    }


def _simulated(
    scenarios: int,
    layout: str,
    way: str,
    turns: list[dict[tuple[str, str], dict[str, Any]]],
    size: tuple[int, int],
) -> dict[str, Any]:
    """The best turn of a way, and its ratios to one worker turn by turn."""
    best = min((turn[layout, way] for turn in turns), key=lambda report: report["simulation_s"])
    ones = [turn[layout, "one worker"]["simulation_s"] for turn in turns]
    seconds = [turn[layout, way]["simulation_s"] for turn in turns]
    return {
        "layout": layout,
        "way": way,
        "per_second": scenarios / best["simulation_s"],
        "ratio": min(seconds) / min(ones),
        "ratios": [mine / one for mine, one in zip(seconds, ones, strict=True)],
        "files": size[0],
        "bytes": size[1],
        **best,
    }


# Loading


def _loading(quick: bool, say: Say) -> dict[str, Any]:
    plants, stages = QUICK_LARGE if quick else LARGE
    with tempfile.TemporaryDirectory(prefix="cobre-case-") as place:
        folder = Path(place) / "large"
        say(f"loading: {plants} plants, {stages} stages")
        write_big_case(folder, hydros=plants, stages=stages)
        files, size = runs.size_of(folder)
        turns = [runs.run("load", folder, Path(place)) for _ in range(1 if quick else 3)]
    best = min(turns, key=lambda report: report["load_s"])
    return {"files": files, "bytes": size, "target": LOADING_TARGET_S, **best}


def main() -> None:
    """Measure what the command line asks for."""
    parser = PartsParser(__doc__, PARTS)
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has cobre-python")
    options = parser.parse_args()

    def part(name: str, say: Say) -> dict[str, Any]:
        return run(options.quick, (name,), say, options.peer)

    measure("case", options, part, tables, versions)


if __name__ == "__main__":
    main()
