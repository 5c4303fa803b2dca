"""The log of a training, iteration by iteration, and its tables."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.estimates import gap_percent
from cobre.results._columns import schema_of
from cobre.results._training_tables import TRAINING

_TABLES = ("convergence", "timing/iterations", "timing/mpi_ranks", "solver/iterations")


class TrainingLog:
    """The iterations of a training. `add` each as it finishes; `Writer.training` writes what there is."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _TABLES}
        self.seconds = 0.0

    def add(self, event: Any) -> None:
        """Take an iteration that has finished, with the fields of `cobre.sddp.IterationFinished`."""
        active = self._rows["convergence"][-1]["cuts_active"] if self.iterations else 0
        spent, self.seconds = event.seconds - self.seconds, event.seconds
        for name, rows in {
            "convergence": [_convergence(event, spent, active)],
            "timing/iterations": [_timings(event, spent)],
            "timing/mpi_ranks": [_rank(times) for times in event.ranks],
            "solver/iterations": [_solver(event)],
        }.items():
            self._rows[name] += [{"iteration": event.iteration, **row} for row in rows]

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables, by their names in `TRAINING`."""
        return {
            name: pa.Table.from_pylist(rows, schema=schema_of(TRAINING[name]))
            for name, rows in self._rows.items()
        }

    @property
    def iterations(self) -> int:
        """The number of the last iteration."""
        rows = self._rows["convergence"]
        return int(rows[-1]["iteration"]) if rows else 0

    @property
    def bound(self) -> float | None:
        """The last bound."""
        return self._last("lower_bound")

    @property
    def gap_percent(self) -> float | None:
        """The last gap."""
        return self._last("gap_percent")

    @property
    def solves(self) -> int:
        """The number of linear programmes solved."""
        return sum(row["lp_solves"] for row in self._rows["convergence"])

    @property
    def cuts(self) -> dict[str, int]:
        """The numbers of cuts generated, active, and active at most."""
        rows = self._rows["convergence"]
        active = [row["cuts_active"] for row in rows] or [0]
        added = sum(row["cuts_added"] for row in rows)
        return {"total_generated": added, "total_active": active[-1], "peak_active": max(active)}

    def _last(self, name: str) -> float | None:
        rows = self._rows["convergence"]
        return rows[-1][name] if rows else None


def _convergence(event: Any, spent: float, active: int) -> dict[str, Any]:
    """``active`` cuts were in use before the iteration, which took ``spent`` seconds."""
    return {
        "lower_bound": event.bound,
        "upper_bound_mean": event.estimate.mean,
        "upper_bound_std": event.estimate.standard_deviation,
        "gap_percent": gap_percent(event.bound, event.estimate.mean),
        "cuts_added": event.cuts_added,
        "cuts_removed": active + event.cuts_added - event.cuts_active,
        "cuts_active": event.cuts_active,
        "time_forward_ms": _ms(event.forward_s),
        "time_backward_ms": _ms(event.backward_s),
        "time_total_ms": _ms(spent),
        "forward_passes": event.estimate.count,
        "lp_solves": event.programmes,
    }


def _timings(event: Any, spent: float) -> dict[str, Any]:
    left = spent - event.forward_s - event.backward_s - event.selection_s
    return {
        "rank": 0,
        "forward_wall_ms": _ms(event.forward_s),
        "backward_wall_ms": _ms(event.backward_s),
        "cut_selection_ms": _ms(event.selection_s),
        "overhead_ms": max(_ms(left), 0),
    }


def _rank(times: Any) -> dict[str, Any]:
    return {
        "rank": times.rank,
        "forward_time_ms": _ms(times.forward_s),
        "backward_time_ms": _ms(times.backward_s),
        "communication_time_ms": _ms(times.communication_s),
        "idle_time_ms": _ms(times.waiting_s),
        "lp_solves": times.solves,
        "scenarios_processed": times.trajectories,
    }


def _solver(event: Any) -> dict[str, Any]:
    return {
        "lp_solves": event.solves,
        "lp_successes": event.solves,
        "lp_retries": event.retries,
        "lp_failures": 0,
        "simplex_iterations": event.simplex_iterations,
        "solve_time_ms": 1000 * math.fsum(times.solving_s for times in event.ranks),
    }


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
