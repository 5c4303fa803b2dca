"""Summary of results as text and tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from cobre.cli._tables import Rows, facts, heading, more, next_steps, sizes, table
from cobre.formatting import amount, count, duration
from cobre.report import (
    DeficitSummary,
    SimulationSummary,
    StorageSummary,
    Summary,
    TrainingSummary,
    cost_label,
    workers_line,
)
from cobre.sddp.stopping import stopped_by

STYLES = {"complete": "green", "converged": "green", "failed": "bold red"}
WORDS = {"running": "running, or killed", "partial": "some scenarios are missing"}


def show(console: Console, found: Summary, limit: int | None) -> None:
    """Print the summary; each table has at most ``limit`` rows."""
    status = WORDS.get(found.status, found.status)
    heading(console, found.folder, status, STYLES.get(found.status, "yellow"))
    if found.error:
        console.print(Text(f"  {found.error}", "red"), soft_wrap=True)
    facts(console, dict(_overview(found)))
    if found.simulation:
        _show_costs(console, found.simulation, limit)
    if found.storage:
        _show_storage(console, found, limit)
    if found.workers:
        _show_workers(console, found, limit)
    next_steps(console, *_next(found))


def _overview(found: Summary) -> Iterator[tuple[str, str]]:
    run = found.run
    if found.case:
        yield "case", f"{found.case}: {sizes(found.dimensions)}"
    if run:
        versions = f"cobre {run.get('cobre_version')}, HiGHS {run.get('solver_version')}"
        python = f"Python {run['python']}" if "python" in run else "Python"
        yield "run", f"{run.get('started_at')} on {run.get('hostname')}; {versions}, {python}"
    yield "workers", workers_line(found.distribution)
    if found.training:
        yield from _trained(found.training)
    if found.simulation:
        yield from _simulated(found.simulation)
    if found.deficit:
        yield "deficit", _short(found.deficit, found.simulation)


def _trained(training: TrainingSummary) -> Iterator[tuple[str, str]]:
    reason = f", stopped by {stopped_by(training.stopped_by)}" if training.stopped_by else ""
    yield "training", f"{count(training.iterations, 'iteration')} in {duration(training.seconds)}{reason}"
    adjusted = f", of the risk-adjusted cost: {training.risk}" if training.risk else ""
    yield "lower bound", f"{amount(training.lower_bound)}{adjusted}"
    active = "" if training.cuts == training.cuts_active else f", {training.cuts_active:,} active"
    yield "cuts", f"{training.cuts:,}{active}, from {training.lp_solves:,} linear programmes"


def _simulated(simulation: SimulationSummary) -> Iterator[tuple[str, str]]:
    half = f" ± {amount(simulation.half_width)}" if simulation.half_width is not None else ""
    interval = "95 % CI, " if half else ""
    yield (
        "mean cost",
        f"{amount(simulation.mean)}{half} ({interval}{count(simulation.scenarios, 'scenario')})",
    )
    if simulation.gap_percent is not None:
        yield "gap", _gap(simulation)
    spread = (simulation.least, simulation.median, simulation.p90, simulation.most)
    least, median, p90, most = map(amount, spread)
    yield "costs", f"minimum {least}, median {median}, 90 % quantile {p90}, maximum {most}"


def _gap(simulation: SimulationSummary) -> str:
    gap = simulation.gap_percent or 0.0
    where = "above" if gap >= 0 else "below"
    error = ""
    if simulation.half_width is not None and simulation.mean:
        half = 100 * simulation.half_width / abs(simulation.mean)
        error = f", sampling error ± {half:.2g} %"
    return f"the mean is {abs(gap):.3g} % {where} the lower bound{error}"


def _short(deficit: DeficitSummary, simulation: SimulationSummary | None) -> str:
    total = simulation.scenarios if simulation else deficit.scenarios
    if not deficit.scenarios:
        return f"none in {total:,} scenarios"
    often = f"in {deficit.scenarios:,} of {total:,} scenarios"
    mean = f"mean {deficit.percent_of_load:.2g} % of the load"
    where = ", ".join(list(deficit.by_bus_mwh)[:3])
    return f"{often}, {mean}; most in {deficit.worst_stage}, at {where}"


def _show_costs(console: Console, simulation: SimulationSummary, limit: int | None) -> None:
    total = sum(simulation.components.values())
    rows: Rows = [
        (cost_label(name), value, f"{100 * value / total:.2f} %" if total else "")
        for name, value in simulation.components.items()
    ]
    table(console, "Mean costs by component, present values", ("component", "$", "share"), rows[:limit])
    more(console, len(rows), limit)


def _show_storage(console: Console, found: Summary, limit: int | None) -> None:
    rows: Rows = [
        (row.name, row.initial_hm3, row.p10_hm3, row.mean_hm3, row.p90_hm3, row.most_hm3, _full(row))
        for row in found.storage
    ]
    columns = ("reservoir", "initial", "10 %", "mean", "90 %", "capacity", "full")
    table(console, "Final volumes, in hm³", columns, rows[:limit])
    more(console, len(rows), limit)


def _full(row: StorageSummary) -> str:
    return f"{100 * row.mean_hm3 / row.most_hm3:.0f} %" if row.most_hm3 else ""


def _show_workers(console: Console, found: Summary, limit: int | None) -> None:
    rows: Rows = [
        (
            f"{load.rank}",
            f"{load.seconds:.1f}",
            f"{100 * load.waiting_seconds / load.seconds:.0f} %" if load.seconds else "",
            load.lp_solves,
            load.trajectories,
        )
        for load in found.workers
    ]
    columns = ("rank", "s", "waiting", "linear programmes", "trajectories")
    table(console, "Training by worker", columns, rows[:limit])
    more(console, len(rows), limit)


def _next(found: Summary) -> Iterator[list[str]]:
    if found.status in ("running", "failed", "partial") and found.case:
        yield ["run", found.case, "--output", found.folder, "--resume"]
    if found.simulation:
        yield ["report", found.folder]
        yield ["plot", found.folder]
    yield ["compare", found.folder, "OTHER"]
