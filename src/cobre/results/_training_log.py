"""What a training did, iteration by iteration, and the tables of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.results._columns import schema_of
from cobre.results._training_tables import TRAINING

_TABLES = ("convergence", "timing/iterations", "timing/mpi_ranks", "solver/iterations")


class TrainingLog:
    """The iterations of a training. `add` each as it finishes; `Writer.training` writes what there is.

    Args:
        ranks: how many there are.
        earlier: the tables of the run that this one goes on from, as of `Results.training`.
    """

    def __init__(self, ranks: int = 1, earlier: Mapping[str, pa.Table] | None = None) -> None:
        self._ranks = ranks
        self._rows: dict[str, list[dict[str, Any]]] = {
            name: earlier[name].to_pylist() if earlier and name in earlier else [] for name in _TABLES
        }
        self.seconds = sum(row["time_total_ms"] for row in self._rows["convergence"]) / 1000

    def add(self, event: Any) -> None:
        """Take an iteration that has finished, with the fields of `cobre.sddp.IterationFinished`."""
        for name in _TABLES:  # a run may go on from before its last iteration
            self._rows[name] = [row for row in self._rows[name] if row["iteration"] < event.iteration]
        earlier = self._rows["convergence"][-1]["cuts_active"] if self.iterations else 0
        spent = event.seconds - self.seconds
        self.seconds = event.seconds
        known = (event.forward_s, event.backward_s, event.selection_s)
        forward, backward, selection = (_ms(seconds) for seconds in known)
        alone = self._ranks == 1
        gap = 100 * (event.estimate.mean - event.bound) / event.bound if event.bound > 0 else None
        rows: dict[str, Mapping[str, Any]] = {
            "convergence": {
                "lower_bound": event.bound,
                "upper_bound_mean": event.estimate.mean,
                "upper_bound_std": event.estimate.standard_deviation,
                "gap_percent": gap,
                "cuts_added": event.cuts_added,
                "cuts_removed": earlier + event.cuts_added - event.cuts_active,
                "cuts_active": event.cuts_active,
                "time_forward_ms": forward,
                "time_backward_ms": backward,
                "time_total_ms": _ms(spent),
                "forward_passes": event.estimate.count,
                "lp_solves": event.solves,
            },
            "timing/iterations": {
                "rank": 0,
                "forward_wall_ms": forward,
                "backward_wall_ms": backward,
                "cut_selection_ms": selection,
                "overhead_ms": max(_ms(spent - sum(known)), 0),
            },
            "timing/mpi_ranks": {
                "rank": 0,
                "forward_time_ms": forward,
                "backward_time_ms": backward,
                "lp_solves": event.solves if alone else None,
                "scenarios_processed": event.estimate.count if alone else None,
            },
            "solver/iterations": {
                "lp_solves": event.solves,
                "lp_successes": event.solves,
                "lp_retries": event.retries,
                "lp_failures": 0,
                "simplex_iterations": event.simplex_iterations,
            },
        }
        for name, row in rows.items():
            self._rows[name].append({"iteration": event.iteration, **row})

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
        """How many linear programmes were solved."""
        return sum(row["lp_solves"] for row in self._rows["convergence"])

    @property
    def cuts(self) -> dict[str, int]:
        """How many cuts were made, are in use, and were at most in use."""
        rows = self._rows["convergence"]
        active = [row["cuts_active"] for row in rows] or [0]
        added = sum(row["cuts_added"] for row in rows)
        return {"total_generated": added, "total_active": active[-1], "peak_active": max(active)}

    def _last(self, name: str) -> float | None:
        rows = self._rows["convergence"]
        return rows[-1][name] if rows else None


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
