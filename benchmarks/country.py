"""Studies of the size of a country: many plants, inflows with lags, programmes with hundreds of rows.

``python benchmarks/country.py [--only peer,sizes,cuts,whole] [--quick] [--peer PYTHON]``

All cases come from ``_big_case.py``: river systems of ten plants, four buses, inflow models with lags. All
run on one worker with one thread.

- *peer*: training of 40 plants with 3 lags and of 160 plants with 6, beside cobre-python 0.5.1, the package
  of Cobre for Rust, on the same folder. Compared are all iterations, and the time until both have the same
  bound, the lower of the two at the end.
- *sizes*: by plants, without lags and with 6: rows of a stage, pivots and runs of the solver per solve, the
  time per solve, and how it divides: in the solver, around it (searching cuts, slopes, proof), and the rest
  (Python).
- *cuts*: the time per solve of the two cases as the number of cuts in a stage grows. What is added are convex
  combinations of trained cuts, which bound the value, too, and change no optimum: so only the search grows.
- *whole*: one iteration of 160 plants, 6 lags, 60 stages, 20 openings and 20 passes: time and memory.

What the numbers do not mean: openings are drawn by each program from the same models, so bounds differ by the
sample, and how far one is after so many iterations is luck too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import _case_runs as runs
import harness
import numpy as np
from _big_case import write_big_case
from _country_tables import tables
from _parts import PartsParser, measure

from cobre.lp import HIGHS_VERSION
from cobre.sddp import Policy, TrainedPolicy, train
from cobre.study import Study

PARTS = ("peer", "sizes", "cuts", "whole")


def _shape(hydros: int, lags: int, thermals: int, stages: int, **others: int) -> dict[str, int]:
    shape = {"hydros": hydros, "lags": lags, "thermals": thermals, "stages": stages}
    return {**shape, "openings": 10, "passes": 10, **others}


FORTY, COUNTRY = "40 plants", "160 plants"
RACES = {
    FORTY: _shape(40, 3, 60, 24, iterations=20),
    COUNTRY: _shape(160, 6, 120, 12, iterations=4),
}
QUICK_RACES = {"20 plants": _shape(20, 3, 30, 6, passes=4, iterations=3)}
#: Our time over the peer's.
PEER_TARGETS = {FORTY: 0.08, COUNTRY: 0.12}
SIZES, QUICK_SIZES = (5, 20, 40, 80, 160), (5, 20)
CUTS, QUICK_CUTS = (100, 1_000, 5_000), (100,)
#: Milliseconds per solve with 1 000 cuts in each stage.
CUTS_TARGETS_MS = {FORTY: 0.12, COUNTRY: 1.5}
WHOLE = _shape(160, 6, 120, 60, openings=20, passes=20, iterations=1)
QUICK_WHOLE = _shape(20, 6, 30, 6, passes=4, iterations=1)

Say = Callable[[str], object]


def run(
    quick: bool = False, only: tuple[str, ...] = PARTS, say: Say = print, peer: str | None = None
) -> dict[str, Any]:
    """Measure; one entry per part."""
    measures = {
        "peer": lambda: _peer(quick, say, peer),
        "sizes": lambda: _sizes(quick, say),
        "cuts": lambda: _cuts(quick, say),
        "whole": lambda: _whole(quick, say),
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


def _case(place: Path, shape: Mapping[str, int]) -> Path:
    """A case folder of this shape."""
    return write_big_case(place / "-".join(map(str, shape.values())), **shape)


# Beside the peer


def _peer(quick: bool, say: Say, given: str | None) -> dict[str, Any]:
    try:
        python = runs.peer_python(given)
    except runs.PeerMissing as reason:
        say(f"peer: {reason}")
        return {"skipped": str(reason)}
    ways = {"ours": ("ours", {}), "cobre-python": ("peer", {"python": python})}
    races = []
    with tempfile.TemporaryDirectory(prefix="cobre-country-") as scratch:
        for case, shape in (QUICK_RACES if quick else RACES).items():
            folder, best = _case(Path(scratch), shape), {}
            for turn in range(1 if quick else 2):
                for name in harness.rotated(list(ways), turn):
                    say(f"peer: {case}, turn {turn + 1}, {name}")
                    action, settings = ways[name]
                    output = folder / f"{name}-{turn}"
                    report = runs.run(action, folder, output, **settings)
                    trace = runs.trace_of(output)
                    if name not in best or trace.seconds[-1] < best[name][0].seconds[-1]:
                        best[name] = trace, report
            races.append(_race(case, shape, best))
    return {"version": runs.peer_version(python), "races": races}


def _race(
    case: str, shape: Mapping[str, int], best: Mapping[str, tuple[runs.Trace, dict[str, Any]]]
) -> dict[str, Any]:
    goal = min(trace.bounds[-1] for trace, _ in best.values())
    rows = []
    for name, (trace, report) in best.items():
        seconds, iteration = trace.until(goal) or (None, None)
        rows.append(
            {
                "who": name,
                "training_s": trace.seconds[-1],
                "to_goal_s": seconds,
                "to_goal_iterations": iteration,
                "bound": trace.bounds[-1],
                "solves": trace.solves,
                **report,
            }
        )
    return {"case": case, **shape, "goal": goal, "target": PEER_TARGETS.get(case), "rows": rows}


# Where the time goes


def _sizes(quick: bool, say: Say) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="cobre-country-") as scratch:
        for plants in QUICK_SIZES if quick else SIZES:
            for lags in (0, 6):
                say(f"sizes: {plants} plants, {lags} lags")
                shape = _shape(plants, lags, max(6, plants * 3 // 4), 12)
                study = Study.load(_case(Path(scratch), shape))
                first = _train(study, 4)
                rows.append({**shape, **_division(study, _train(study, 4, warm_start=first, seed=1))})
    return rows


def _train(study: Study, iterations: int, **settings: Any) -> TrainedPolicy:
    return train(study.problem, iterations, trajectories=10, threads=1, backend="local", **settings)


def _division(study: Study, trained: TrainedPolicy) -> dict[str, Any]:
    """Where the time of a training on one thread went, per solve."""
    taken, seconds = trained.statistics, trained.seconds
    return {
        "rows": max(len(node.program.row_lower) for node in study.problem.nodes),
        "states": len(study.problem.states),
        "cuts_per_stage": max(len(record.cuts) for record in trained.policy.records.values()),
        "solves": taken.solves,
        "pivots_per_solve": taken.iterations / taken.solves,
        "runs_per_solve": taken.rounds / taken.solves,
        "retries": taken.retries,
        "ms_per_solve": 1e3 * seconds / taken.solves,
        "in_solver": taken.solver_s / seconds,
        "around_it": (taken.solving_s - taken.solver_s) / seconds,
        "rest": 1 - taken.solving_s / seconds,
    }


# More cuts


def _cuts(quick: bool, say: Say) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="cobre-country-") as scratch:
        for case, shape in (QUICK_RACES if quick else RACES).items():
            study = Study.load(_case(Path(scratch), shape))
            first = _train(study, 5)
            for cuts in QUICK_CUTS if quick else CUTS:
                say(f"cuts: {case}, {cuts} cuts")
                found = _train(study, 2, warm_start=_extended(first, cuts), seed=1)
                rows.append({"case": case, "target_ms": _cuts_target(case, cuts), **_division(study, found)})
    return rows


def _cuts_target(case: str, cuts: int) -> float | None:
    return CUTS_TARGETS_MS.get(case) if cuts == 1_000 else None


def _extended(trained: TrainedPolicy, cuts: int) -> Policy:
    """The policy, with so many cuts per node: its own, and convex combinations of them."""
    random = np.random.default_rng(0)

    def extended(record: Any) -> Any:
        more = cuts - len(record.cuts)
        if more <= 0 or not len(record.cuts):
            return record
        pairs = random.integers(len(record.cuts), size=(2, more))
        share = random.uniform(size=(more, 1))
        between = share * record.cuts[pairs[0]] + (1 - share) * record.cuts[pairs[1]]
        return replace(
            record,
            cuts=np.vstack([record.cuts, between]),
            families=np.resize(record.families, cuts),
            born=np.resize(record.born, cuts),
            active=np.arange(cuts, dtype=record.active.dtype),
        )

    policy = trained.policy
    return replace(policy, records={name: extended(record) for name, record in policy.records.items()})


# Full size


def _whole(quick: bool, say: Say) -> dict[str, Any]:
    shape = QUICK_WHOLE if quick else WHOLE
    with tempfile.TemporaryDirectory(prefix="cobre-country-") as scratch:
        folder = _case(Path(scratch), shape)
        say("whole: one iteration")
        report = runs.run("ours", folder, folder / "output")
        trace = runs.trace_of(folder / "output")
    return {**shape, "training_s": trace.seconds[-1], "solves": trace.solves, **report}


def main() -> None:
    """Measure what the command line asks for."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = PartsParser(__doc__, PARTS)
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has cobre-python")
    options = parser.parse_args()

    def part(name: str, say: Say) -> dict[str, Any]:
        return run(options.quick, (name,), say, options.peer)

    measure("country", options, part, tables, versions)


if __name__ == "__main__":
    main()
