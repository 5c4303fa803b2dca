"""Summary of a result folder: training, simulated costs, deficit, storage and workers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cobre.errors import ResultsError
from cobre.estimates import Estimate, gap_percent
from cobre.formatting import risk_text
from cobre.report._components import FUTURE
from cobre.report._costs import totals
from cobre.report._panel import Floats, panel
from cobre.report._source import Source, label_of, labels, opened
from cobre.report._storage import bounds, volumes
from cobre.results import Results

#: A deficit of a block below this is a tolerance of the solver.
TOLERANCE_MWH = 1e-3


@dataclass(frozen=True)
class TrainingSummary:
    """Summary of a training.

    Attributes:
        iterations: number of iterations.
        stopped_by: stopping rule that ended it; empty if none did.
        lower_bound: lower bound after the last iteration.
        upper_bound: mean cost of the last iteration's trajectories, a rough estimate.
        gap_percent: gap between the two; None where it is undefined.
        seconds: total time of the iterations.
        cuts: cuts generated.
        cuts_active: cuts that are active.
        lp_solves: linear programmes solved in forward and backward passes.
        risk: risk measures of the stages in words; empty if all are the expectation.
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
    risk: str = ""


@dataclass(frozen=True)
class WorkerLoad:
    """Load of one rank in a training: times, linear programmes and trajectories.

    ``seconds`` includes ``communication_seconds``, which include ``waiting_seconds``.
    """

    rank: int
    seconds: float
    communication_seconds: float
    waiting_seconds: float
    lp_solves: int
    trajectories: int


@dataclass(frozen=True)
class SimulationSummary:
    """Summary of a simulation: present values of the costs of whole scenarios, and means of their components.

    Attributes:
        scenarios: number of scenarios.
        mean: mean cost.
        half_width: half-width of the mean's 95 % confidence interval; None for one scenario.
        standard_deviation: standard deviation of the costs.
        least: minimum cost.
        median: median cost.
        p90: 90 % quantile of the costs.
        most: maximum cost.
        gap_percent: gap between lower bound and mean; None where it is undefined.
        components: mean of each component that is not 0, the largest first.
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
    """Summary of the deficit, load that is not served.

    Attributes:
        scenarios: number of scenarios with a deficit.
        mean_mwh: mean energy over all scenarios.
        percent_of_load: mean energy in percent of the load.
        worst_stage: name of the stage with the largest deficit; None without deficit.
        by_bus_mwh: mean energy by name of the bus, the largest first.
    """

    scenarios: int
    mean_mwh: float
    percent_of_load: float
    worst_stage: str | None
    by_bus_mwh: dict[str, float]


@dataclass(frozen=True)
class StorageSummary:
    """Initial volume of a reservoir, and its final volume over the scenarios, in hm³.

    ``most_hm3`` is the maximum volume at the end; None if unknown.
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
    """Summary of a result folder; parts that it lacks are None or empty.

    Attributes:
        folder: path of the folder.
        status: ``"complete"``, ``"converged"``, ``"running"``, ``"failed"`` or ``"partial"``.
        error: message of a run that failed.
        case: case folder, as given to the run.
        run: start time, host, user and versions.
        dimensions: numbers of stages, plants, ....
        distribution: backend, ranks and threads.
        training: summary of the training.
        simulation: summary of the simulation.
        deficit: summary of the deficit.
        storage: summaries of the reservoirs, the largest first.
        workers: load of each rank, if there were several.
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
        """Return the content as JSON-compatible types."""
        return asdict(self)


def summary(source: Source) -> Summary:
    """Return the summary of a result folder; the run may be unfinished or failed.

    Args:
        source: a folder, or what `cobre.results.read` returned.

    Raises:
        ResultsError: it is not a result folder, or a file is damaged.
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
    """Worst status of the manifests."""
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
        risk=risk_text(list(results.risk_measures.values())),
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
        gap_percent=None
        if training is None or results.risk_averse
        else gap_percent(training.lower_bound, estimate.mean),
        components=_largest_first(components),
    )


def component_means(results: Results) -> dict[str, float]:
    """Mean present value of each cost component over the scenarios, and of what follows the last stage."""
    costs = panel(results, "costs")
    last = costs.stage == costs.stages - 1

    def add(discount: Floats, *columns: Floats) -> Floats:
        return np.stack([(discount * values).sum(axis=1) for values in columns], axis=1)

    summed = {part for component in results.cost_components for part in component.sum_of}
    names = [one.name for one in results.cost_components if one.name not in summed]
    means = costs.gather(("discount_factor", *names), add).mean(axis=0)
    found = dict(zip(names, means.tolist(), strict=True))
    columns = (FUTURE, "discount_factor")
    after = float(costs.gather(columns, lambda cost, factor: (cost * factor * last).sum(axis=1)).mean())
    is_there = abs(after) > 1e-9 * sum(map(abs, found.values()))
    return {**found, FUTURE: after if is_there else 0.0}


def _largest_first(values: dict[str, float]) -> dict[str, float]:
    """Values sorted by size, without rounding errors."""
    tolerance = 1e-12 * sum(map(abs, values.values()))
    order = sorted(values, key=lambda name: -abs(values[name]))
    return {name: values[name] for name in order if abs(values[name]) > tolerance}


def _deficit(results: Results) -> DeficitSummary:
    buses = panel(results, "buses")
    deficit, load = buses.means("deficit_mwh", "load_mwh")
    short = buses.gather(("deficit_mwh",), lambda values: (values > TOLERANCE_MWH).any(axis=1)).sum()
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
