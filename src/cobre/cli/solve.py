"""``cobre solve``: train and simulate a policy for a problem in a file of another tool."""

from __future__ import annotations

import json
import platform
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cobre
from cobre.cli._complete import backend_names
from cobre.cli._console import COLOR_HELP, Color, plain_warnings
from cobre.cli._exit import given_options, launched_here, resumable
from cobre.cli._reporter import Format, reported, reporter_for
from cobre.formatting import count

if TYPE_CHECKING:
    from cobre.sddp import MultistageProblem, SimulatedTrajectories, TrainedPolicy


def solve(  # noqa: PLR0913, PLR0917  the options of a command
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Problem: *.sof.json, or MSPFormat's *.problem.json.")
    ],
    lattice: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lattice of MSPFormat; default: beside FILE."),
    ] = None,
    iterations: Annotated[
        int, typer.Option("-n", "--iterations", metavar="N", min=1, help="Iterations of training.")
    ] = 100,
    trajectories: Annotated[int, typer.Option(metavar="N", min=1, help="Trajectories of an iteration.")] = 10,
    simulations: Annotated[
        int, typer.Option(metavar="N", min=0, help="Trajectories of the simulation; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of all draws.")] = 0,
    value_bound: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Number that no value can pass; default: computed."),
    ] = None,
    no_merge_nodes: Annotated[
        bool, typer.Option("--no-merge-nodes", help="Train each node by itself.")
    ] = False,
    relax_integers: Annotated[
        bool, typer.Option("--relax-integers", help="Take integer variables as continuous.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option("-w", "--workers", metavar="N", min=1, help="Worker processes, as for run."),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="Communication backend, as for run.", autocompletion=backend_names)
    ] = "auto",
    threads: Annotated[
        int | None,
        typer.Option("-t", "--threads", metavar="N", min=1, help="Threads per worker, as for run."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the policy in the output folder.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Output folder; default: NAME.output beside FILE."
        ),
    ] = None,
    output_format: Annotated[
        Format,
        typer.Option(
            "-f",
            "--output-format",
            help="Text for people, JSON at the end, or a line of JSON per event.",
        ),
    ] = "human",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print warnings and errors only.")] = False,
    color: Annotated[Color, typer.Option(help=COLOR_HELP)] = "auto",
) -> None:
    """Solve a problem in StochOptFormat or MSPFormat.

    Example: cobre solve news_vendor.sof.json --workers 4

    It trains a policy and simulates it. The output folder gets the policy and tables of both.
    """
    from cobre import study  # noqa: PLC0415  slow import
    from cobre.results import SOLVED_POLICY, begin_solved  # noqa: PLC0415
    from cobre.sddp import Checkpoint, ExecutionOptions, simulate, train  # noqa: PLC0415

    folder = output or file.with_name(f"{_name(file)}.output")
    options = {
        "--lattice": (lattice, None),
        "--iterations": (iterations, 100),
        "--trajectories": (trajectories, 10),
        "--simulations": (simulations, 1000),
        "--seed": (seed, 0),
        "--value-bound": (value_bound, None),
        "--no-merge-nodes": (no_merge_nodes, False),
        "--relax-integers": (relax_integers, False),
        "--workers": (workers, None),
        "--backend": (backend, "auto"),
        "--threads": (threads, None),
        "--output": (output, None),
        "--output-format": (output_format, "human"),
        "--quiet": (quiet, False),
        "--color": (color, "auto"),
    }
    saved = folder / SOLVED_POLICY
    command = shlex.join(["cobre", "solve", str(file), *given_options(options), "--resume"])
    is_root = launched_here().rank == 0
    reporter = reporter_for(output_format, quiet=quiet, color=color, is_root=is_root)
    with plain_warnings(), reported(reporter, saved, command):
        with study.joined(ExecutionOptions(workers, backend, threads)) as execution:
            problem = execution.together(lambda: _read(file, lattice, relax_integers, value_bound))
            if is_root:
                begin_solved(folder)
            if is_root and not quiet and output_format == "human":
                sizes = f"{count(len(problem.nodes), 'node')}, {count(len(problem.states), 'state')}"
                typer.echo(f"{file}: {sizes}", err=True)
            started = {"num_workers": workers, "backend": backend}
            where: dict[str, Any] = started if execution.comm is None else {"comm": execution.comm}
            with resumable(saved, command), reporter.listening() as listeners:
                policy = train(
                    problem,
                    iterations,
                    trajectories=trajectories,
                    seed=seed,
                    merge_nodes=not no_merge_nodes,
                    checkpoint=Checkpoint(saved),
                    resume=saved if resume else None,
                    listeners=listeners,
                    threads=threads,
                    **where,
                )
                simulated = (
                    simulate(
                        problem,
                        policy.policy,
                        simulations,
                        seed=seed,
                        listeners=listeners,
                        threads=threads,
                        **where,
                    )
                    if simulations
                    else None
                )
        if is_root:
            figures = _figures(file, problem, policy, simulated, folder)
            _write(folder, policy, simulated, figures)
            _show(figures, output_format, quiet=quiet)


