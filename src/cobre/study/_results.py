"""Results of training and simulating a case."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.estimates import Estimate, relative_gap
from cobre.formatting import gap_text, html_card
from cobre.lp import Floats
from cobre.results import TrainingLog
from cobre.sddp import (
    Event,
    IterationFinished,
    Policy,
    RankTimes,
    SimulationProgress,
    TrainedPolicy,
)
from cobre.study._pictures import Choice, drawn, svg_of

if TYPE_CHECKING:
    from altair import LayerChart


@dataclass(frozen=True)
class WorkerInfo:
    """One rank of a run.

    Attributes:
        rank: which one.
        host: the machine it ran on.
        backend: by which it spoke to the others.
        wall_time_ms: what training took there, the starting of processes not included.
        solving_ms: what solving took of it, summed over threads.
        communication_ms: what it took to tell others, to hear from them and to wait for them.
        waiting_ms: of that, what it waited for the last to come.
    """

    rank: int
    host: str
    backend: str
    wall_time_ms: int
    solving_ms: int
    communication_ms: int
    waiting_ms: int


@dataclass(frozen=True)
class ProgressEvent:
    """Progress of a run. Fields of the other phase are None.

    Attributes:
        phase: ``"training"`` or ``"simulation"``.
        wall_time_ms: since it began.
        iteration: from 1.
        lower_bound: after it.
        upper_bound: the mean cost of its trajectories, an estimate.
        gap: between the two, relatively; None where it is undefined, as with a risk measure.
        iteration_time_ms: what the iteration took this worker.
        waiting_ms: of that, what it waited for the slowest worker; 0 where there is only one.
        scenarios_complete: simulated so far, by all workers.
        scenarios_total: to be simulated.
        worker_id: rank of the worker; None where there is only one. Rank 0 counts the scenarios of all.
    """

    phase: Literal["training", "simulation"]
    wall_time_ms: int
    iteration: int | None = None
    lower_bound: float | None = None
    upper_bound: float | None = None
    gap: float | None = None
    iteration_time_ms: int | None = None
    waiting_ms: int | None = None
    scenarios_complete: int | None = None
    scenarios_total: int | None = None
    worker_id: int | None = None

    @classmethod
    def all_of(cls, event: Event, *, several: bool) -> tuple[ProgressEvent, ...]:
        """Return what an event says of progress: that of an iteration for each worker, in rank order."""
        match event:
            case IterationFinished():
                return tuple(cls._of_iteration(event, times, several=several) for times in event.ranks)
            case SimulationProgress():
                progress = cls(
                    "simulation",
                    _ms(event.seconds),
                    scenarios_complete=event.done,
                    scenarios_total=event.total,
                    worker_id=0 if several else None,
                )
                return (progress,)
        return ()

    @classmethod
    def _of_iteration(cls, event: IterationFinished, times: RankTimes, *, several: bool) -> ProgressEvent:
        return cls(
            "training",
            _ms(event.seconds),
            iteration=event.iteration,
            lower_bound=event.bound,
            upper_bound=event.estimate.mean,
            gap=relative_gap(event.bound, event.estimate.mean) if event.risk_neutral else None,
            iteration_time_ms=_ms(times.wall_s),
            waiting_ms=_ms(times.waiting_s),
            worker_id=times.rank if several else None,
        )


@dataclass(frozen=True, eq=False, repr=False)
class TrainingResult:
    """Result of training a case.

    Attributes:
        engine: the engine's result: policy, bounds, estimates, log.
    """

    engine: TrainedPolicy

    def __repr__(self) -> str:
        return (
            f"TrainingResult({self.iterations} iterations, lower bound {self.final_lower_bound:,.2f}, "
            f"{self.termination_reason})"
        )

    @property
    def policy(self) -> Policy:
        """The policy; after a run by workers it is read from its file when first used."""
        return self.engine.policy

    @property
    def iterations(self) -> int:
        """Number of iterations made, those before a resumption included."""
        return self.engine.iterations

    @property
    def final_lower_bound(self) -> float:
        """The lower bound after the last iteration: of the risk-adjusted cost if there are risk measures."""
        return self.engine.bound

    @property
    def final_upper_bound(self) -> float:
        """The mean cost of the last iteration's trajectories: an estimate, not a bound that holds."""
        return self.engine.estimates[-1].mean

    @property
    def risk_neutral(self) -> bool:
        """True if the lower bound is of the expected cost, so that simulated means compare with it."""
        return all(event.risk_neutral for event in self.engine.log)

    @property
    def final_gap(self) -> float | None:
        """The relative gap between the two; None where it is undefined, as with a risk measure."""
        return relative_gap(self.final_lower_bound, self.final_upper_bound) if self.risk_neutral else None

    @property
    def termination_reason(self) -> str:
        """The stopping rule that ended it: ``"iteration_limit"``, ``"bound_stalling"``, ..."""
        return "+".join(rule.name for rule in self.engine.stopped_by)

    @property
    def total_cuts(self) -> int:
        """Number of cuts made, over all stages."""
        return sum(event.cuts_added for event in self.engine.log)

    @property
    def convergence_history(self) -> pa.Table:
        """One row per iteration: bounds, gap, cuts and times."""
        return training_log(self.engine.log).tables["convergence"]

    def plot(self, name: str = "convergence", **look: Choice) -> LayerChart:
        """Draw a figure of it: ``"convergence"`` or ``"timeline"``; the others need a folder, as `run` has.

        Args:
            name: of the figure.
            look: as for `cobre.report.draw`: ``theme``, ``width``, ``height``.

        Raises:
            ResultsError: the results of a training lack the data for this figure.
            MissingExtra: ``pip install 'cobre-parallel[report]'`` is what it takes.
        """
        return drawn(training_log(self.engine.log).tables, name, look)

    def _repr_html_(self) -> str:
        last, gap = self.engine.estimates[-1], self.final_gap
        facts = {
            "lower bound": f"{self.final_lower_bound:,.2f}",
            "mean of the last forward passes": f"{last.mean:,.2f} ({last.count} trajectories)",
            "gap between them": gap_text(gap),
            "iterations": f"{self.iterations:,} in {self.engine.seconds:,.1f} s",
            "cuts": f"{self.total_cuts:,}",
            "stopped by": self.termination_reason,
            "ranks": self.engine.topology.size,
        }
        return html_card("Training", facts, svg_of(training_log(self.engine.log).tables, "convergence"))

    @property
    def workers(self) -> list[WorkerInfo] | None:
        """The ranks that took part, in this session; None if there was one."""
        topology, log = self.engine.topology, self.engine.log
        if topology.size == 1:
            return None
        host = {rank: name for name, ranks in topology.hosts.items() for rank in ranks}
        own = [event.ranks for event in log if len(event.ranks) == topology.size]
        return [
            WorkerInfo(
                rank,
                host[rank],
                topology.backend,
                _ms(sum(ranks[rank].wall_s for ranks in own)),
                _ms(sum(ranks[rank].solving_s for ranks in own)),
                _ms(sum(ranks[rank].communication_s for ranks in own)),
                _ms(sum(ranks[rank].waiting_s for ranks in own)),
            )
            for rank in range(topology.size)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult:
    """Result of simulating a policy for a case.

    Attributes:
        output_directory: folder of the tables.
        totals: the discounted cost of each scenario.
        seconds: elapsed.
    """

    output_directory: Path
    totals: Floats
    seconds: float

    def __repr__(self) -> str:
        return f"SimulationResult({self.scenarios} scenarios, mean cost {self.mean_cost:,.2f})"

    @property
    def scenarios(self) -> int:
        """Number of simulated scenarios."""
        return len(self.totals)

    @property
    def estimate(self) -> Estimate:
        """The mean cost, and how certain it is."""
        return Estimate.of(self.totals.tolist())

    @property
    def mean_cost(self) -> float:
        """The mean over all scenarios."""
        return self.estimate.mean

    @property
    def std_cost(self) -> float:
        """The standard deviation over all scenarios."""
        return self.estimate.standard_deviation

    @property
    def wall_time_ms(self) -> int:
        """Wall time of the simulation, in milliseconds."""
        return _ms(self.seconds)

    def plot(self, name: str = "costs", **look: Choice) -> LayerChart:
        """Draw a figure of it: ``"costs"``, ``"storage"``, ``"generation"``, ``"prices"``, ...

        Args:
            name: of the figure.
            look: as for `cobre.report.draw`: ``hydro``, ``bus``, ``stage``, ``theme``, ``width``, ``height``.

        Raises:
            InvalidChoice: nothing is called so.
            ResultsError: the results lack the data for this figure.
            MissingExtra: ``pip install 'cobre-parallel[report]'`` is what it takes.
        """
        return drawn(self.output_directory, name, look)

    def _repr_html_(self) -> str:
        half = self.estimate.half_width()
        facts = {
            "mean cost": f"{self.mean_cost:,.2f}" + (f" ± {half:,.2f}" if math.isfinite(half) else ""),
            "standard deviation": f"{self.std_cost:,.2f}",
            "scenarios": f"{self.scenarios:,} in {self.seconds:,.1f} s",
            "written to": self.output_directory,
        }
        return html_card("Simulation", facts, svg_of(self.output_directory, "costs"))

    @property
    def output_files(self) -> list[str]:
        """The tables, relative to the folder."""
        found = (self.output_directory / "simulation").rglob("*.parquet")
        return sorted(path.relative_to(self.output_directory).as_posix() for path in found)


@dataclass(frozen=True, eq=False)
class RunResult:
    """Results of a run of a case.

    Attributes:
        output_directory: folder of the results; `cobre.results.read` reads it.
        training: of the training; None if the case has a policy already, or wants none.
        simulation: of the simulation; None if the case wants none.
    """

    output_directory: Path
    training: TrainingResult | None
    simulation: SimulationResult | None

    def report(self, path: str | Path | None = None, *, title: str | None = None) -> Path:
        """Write a page about the run: one file, which any browser opens without a network.

        Args:
            path: where; ``report.html`` in the output folder unless given.
            title: above it; the name of the case unless given.

        Raises:
            ResultsError: the folder is no result any more.
            OutputError: the page cannot be written.
            MissingExtra: plotting dependencies are missing: ``pip install 'cobre-parallel[report]'``.
        """
        from cobre.report import write  # noqa: PLC0415  it imports what only some have installed

        return write(self.output_directory, path, title=title)

    def plot(self, name: str = "convergence", **look: Choice) -> LayerChart:
        """Draw any figure of it: see `cobre.report.draw`.

        Args:
            name: of the figure.
            look: as for `cobre.report.draw`: ``hydro``, ``bus``, ``stage``, ``theme``, ``width``, ``height``.

        Raises:
            InvalidChoice: nothing is called so.
            ResultsError: the results lack the data for this figure.
            MissingExtra: ``pip install 'cobre-parallel[report]'`` is what it takes.
        """
        return drawn(self.output_directory, name, look)

    def _repr_html_(self) -> str:
        parts = [part._repr_html_() for part in (self.training, self.simulation) if part is not None]
        return "".join(parts) or html_card("Run", {"written to": self.output_directory})


def training_log(events: Iterable[IterationFinished]) -> TrainingLog:
    """Return the tables of a training of these iterations."""
    log = TrainingLog()
    for event in events:
        log.add(event)
    return log


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
