"""The log of a training, iteration by iteration, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.results._columns import schema_of
from cobre.results._training_tables import FILLED, TRAINING, Iteration


class TrainingLog:
    """The iterations of a training. `add` each as it finishes; `Writer.training` writes what there is."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in FILLED}
        self.seconds = 0.0

    def add(self, event: Any) -> None:
        """Take an iteration that has finished, with the fields of `cobre.sddp.IterationFinished`."""
        active = self._rows["convergence"][-1]["cuts_active"] if self.iterations else 0
        finished = Iteration(event, event.seconds - self.seconds, active)
        self.seconds = event.seconds
        for name, columns in FILLED.items():
            for record in _records(name, finished):
                row = {filled.column.name: filled.value(record) for filled in columns}
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


def _records(table: str, finished: Iteration) -> Sequence[Any]:
    """The sources of the rows of an iteration."""
    if table == "timing/mpi_ranks":
        records: Sequence[Any] = finished.event.ranks
        return records
    if table == "solver/retry_histogram" and not finished.event.retries:
        return ()
    return (finished,)