def _name(file: Path) -> str:
    name = file.name.removesuffix(".gz").removesuffix(".json")
    return name.removesuffix(".sof").removesuffix(".problem")


def _read(
    file: Path, lattice: Path | None, relax_integers: bool, value_bound: float | None
) -> MultistageProblem:
    from cobre.formats import read_mspformat, read_stochoptformat  # noqa: PLC0415

    if lattice is not None or ".problem.json" in file.name:
        return read_mspformat(file, lattice, relax_integers=relax_integers, value_bound=value_bound)
    return read_stochoptformat(file, relax_integers=relax_integers, value_bound=value_bound)


def _figures(
    file: Path,
    problem: MultistageProblem,
    policy: TrainedPolicy,
    simulated: SimulatedTrajectories | None,
    folder: Path,
) -> dict[str, Any]:
    """Return the outcome in JSON's types."""
    estimate = None if simulated is None else simulated.estimate
    return {
        "event": "solve_finished",
        "problem": str(file),
        "sense": problem.sense,
        "nodes": len(problem.nodes),
        "states": len(problem.states),
        "iterations": policy.iterations,
        "bound": policy.bound,
        "reason": policy.reason,
        "seconds": policy.seconds,
        "cuts": policy.log[-1].cuts_active,
        "cuts_repeated": sum(event.cuts_repeated for event in policy.log),
        "guards": len(policy.warnings),
        "simulation": None
        if estimate is None
        else {"trajectories": estimate.count, "mean": estimate.mean, "half_width_95": _half(estimate)},
        "merging": policy.merging,
        "method": dict(policy.policy.method),
        "workers": {
            "backend": policy.topology.backend,
            "world_size": policy.topology.size,
            "hosts": list(policy.topology.hosts),
        },
        "versions": {"cobre": cobre.__version__, "python": platform.python_version()},
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "output_directory": str(folder),
    }


def _half(estimate: Any) -> float | None:
    return estimate.half_width() if estimate.count > 1 else None


def _write(
    folder: Path, policy: TrainedPolicy, simulated: SimulatedTrajectories | None, figures: dict[str, Any]
) -> None:
    """Write the tables of bounds and simulation, and the outcome."""
    from cobre.results import write_solved  # noqa: PLC0415

    bounds = {
        "iteration": [event.iteration for event in policy.log],
        "bound": policy.bounds,
        "raw_bound": policy.raw_bounds,
        "mean": [estimate.mean for estimate in policy.estimates],
        "standard_deviation": [estimate.standard_deviation for estimate in policy.estimates],
        "trajectories": [estimate.count for estimate in policy.estimates],
        "cuts_added": [event.cuts_added for event in policy.log],
        "cuts_repeated": [event.cuts_repeated for event in policy.log],
        "cuts_active": [event.cuts_active for event in policy.log],
        "seconds": [event.seconds for event in policy.log],
    }
    table, totals = (None, None) if simulated is None else (simulated.table, simulated.totals)
    write_solved(folder, figures, bounds, table, totals)


def _show(figures: dict[str, Any], output_format: Format, *, quiet: bool) -> None:
    if output_format != "human":
        typer.echo(json.dumps(figures, indent=None if output_format == "jsonl" else 2))
    elif not quiet:
        side = "lower" if figures["sense"] == "min" else "upper"
        typer.echo(
            f"trained: {count(figures['iterations'], 'iteration')} in {figures['seconds']:.1f} s, "
            f"{side} bound {figures['bound']:,.10g}"
        )
        if simulation := figures["simulation"]:
            half = "" if simulation["half_width_95"] is None else f" ± {simulation['half_width_95']:,.4g}"
            typer.echo(f"simulated: mean {simulation['mean']:,.10g}{half} ({simulation['trajectories']:,})")
        typer.echo(f"written to {figures['output_directory']}")
