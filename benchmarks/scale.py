"""Parallel efficiency with up to 1 024 ranks, by a model of recorded units of work.

``python benchmarks/scale.py [--only plants,regions,dispatch] [--turns N] [--reuse] [--out FIGURE]``

Three cases are trained on one rank and one thread, and the time of each unit of work is recorded: 160 plants
with 6 lags, the four regions of ``examples``, and few reservoirs with many thermal plants, as in
`parallel.py`. `cobre.sddp.scaling` shares these units among ranks. Then it is checked: real trainings with
one rank, two, and four on two cores, in turns with the recordings. The time of an iteration is the median of
the second half of them, and the least of all turns. Recordings are kept in ``results/scale_<case>.npz``;
``--reuse`` takes them from there and checks nothing.

What the numbers do not mean: no cluster was used. Cores that share caches and memory slow each other down,
which is in the real trainings here, with two cores, and not in the model.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
import numpy as np
import placement
from _big_case import write_big_case
from _case_runs import FOUR_REGIONS
from _scale_chart import draw
from parallel import CASES as PARALLEL_CASES

from cobre.sddp import ExecutionOptions, IterationLimit
from cobre.sddp.scaling import Layout, Repeated, ScalingModel, Workload, record_workload
from cobre.study import Study

FIGURE = harness.HERE.parent / "docs" / "explanation" / "scale.svg"
PLANTS = {"hydros": 160, "lags": 6, "thermals": 120, "stages": 12, "openings": 20, "passes": 20}
#: Of each part: its name, how `write_big_case` makes the case, and the iterations.
CASES: dict[str, tuple[str, dict[str, int] | None, int]] = {
    "plants": ("160 plants", PLANTS, 4),
    "regions": PARALLEL_CASES["regions"],
    "dispatch": PARALLEL_CASES["dispatch"],
}
#: Trajectories of the recordings that are kept, where they are not those of the case: few make few cuts.
RECORDED = {"regions": 64, "dispatch": 64}
RANKS = [2**power for power in range(11)]
TRAJECTORIES = (20, 64, 200)
SHARINGS = ("static", "blocks", "balanced")
#: The ranks of the target, and other ways to use as many cores.
TARGET_TRAJECTORIES = 192
TARGET = (
    Layout(64),
    Layout(8, 8, per_machine=8),
    Layout(64, per_machine=32, cores=32),
    Layout(64, per_machine=8, cores=8),
)


# Recording, and real trainings beside it


def _study(part: str, scratch: str) -> Study:
    shape = CASES[part][1]
    return Study.load(FOUR_REGIONS if shape is None else write_big_case(Path(scratch) / part, **shape))


def _iteration_s(study: Study, iterations: int, **ways: Any) -> float:
    """Seconds of an iteration of a real training, as of a recorded one."""
    task = replace(study.training(), rule=IterationLimit(iterations))
    log = task.run(ExecutionOptions(threads=1, **ways)).log
    seconds = np.diff([0.0, *(event.seconds for event in log)])
    return float(np.median(seconds[(iterations + 1) // 2 :]))


def _recorded(study: Study, trajectories: int) -> Workload:
    task = study.training()
    method = replace(task.method, trajectories=trajectories)
    return record_workload(replace(task, method=method), 1e6, iterations=20)


def measure(part: str, turns: int) -> tuple[Workload, dict[str, Any]]:
    """Record and train a case; return the recording of the fastest turn, and what it is compared with."""
    found: list[dict[str, float]] = []
    best = None
    with tempfile.TemporaryDirectory(prefix="cobre-scale-") as scratch, harness.Neighbours() as neighbours:
        study, iterations = _study(part, scratch), CASES[part][2]
        trajectories, kinds = study.case.config.training.forward_passes, set()
        for _ in range(turns):
            kinds.add(placement.kind(placement.probe()))
            work = record_workload(study.training(), 1e6, iterations=iterations)
            recorded = ScalingModel(work, trajectories).sequential_s
            if best is None or recorded < min(turn["recorded"] for turn in found):
                best = work
            real = {
                "one": _iteration_s(study, iterations, backend="local"),
                "two": _iteration_s(study, iterations, num_workers=2),
                "four": _iteration_s(study, iterations, num_workers=4),
            }
            found.append({"recorded": recorded, **real})
            print(CASES[part][0], {name: f"{seconds:.4g} s" for name, seconds in found[-1].items()})
        if part in RECORDED:
            save(part, _recorded(study, RECORDED[part]))
        else:
            save(part, best)
    return best, {
        "trajectories": trajectories,
        "placement": sorted(kinds),
        "others_cpu_percent": neighbours.percent,
        "turns": found,
    }


def save(part: str, work: Workload) -> None:
    """Write a recording."""
    arrays = {f"forward_{i}": seconds for i, seconds in enumerate(work.forward)}
    arrays |= {f"backward_{i}": np.array(trials) for i, trials in enumerate(work.backward)}
    numbers = [*vars(work.along).values(), *vars(work.between).values(), work.path_bytes, work.cut_bytes]
    harness.RESULTS.mkdir(exist_ok=True)
    np.savez_compressed(_file(part), openings=work.openings, numbers=numbers, **arrays)


def load(part: str) -> Workload:
    """Read a recording."""
    with np.load(_file(part)) as file:
        steps = sum(name.startswith("forward_") for name in file)
        numbers = file["numbers"].tolist()
        return Workload(
            tuple(file[f"forward_{i}"] for i in range(steps)),
            tuple(tuple(file[f"backward_{i}"]) for i in range(steps + 1)),
            tuple(file["openings"].tolist()),
            Repeated(*numbers[:3]),
            Repeated(*numbers[3:6]),
            int(numbers[6]),
            int(numbers[7]),
        )


def _file(part: str) -> Path:
    return harness.RESULTS / f"scale_{part}.npz"


# What the page shows


def check_table(checked: Mapping[str, tuple[Workload, Mapping[str, Any]]]) -> Iterator[str]:
    """Return the Markdown: real trainings beside the model."""
    yield "| Case | Ranks | Measured | Model | Model / measured |"
    yield "| --- | --- | --- | --- | --- |"
    for part, (work, measured) in checked.items():
        model = ScalingModel(work, measured["trajectories"])
        for name, ranks in (("one", 1), ("two", 2), ("four", 4)):
            real = min(turn[name] for turn in measured["turns"])
            told = model.expected(Layout(ranks, per_machine=ranks, cores=2)).seconds
            yield f"| {CASES[part][0]} | {ranks} | {_ms(real)} | {_ms(told)} | {told / real:.2f} |"


def part_table(model: ScalingModel) -> Iterator[str]:
    """Return the Markdown: what an iteration spends its time on."""
    yield "| Ranks | Iteration | Forward | Backward | Outside of solves | Collectives | Efficiency |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for ranks in RANKS[::2]:
        found = model.expected(Layout(ranks))
        parts = (found.forward_s, found.backward_s, found.repeated_s, found.collective_s)
        times = " | ".join(_ms(seconds) for seconds in (found.seconds, *parts))
        yield f"| {ranks} | {times} | {model.efficiency(Layout(ranks)):.0%} |"


def way_table(model: ScalingModel) -> Iterator[str]:
    """Return the Markdown: ways to use 64 cores."""
    yield "| Machines | Ranks on each | Threads of each | Static | Blocks | Balanced |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for layout in TARGET:
        ways = [f"{model.efficiency(layout, sharing):.0%}" for sharing in SHARINGS]
        machines = len(layout.machines)
        yield f"| {machines} | {layout.ranks // machines} | {layout.threads} | {' | '.join(ways)} |"


def pay_table(works: Mapping[str, Workload]) -> Iterator[str]:
    """Return the Markdown: the most ranks with an efficiency of 70 % and more, by case and trajectories."""
    yield f"| Case | {' | '.join(f'{count} trajectories' for count in TRAJECTORIES)} |"
    yield "| --- |" + " --- |" * len(TRAJECTORIES)
    for part, work in works.items():
        models = [ScalingModel(work, count) for count in TRAJECTORIES]
        most = [max(ranks for ranks in RANKS if model.efficiency(Layout(ranks)) >= 0.7) for model in models]
        yield f"| {CASES[part][0]} | {' | '.join(map(str, most))} |"


def _ms(seconds: float) -> str:
    return f"{float(f'{1e3 * seconds:.3g}'):,.10g} ms"


def main() -> None:
    """Measure, or read what was measured; draw and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(CASES), help="which cases, with commas")
    parser.add_argument("--turns", type=int, default=3, help="how often to record and train")
    parser.add_argument("--reuse", action="store_true", help="take recordings that are there; check nothing")
    parser.add_argument("--out", type=Path, default=FIGURE, help="where the figure goes")
    options = parser.parse_args()
    only = options.only.split(",")
    if not options.reuse:
        checked = {part: measure(part, options.turns) for part in only}
        print(harness.write_result("scale", {part: measured for part, (_, measured) in checked.items()}))
        print("", *check_table(checked), sep="\n")
    works = {part: load(part) for part in only}
    print("", *pay_table(works), sep="\n")
    for part, work in works.items():
        model = ScalingModel(work, TARGET_TRAJECTORIES)
        heading = f"{CASES[part][0]}, {TARGET_TRAJECTORIES} trajectories"
        print("", heading, "", *part_table(model), "", *way_table(model), sep="\n")
    if "plants" in works:
        options.out.write_text(draw(RANKS, _curves(works["plants"])))


def _curves(work: Workload) -> dict[str, dict[str, list[float]]]:
    """By trajectories and sharing, the efficiency at each number of ranks."""
    panels = {}
    for count in TRAJECTORIES:
        model = ScalingModel(work, count)
        panels[f"{count} trajectories"] = {
            sharing: [model.efficiency(Layout(ranks), sharing) for ranks in RANKS] for sharing in SHARINGS
        }
    return panels


if __name__ == "__main__":
    main()
