"""What is said of a run beside its summary: prices, who supplies, what is unfinished and how to go on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]

from cobre.report._source import calendar, labels
from cobre.report._summary import SimulationSummary, Summary, TrainingSummary, summary
from cobre.results import Results

#: The tables of what generates, by the words for it.
SUPPLY = {"hydro": "hydros", "thermal": "thermals", "other sources": "non_controllables"}


@dataclass(frozen=True)
class Prices:
    """What one more MWh costs in the mean, weighted by load, $/MWh.

    Attributes:
        mean: over everything.
        by_stage: of each stage, by its number.
        by_bus: of each bus that has a load, by its id.
    """

    mean: float
    by_stage: dict[int, float]
    by_bus: dict[int, float]


class Facts:
    """What is to be said of a result folder, computed when asked for. What is not there is None.

    Args:
        results: the folder, as `cobre.results.read` gives it.
    """

    def __init__(self, results: Results) -> None:
        self.results = results

    @cached_property
    def summary(self) -> Summary:
        """The folder in a few numbers."""
        return summary(self.results)

    @property
    def training(self) -> TrainingSummary | None:
        """How the training went, if there is an iteration of one."""
        return self.summary.training

    @property
    def simulation(self) -> SimulationSummary | None:
        """What following the policy cost, if there are all scenarios of a simulation."""
        return self.summary.simulation

    @property
    def stages(self) -> int:
        """How many stages the problem has, 0 if that is not known."""
        return self.summary.dimensions.get("stages", 0)

    @property
    def rise(self) -> tuple[float, int] | None:
        """By which share of it the bound rose in the last tenth of the iterations, and how many these are."""
        if self.training is None or not self.training.lower_bound:
            return None
        bounds, last = (
            self.results.convergence["lower_bound"].to_numpy(),
            max(self.training.iterations // 10, 1),
        )
        if len(bounds) <= last:
            return None
        return float((bounds[-1] - bounds[-1 - last]) / abs(bounds[-1])), last

    @property
    def simulation_s(self) -> float | None:
        """What the simulation took, to the second."""
        manifest = self.results.simulation_manifest or {}
        if not (self.simulation and manifest.get("started_at") and manifest.get("completed_at")):
            return None
        begun, ended = (datetime.fromisoformat(manifest[name]) for name in ("started_at", "completed_at"))
        return (ended - begun).total_seconds()

    @cached_property
    def supply_mwh(self) -> dict[str, float]:
        """The energy that each kind of plant gives, over all scenarios."""
        return {
            words: (pc.sum(self.results.simulation(table, ["generation_mwh"]).column(0)).as_py() or 0.0)
            for words, table in SUPPLY.items()
            if table in self.results.tables
        }

    @cached_property
    def prices(self) -> Prices | None:
        """What one more MWh costs; None without a simulation or load."""
        if "buses" not in self.results.tables:
            return None
        columns = ("stage_id", "bus_id", "load_mwh", "spot_price")
        table = self.results.simulation("buses", columns)
        stage, bus, load, price = (table[name].to_numpy() for name in columns)
        if load.sum() <= 0:
            return None
        mean = float((load * price).sum() / load.sum())
        return Prices(mean, _weighted(stage, price, load), _weighted(bus, price, load))

    def stage_name(self, stage: int) -> str:
        """A stage in words: its month if that is known, else its number."""
        periods = calendar(self.results)
        return periods[stage].label if stage < len(periods) else f"stage {stage}"

    def bus_name(self, bus: int) -> str:
        """What a bus is called."""
        return labels(self.results, "bus", [bus])[bus]

    @property
    def workers(self) -> int:
        """How many processes computed."""
        return int(self.summary.distribution.get("world_size") or 1)

    @property
    def busy(self) -> float | None:
        """The share of their time that workers computed, and were not with others; None for one worker."""
        loads = self.summary.workers
        spent = sum(load.seconds for load in loads)
        return 1 - sum(load.communication_seconds for load in loads) / spent if spent else None

    @property
    def unfinished(self) -> str | None:
        """What is under way, failed or was killed: ``"training"`` or ``"simulation"``; None if nothing."""
        parts = {"training": self.results.manifest, "simulation": self.results.simulation_manifest or {}}
        ended = {None, "complete", "converged"}
        return next((part for part, said in parts.items() if said.get("status") not in ended), None)

    @property
    def case_name(self) -> str:
        """What to call the study."""
        if self.summary.case:
            return Path(self.summary.case).resolve().name
        folder = self.results.folder.resolve()
        return folder.parent.name if folder.name == "output" else folder.name

    @property
    def next_command(self) -> str:
        """How to finish what is unfinished: the case, into the same folder, from its checkpoint if any."""
        case, folder = self.summary.case or "CASE", self.results.folder
        elsewhere = folder.resolve() != (Path(case) / "output").resolve()
        saved = self.results.policy_path.with_name("checkpoint.cobre").exists()
        options = [*(["--output", str(folder)] if elsewhere else []), *(["--resume"] if saved else [])]
        return shlex.join(["cobre", "run", case, *options])


def _weighted(group: Any, value: Any, weight: Any) -> dict[int, float]:
    """The weighted mean of each group that has any weight."""
    sums = np.bincount(group, weight * value)
    weights = np.bincount(group, weight)
    return {int(i): float(sums[i] / weights[i]) for i in np.flatnonzero(weights > 0)}
