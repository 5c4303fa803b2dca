"""What a result folder says, in a few numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.estimates import Estimate, gap_percent
from cobre.report._costs import totals
from cobre.report._panel import Floats, panel
from cobre.report._source import Source, label_of, labels, opened
from cobre.report._storage import bounds, volumes
from cobre.results import Results

#: MWh of a block in a scenario that are no deficit, but what is left of solving to a tolerance.
TRIFLE_MWH = 1e-3


@dataclass(frozen=True)
class TrainingSummary:
    """How a training went.

    Attributes:
        iterations: how many were made.
        stopped_by: the rule that ended it; empty if none did.
        lower_bound: the last one.
        upper_bound: the mean cost of the last iteration's trajectories: an estimate, and a rough one.
        gap_percent: between the two; None where it means nothing.
        seconds: what the iterations took.
        cuts: how many were made.
        cuts_active: how many of them are in use.
        lp_solves: linear programmes that both passes consist of.
    """

    iterations: int
    stopped_by: str
    lower_bound: float
    upper_bound: float
    gap_percent: float | None
    seconds: float
    cuts: int
    cuts_active: int
    lp_solves: int


@dataclass(frozen=True)
class WorkerLoad:
    """What one rank did in a training: its time, of that with others, of that waiting, and what it solved."""

    rank: int
    seconds: float
    communication_seconds: float
    waiting_seconds: float
    lp_solves: int
    trajectories: int


@dataclass(frozen=True)
class SimulationSummary:
    """What following the policy cost: the discounted costs of whole scenarios, and their components' means.

    Attributes:
        scenarios: how many there are.
        mean: of their costs.
        half_width: of the interval that has it with 95 % confidence; None for one scenario.
        standard_deviation: of their costs.
        least: of their costs.
        median: likewise.
        p90: what one in ten costs more than.
        most: of their costs.
        gap_percent: by how much the mean is above the lower bound; None where it means nothing.
        components: the mean of each component that is not 0, the largest first.
    """

    scenarios: int
    mean: float
    half_width: float | None
    standard_deviation: float
    least: float
    median: float
    p90: float
    most: float
    gap_percent: float | None
    components: dict[str, float]


@dataclass(frozen=True)
class DeficitSummary:
    """Load that goes unserved.

    Attributes:
        scenarios: how many have any.
        mean_mwh: the mean over all scenarios.
        percent_of_load: likewise.
        worst_stage: the stage with the most of it, in words; None if there is none.
        by_bus_mwh: the mean at each bus that has any, by name, the largest first.
    """

    scenarios: int
    mean_mwh: float
    percent_of_load: float
    worst_stage: str | None
    by_bus_mwh: dict[str, float]


@dataclass(frozen=True)
class StorageSummary:
    """The volume of a reservoir at the beginning and over the scenarios at the end, in hm³.

    ``most_hm3`` is what it can hold then; None if that is not known.
    """

    id: int
    name: str
    initial_hm3: float
    mean_hm3: float
    p10_hm3: float
    p90_hm3: float
    most_hm3: float | None


@dataclass(frozen=True)
class Summary:
    """A result folder in a few numbers. What it does not have is None, or empty.

    Attributes:
        folder: where it is.
        status: ``"complete"``, ``"converged"``, ``"running"``, ``"failed"`` or ``"partial"``.
        error: what happened, of a run that failed.
        case: the case folder, as the run knew it.
        run: when, by whom and with which versions.
        dimensions: how many stages, plants, ... the problem has.
        distribution: who computed.
        training: how it went.
        simulation: what it cost.
        deficit: load that goes unserved.
        storage: reservoirs at the end, the largest first.
        workers: what each rank did, if there were several.
    """

    folder: str
    status: str
    error: str | None
    case: str
    run: dict[str, Any]
    dimensions: dict[str, int]
    distribution: dict[str, Any]
    training: TrainingSummary | None
    simulation: SimulationSummary | None
    deficit: DeficitSummary | None
    storage: tuple[StorageSummary, ...]
    workers: tuple[WorkerLoad, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it in JSON's types."""
        return asdict(self)


def summary(source: Source) -> Summary:
    """Say in a few numbers what a result folder has. A run that is under way, or has failed, has some, too.

    Args:
        source: a folder, or what `cobre.results.read` returned.

    Raises:
        ResultsError: it is no result, or a file is damaged.
    """
    results = opened(source)
    manifests = [manifest for manifest in (results.manifest, results.simulation_manifest) if manifest]
    training = _training(results)
    about = results.metadata
    simulated = "costs" in results.tables
    return Summary(
        folder=str(results.folder),
        status=_status([str(manifest.get("status")) for manifest in manifests]),
        error=next((str(manifest["error"]) for manifest in manifests if manifest.get("error")), None),
        case=str(about.get("data_integrity", {}).get("case", "")),
        run={**about.get("run_info", {}), **_versions(about.get("environment", {}))},
        dimensions={
            name.removeprefix("num_"): number for name, number in about.get("problem_dimensions", {}).items()
        },
        distribution=next((dict(manifest["distribution"]) for manifest in manifests), {}),
        training=training,
        simulation=_simulation(results, training) if simulated else None,
        deficit=_deficit(results) if simulated else None,
        storage=tuple(_storage(results)) if simulated and "hydros" in results.tables else (),
        workers=tuple(_workers(results)),
    )


