"""Outcome of a run: JSON for programs, a summary for people."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobre import __version__
from cobre.errors import CobreError
from cobre.formatting import count, risk_text

if TYPE_CHECKING:
    from rich.console import Console

    from cobre.case import Case
    from cobre.study import RunResult, SimulationResult, TrainingResult

#: Confidence level of intervals of sampled means.
CONFIDENCE = 0.95


def figures(case: Case, done: RunResult) -> dict[str, Any]:
    """Return the outcome as JSON-compatible types."""
    training, simulation = done.training, done.simulation
    found: dict[str, Any] = in_json_types(
        {
            "event": "run_finished",
            "exit_code": 0,
            "cobre_version": __version__,
            "case": case.folder.resolve(),
            "output_directory": done.output_directory.resolve(),
            "training": None if training is None else _training(training),
            "simulation": None if simulation is None else _simulation(simulation, training),
            "files": _files(done.output_directory, case.config.policy.path),
            "warnings": case.warnings,
            "next": next_commands(done.output_directory) if _has_run(done) else [],
        }
    )
    return found


def _has_run(done: RunResult) -> bool:
    return done.training is not None or done.simulation is not None


def next_commands(output: Path) -> list[str]:
    """Commands that show the results."""
    return [shlex.join(["cobre", name, str(output)]) for name in ("report", "summary")]


def phases(training: TrainingResult) -> dict[str, float]:
    """Return the seconds of each phase, over all iterations."""
    log, whole = training.engine.log, training.engine.seconds
    taken = {
        name: math.fsum(getattr(event, f"{name}_s") for event in log)
        for name in ("forward", "backward", "selection")
    }
    return {**taken, "other": max(0.0, whole - math.fsum(taken.values()))}


def _training(training: TrainingResult) -> dict[str, Any]:
    engine = training.engine
    estimate = engine.estimates[-1]
    return {
        "iterations": training.iterations,
        "lower_bound": training.final_lower_bound,
        "mean_cost": estimate.mean,
        "half_width_95": estimate.half_width(CONFIDENCE),
        "gap": training.final_gap,
        "risk_neutral": training.risk_neutral,
        "stopped_by": training.termination_reason,
        "reason": engine.reason,
        "cuts_added": training.total_cuts,
        "cuts_active": engine.log[-1].cuts_active if engine.log else 0,
        "seconds": engine.seconds,
        "phase_seconds": phases(training),
        "backend": engine.topology.backend,
        "ranks": engine.topology.size,
        "workers": training.workers or [],
        "guards": engine.warnings,
    }


def _simulation(simulation: SimulationResult, training: TrainingResult | None) -> dict[str, Any]:
    estimate = simulation.estimate
    return {
        "scenarios": simulation.scenarios,
        "mean_cost": estimate.mean,
        "standard_deviation": estimate.standard_deviation,
        "half_width_95": estimate.half_width(CONFIDENCE),
        "lower_bound_inside": _bound_position(simulation, training) == "inside"
        if training is not None and training.risk_neutral
        else None,
        "seconds": simulation.seconds,
    }


def _bound_position(simulation: SimulationResult, training: TrainingResult) -> str:
    """Position of the lower bound relative to the confidence interval of the simulated mean."""
    estimate, bound = simulation.estimate, training.final_lower_bound
    half = estimate.half_width(CONFIDENCE)
    if bound < estimate.mean - half:
        return "below"
    return "above" if bound > estimate.mean + half else "inside"


def _files(folder: Path, policy: str) -> dict[str, list[str]]:
    """Files in the output folder; for the simulation, one folder per table."""
    found = {
        "policy": (folder / policy).glob("*.cobre"),
        "training": (path for path in (folder / "training").rglob("*") if path.is_file()),
        "simulation": (folder / "simulation").glob("*"),
    }
    return {
        part: sorted(path.relative_to(folder).as_posix() for path in paths) for part, paths in found.items()
    }


# For people


def show(console: Console, case: Case, done: RunResult) -> None:
    """Print the summary of a run: a panel in a terminal, lines elsewhere."""
    if not _has_run(done):
        words = "is valid; nothing was run, as training.enabled and simulation.enabled are false"
        console.print(f"{case.folder} {words}", markup=False, highlight=False, soft_wrap=True)
        return
    rows = _rows(case, done, in_words=console.is_interactive)
    commands = next_commands(done.output_directory)
    if not console.is_interactive:
        lines = [f"{label} {text}" if label == "written to" else f"{label}: {text}" for label, text in rows]
        lines += ["next:", *(f"  {command}" for command in commands)]
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
        return
    from rich.panel import Panel  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, Text(text))
    grid.add_row("next", Text("\n".join(commands), "bold cyan"))
    title = Text(case.folder.name, "bold green")
    console.print(Panel(grid, title=title, title_align="left", border_style="green", expand=False))


def _rows(case: Case, done: RunResult, *, in_words: bool) -> list[tuple[str, str]]:
    training, simulation, rows = done.training, done.simulation, []
    if training is not None:
        if risk := risk_text([stage.risk for stage in case.system.stages]):
            rows.append(("risk measure", risk))
        reason = training.engine.reason if in_words else training.termination_reason
        rows.append(("trained", f"{_trained(training)}; stopped by {reason}"))
    if simulation is not None:
        rows.append(("simulated", _simulated(simulation)))
        rows += _horizon(case)
    if training is not None and simulation is not None and simulation.scenarios > 1:
        rows.append(("gap", _compared(simulation, training)))
    if training is not None:
        rows.append(("time", _times(training)))
    return [*rows, ("written to", str(done.output_directory))]


def _trained(training: TrainingResult) -> str:
    return (
        f"{count(training.iterations, 'iteration')} in {training.engine.seconds:.1f} s, "
        f"lower bound {training.final_lower_bound:,.2f}{'' if training.risk_neutral else ', risk-adjusted'}"
    )


def _simulated(simulation: SimulationResult) -> str:
    estimate = simulation.estimate
    half = f" ± {estimate.half_width(CONFIDENCE):,.2f}" if estimate.count > 1 else ""
    return (
        f"{count(simulation.scenarios, 'scenario')} in {simulation.seconds:.1f} s, "
        f"mean cost {estimate.mean:,.2f}{half}"
    )


def _horizon(case: Case) -> list[tuple[str, str]]:
    """The costs that trajectories of a cyclic study leave out, and their valuation."""
    path = case.system.graph.path
    if case.system.graph.horizon is None or not path:
        return []
    left = math.prod(case.system.stages[stage].discount for stage in path)
    words = (
        f"costs after {count(len(path), 'stage')} count for {100 * left:.3g} %, and are the policy's estimate"
    )
    return [("horizon", words)]


def _compared(simulation: SimulationResult, training: TrainingResult) -> str:
    bound, mean = training.final_lower_bound, simulation.mean_cost
    if not training.risk_neutral:
        return "undefined: the lower bound is of the risk-adjusted cost, the simulated mean of the cost"
    apart = f"{100 * abs(mean - bound) / abs(bound):.2f} % " if bound else ""
    side = "above" if bound > mean else "below"
    advice = {
        "inside": "inside its 95 % confidence interval",
        "below": "outside its 95 % confidence interval: more iterations may close the gap",
        "above": "outside its 95 % confidence interval: simulate more scenarios, and check warnings",
    }
    position = _bound_position(simulation, training)
    return f"the lower bound is {apart}{side} the simulated mean, {advice[position]}"


def _times(training: TrainingResult) -> str:
    whole = training.engine.seconds or 1.0
    shares = ", ".join(f"{name} {100 * seconds / whole:.0f} %" for name, seconds in phases(training).items())
    active = training.engine.log[-1].cuts_active if training.engine.log else 0
    return f"{shares}; {count(training.total_cuts, 'cut')}, {active:,} active"


def in_json_types(value: Any) -> Any:
    """Return a value as JSON-compatible types: other types as text, numbers that are not finite as None."""
    if isinstance(value, BaseException):
        return error_figures(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): in_json_types(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [in_json_types(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def error_figures(error: BaseException) -> dict[str, Any]:
    """Return the four fields of an error as JSON-compatible types."""
    if isinstance(error, CobreError):
        return {name: in_json_types(value) for name, value in error.record().items()}
    interrupted = isinstance(error, KeyboardInterrupt)
    name = type(error).__name__
    return {
        "kind": "Interrupted" if interrupted else name,
        "message": "interrupted" if interrupted else str(error),
        "context": {"class": name},
        "suggestion": None,
    }
