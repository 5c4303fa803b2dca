"""Gain of a second core in training, and the time outside the simplex method.

``python benchmarks/parallel.py [--quick] [--before PYTHON]``

Three cases, each trained on one thread, on two threads and on two workers, in turn: the four regions of
``examples``; a case of few reservoirs and many thermal plants, of which 4 trajectories are sampled; and river
systems of 40 plants with inflows of order 3 (`_big_case.py` makes the latter two). Each training runs in a
process of its own. All must give the same bits, or there is no result. With ``--before`` another checkout's
interpreter trains on one thread, too.

What the numbers do not mean: two cores of one machine share caches and memory, and on a virtual one the host
decides what they are (`placement.py` probes it before each turn). Nothing here says what sixty-four ranks
would take.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import placement
from _big_case import write_big_case
from _case_runs import FOUR_REGIONS
from _parts import PartsParser, measure
from rich.table import Table

from cobre.lp import HIGHS_VERSION

PROGRAM = harness.HERE / "_parallel_program.py"
REGIONS, DISPATCH, RIVERS = "four regions", "4 reservoirs, 120 thermals", "40 plants, 3 lags"
PARTS = ("regions", "dispatch", "rivers")
#: Of each part: the case, how `write_big_case` makes it, and the iterations.
CASES: dict[str, tuple[str, dict[str, int] | None, int]] = {
    "regions": (REGIONS, None, 60),
    "dispatch": (
        DISPATCH,
        {"hydros": 4, "lags": 0, "thermals": 120, "stages": 12, "openings": 10, "passes": 4},
        100,
    ),
    "rivers": (
        RIVERS,
        {"hydros": 40, "lags": 3, "thermals": 60, "stages": 24, "openings": 10, "passes": 10},
        10,
    ),
}
#: Two threads or workers, as multiples of one; what may be outside the simplex method; one thread, as a
#: multiple of the other checkout's.
TARGETS = {
    REGIONS: {"two": 0.55, "outside": 0.10, "before": 1.0},
    DISPATCH: {"two": 0.62, "outside": 0.10, "before": 1 / 1.3},
    RIVERS: {"two": 0.53, "outside": None, "before": 1.0},
}
WAYS = ("one", "threads", "workers")


def run(
    quick: bool = False,
    only: tuple[str, ...] = PARTS,
    say: Callable[[str], object] = print,
    before: str | None = None,
) -> dict[str, Any]:
    """Measure; one entry per case."""
    with harness.Neighbours() as neighbours:
        result = {part: _measured(part, say, before, 1 if quick else 3) for part in only}
    return {"others_cpu_percent": neighbours.percent, **result}


def _measured(part: str, say: Callable[[str], object], before: str | None, turns: int) -> dict[str, Any]:
    name, shape, iterations = CASES[part]
    contestants = {way: (sys.executable, way) for way in WAYS}
    if before is not None:
        contestants["before"] = (before, "one")
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in contestants}
    with tempfile.TemporaryDirectory(prefix="cobre-parallel-") as scratch:
        folder = FOUR_REGIONS if shape is None else write_big_case(Path(scratch) / "case", **shape)
        for turn in range(turns):
            kind = placement.kind(placement.probe())
            for way in harness.rotated(list(contestants), turn):
                say(f"{name}, turn {turn + 1}, {way} ({kind})")
                python, how = contestants[way]
                command = [python, str(PROGRAM), str(folder), str(iterations), how]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found[way].append({"placement": kind, **json.loads(done.stdout)})
    if len({report["bits"] for way in WAYS for report in found[way]}) > 1:
        raise SystemExit(f"{name}: two ways gave different bits, so there is nothing to compare")
    return {"case": name, "iterations": iterations, "turns": found}


def tables(result: dict[str, Any]) -> list[Table]:
    """Return a table of the ways of each case."""
    return [_table(result[part]) for part in PARTS if part in result]


def _table(measured: dict[str, Any]) -> Table:
    best = {way: min(turns, key=lambda t: t["seconds"]) for way, turns in measured["turns"].items()}
    targets, one = TARGETS[measured["case"]], best["one"]
    kinds = sorted({turn["placement"] for turns in measured["turns"].values() for turn in turns})
    table = Table(title=f"{measured['case']}, {measured['iterations']} iterations; {', '.join(kinds)}")
    for column in ("", "s", "of one thread", "target", "µs per solve", "in the simplex", "around", "rest"):
        table.add_column(column, justify="left" if not column else "right")
    for way, report in best.items():
        target = None if way == "one" else targets["before" if way == "before" else "two"]
        ratio = one["seconds"] / report["seconds"] if way == "before" else report["seconds"] / one["seconds"]
        if way == "one":
            outside = 1 - report["solver_s"] / report["seconds"]
            mark = " !" if targets["outside"] is not None and outside > targets["outside"] else ""
            shares = _shares(report, mark)
        else:
            shares = ("", "", "")
        missed = " !" if target is not None and ratio > target else ""
        table.add_row(
            {"one": "one thread", "threads": "two threads", "workers": "two workers"}.get(
                way, "one thread, over the other checkout's"
            ),
            f"{report['seconds']:.2f}",
            f"{ratio:.2f}{missed}",
            "" if target is None else f"{target:.2f}",
            f"{1e6 * report['seconds'] / report['solves']:.1f}",
            *shares,
        )
    return table


def _shares(report: dict[str, Any], mark: str) -> tuple[str, str, str]:
    whole = report["seconds"]
    inside, solving = report["solver_s"] / whole, report["solving_s"] / whole
    return f"{inside:.0%}{mark}", f"{solving - inside:.0%}", f"{1 - solving:.0%}"


def versions(_: dict[str, Any]) -> dict[str, str]:
    """Return what solves."""
    return {"highs": HIGHS_VERSION}


def main() -> None:
    """Measure what the command line asks for."""
    parser = PartsParser(__doc__, PARTS)
    parser.add_argument("--before", metavar="PYTHON", help="interpreter of another checkout, on one thread")
    options = parser.parse_args()

    def part(name: str, say: Callable[[str], object]) -> dict[str, Any]:
        return run(options.quick, (name,), say, options.before)

    measure("parallel", options, part, tables, versions)


if __name__ == "__main__":
    main()