def _status(found: list[str]) -> str:
    """The worst of what manifests say."""
    for status in ("failed", "running", "partial", "converged"):
        if status in found:
            return status
    return found[0]


def _versions(environment: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in environment.items() if name != "distribution"}


def _training(results: Results) -> TrainingSummary | None:
    if not (results.folder / "training" / "convergence.parquet").exists():
        return None
    table = results.convergence
    if not table.num_rows:
        return None
    last = {name: table[name][-1].as_py() for name in table.column_names}
    added, milliseconds, solves = (
        int(table[name].to_numpy().sum()) for name in ("cuts_added", "time_total_ms", "lp_solves")
    )
    ended = results.manifest.get("convergence", {}).get("termination_reason", "")
    failed = results.manifest.get("status") == "failed"
    return TrainingSummary(
        iterations=last["iteration"],
        stopped_by="" if failed else ended,
        lower_bound=last["lower_bound"],
        upper_bound=last["upper_bound_mean"],
        gap_percent=last["gap_percent"],
        seconds=milliseconds / 1000,
        cuts=added,
        cuts_active=last["cuts_active"],
        lp_solves=solves,
    )


def _workers(results: Results) -> Iterator[WorkerLoad]:
    try:
        table = results.table("timing/mpi_ranks")
    except ResultsError:
        if (results.folder / "training" / "timing" / "mpi_ranks.parquet").exists():
            raise
        return
    times = [f"{name}_time_ms" for name in ("forward", "backward", "communication", "idle")]
    rank, *columns = (table[name].to_numpy() for name in ("rank", *times, "lp_solves", "scenarios_processed"))
    if rank.size == 0 or rank.max() == 0:
        return
    sums = [np.bincount(rank, values) for values in columns]
    for number, (forward, backward, together, waiting, solves, units) in enumerate(zip(*sums, strict=True)):
        spent, shared, waited = (float(ms) / 1000 for ms in (forward + backward, together, waiting))
        yield WorkerLoad(number, spent, shared, waited, int(solves), int(units))


def _simulation(results: Results, training: TrainingSummary | None) -> SimulationSummary:
    costs = totals(results)
    estimate = Estimate.of(costs.tolist())
    half = estimate.half_width()
    components = component_means(results)
    least, median, p90, most = np.quantile(costs, (0.0, 0.5, 0.9, 1.0)).tolist()
    return SimulationSummary(
        scenarios=estimate.count,
        mean=estimate.mean,
        half_width=half if math.isfinite(half) else None,
        standard_deviation=estimate.standard_deviation,
        least=least,
        median=median,
        p90=p90,
        most=most,
        gap_percent=gap_percent(training.lower_bound, estimate.mean) if training else None,
        components=_largest_first(components),
    )


def component_means(results: Results) -> dict[str, float]:
    """The mean over the scenarios of each component of the costs, discounted to the beginning."""
    costs = panel(results, "costs")

    def add(discount: Floats, *columns: Floats) -> Floats:
        return np.stack([(discount * values).sum(axis=1) for values in columns], axis=1)

    summed = {part for component in results.cost_components for part in component.sum_of}
    names = [one.name for one in results.cost_components if one.name not in summed]
    means = costs.gather(("discount_factor", *names), add).mean(axis=0)
    return dict(zip(names, means.tolist(), strict=True))


def _largest_first(values: dict[str, float]) -> dict[str, float]:
    """Without what is but an error of rounding."""
    trifle = 1e-12 * sum(map(abs, values.values()))
    order = sorted(values, key=lambda name: -abs(values[name]))
    return {name: values[name] for name in order if abs(values[name]) > trifle}


def _deficit(results: Results) -> DeficitSummary:
    buses = panel(results, "buses")
    deficit, load = buses.means("deficit_mwh", "load_mwh")
    short = buses.gather(("deficit_mwh",), lambda values: (values > TRIFLE_MWH).any(axis=1)).sum()
    by_stage = np.bincount(buses.stage, deficit)
    names = labels(results, "bus", buses.ids)
    by_bus = {name: float(deficit[buses.entity == bus].sum()) for bus, name in names.items()}
    total = float(load.sum())
    return DeficitSummary(
        scenarios=int(short),
        mean_mwh=float(deficit.sum()),
        percent_of_load=100 * float(deficit.sum()) / total if total else 0.0,
        worst_stage=label_of(results, int(by_stage.argmax())) if short else None,
        by_bus_mwh=_largest_first(by_bus) if short else {},
    )


def _storage(results: Results) -> list[StorageSummary]:
    found, limits = volumes(results), bounds(results)
    names = labels(results, "hydro", list(found))
    rows = []
    for hydro, volume in found.items():
        most = float(limits[hydro][-1, 1]) if hydro in limits else math.nan
        low, high = np.quantile(volume[:, -1], (0.1, 0.9)).tolist()
        mean, initial = float(volume[:, -1].mean()), float(volume[:, 0].mean())
        known = most if math.isfinite(most) else None
        rows.append(StorageSummary(hydro, names[hydro], initial, mean, low, high, known))
    held = [row for row in rows if row.most_hm3 != 0]
    return sorted(held, key=lambda row: -(row.most_hm3 or row.p90_hm3))
