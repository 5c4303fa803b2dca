"""A result folder in a few numbers: how good the policy is, what the system does, how the run went."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]

from cobre.report._costs import totals
from cobre.report._source import calendar, labels
from cobre.results import Results
from cobre.sddp import Estimate

#: MWh of a block in a scenario that are no deficit, but what is left of solving to a tolerance.
TRIFLE_MWH = 1e-3
#: The tables of what generates, by the words for it.
SUPPLY = {"hydro": "hydros", "thermal": "thermals", "other sources": "non_controllables"}


@dataclass(frozen=True)
class Market:
    """Prices and deficits of a simulation; means are weighted by load.

    Attributes:
        price: the mean price, $/MWh; None if there is no load.
        by_stage: the mean price of each stage, by its number.
        by_bus: the mean price of each bus that has a load, by its id.
        short: how many scenarios leave load unserved.
        unserved: the share of all load that goes unserved.
    """

    price: float | None
    by_stage: dict[int, float]
    by_bus: dict[int, float]
    short: int
    unserved: float


class Facts:
    """The few numbers of a result folder, computed when asked for. What is not there is None.

    Args:
        results: the folder, as `cobre.results.read` gives it.
    """

    def __init__(self, results: Results) -> None:
        self.results = results

    @cached_property
    def trained(self) -> bool:
        """Whether there is an iteration of training."""
        there = (self.results.folder / "training" / "convergence.parquet").exists()
        return there and self.convergence["iteration"].size > 0

    @cached_property
    def convergence(self) -> dict[str, Any]:
        """The columns of the table of iterations, as arrays."""
        table = self.results.convergence
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}

    @property
    def bound(self) -> float | None:
        """The last lower bound."""
        return float(self.convergence["lower_bound"][-1]) if self.trained else None

    @property
    def iterations(self) -> int:
        """How many iterations there are."""
        return int(self.convergence["iteration"][-1]) if self.trained else 0

    @property
    def rise(self) -> tuple[float, int] | None:
        """By which share of it the bound rose in the last tenth of the iterations, and how many these are."""
        last = max(self.iterations // 10, 1)
        if not self.trained or len(self.convergence["lower_bound"]) <= last or not self.bound:
            return None
        before = float(self.convergence["lower_bound"][-1 - last])
        return (self.bound - before) / abs(self.bound), last

    @property
    def training_s(self) -> float | None:
        """What the iterations took."""
        return float(self.convergence["time_total_ms"].sum()) / 1000 if self.trained else None

    @property
    def cuts(self) -> tuple[int, int]:
        """How many cuts are in use, and how many were made."""
        return int(self.convergence["cuts_active"][-1]), int(self.convergence["cuts_added"].sum())

    @property
    def simulated(self) -> bool:
        """Whether there is a simulation with all its scenarios."""
        return "costs" in self.results.tables

    @cached_property
    def cost(self) -> Estimate | None:
        """The mean cost of the scenarios, discounted to the beginning, and how certain it is."""
        if not self.simulated:
            return None
        return Estimate.of(totals(self.results).tolist())

    @cached_property
    def supply_mwh(self) -> dict[str, float]:
        """The mean energy per scenario that each kind of plant gives."""
        return {
            words: (pc.sum(self.results.simulation(table, ["generation_mwh"]).column(0)).as_py() or 0.0)
            for words, table in SUPPLY.items()
            if table in self.results.tables
        }

    @cached_property
    def market(self) -> Market | None:
        """Prices and deficits."""
        if "buses" not in self.results.tables:
            return None
        columns = ("scenario_id", "stage_id", "bus_id", "load_mwh", "deficit_mwh", "spot_price")
        table = self.results.simulation("buses", columns)
        scenario, stage, bus, load, deficit, price = (table[name].to_numpy() for name in columns)
        total = float(load.sum())
        return Market(
            float((load * price).sum()) / total if total > 0 else None,
            _weighted(stage, price, load),
            _weighted(bus, price, load),
            int(np.unique(scenario[deficit > TRIFLE_MWH]).size),
            float(deficit.sum()) / total if total > 0 else 0.0,
        )

    @property
    def simulation_s(self) -> float | None:
        """What the simulation took, to the second."""
        manifest = self.results.simulation_manifest or {}
        if not (self.simulated and manifest.get("started_at") and manifest.get("completed_at")):
            return None
        begun, ended = (datetime.fromisoformat(manifest[name]) for name in ("started_at", "completed_at"))
        return (ended - begun).total_seconds()

    def stage_name(self, stage: int) -> str:
        """A stage in words: its month if that is known, else its number."""
        periods = calendar(self.results)
        return periods[stage].label if stage < len(periods) else f"stage {stage}"

    def bus_name(self, bus: int) -> str:
        """What a bus is called."""
        return labels(self.results, "bus", [bus])[bus]

    @property
    def busy(self) -> float | None:
        """The share of their time that workers had work, and were not with others; None for one worker."""
        path = self.results.folder / "training" / "timing" / "mpi_ranks.parquet"
        if self.workers < 2 or not path.exists():
            return None
        table = self.results.table("timing/mpi_ranks")
        forward, backward, others = (
            pc.sum(table[f"{name}_time_ms"]).as_py() or 0 for name in ("forward", "backward", "communication")
        )
        return 1 - others / (forward + backward) if forward + backward else None

    @property
    def distribution(self) -> dict[str, Any]:
        """Who computed, as manifests have it."""
        manifest = self.results.manifest or self.results.simulation_manifest or {}
        found: dict[str, Any] = manifest.get("distribution") or {}
        return found

    @property
    def workers(self) -> int:
        """How many processes computed."""
        return int(self.distribution.get("world_size") or 1)

    @property
    def unfinished(self) -> str | None:
        """What is under way, failed or was killed: ``"training"`` or ``"simulation"``; None if nothing."""
        parts = {"training": self.results.manifest, "simulation": self.results.simulation_manifest or {}}
        ended = {None, "complete", "converged"}
        return next((part for part, said in parts.items() if said.get("status") not in ended), None)

    @property
    def case(self) -> str:
        """The case folder as the run knew it; empty if it is not known."""
        return str(self.results.metadata.get("data_integrity", {}).get("case", ""))

    @property
    def case_name(self) -> str:
        """What to call the study."""
        if self.case:
            return Path(self.case).resolve().name
        folder = self.results.folder.resolve()
        return folder.parent.name if folder.name == "output" else folder.name

    @property
    def run_command(self) -> str:
        """How to run the case again into the same folder."""
        case = self.case or "CASE"
        elsewhere = self.results.folder.resolve() != (Path(case) / "output").resolve()
        more = ["--output", str(self.results.folder)] if elsewhere else []
        return shlex.join(["cobre", "run", case, *more])

    @property
    def next_command(self) -> str:
        """How to finish what is unfinished."""
        saved = self.results.policy_path.with_name("checkpoint.cobre").exists()
        return f"{self.run_command} --resume" if saved else self.run_command


def _weighted(group: Any, value: Any, weight: Any) -> dict[int, float]:
    """The weighted mean of each group that has any weight."""
    sums = np.bincount(group, weight * value)
    weights = np.bincount(group, weight)
    return {int(i): float(sums[i] / weights[i]) for i in np.flatnonzero(weights > 0)}
