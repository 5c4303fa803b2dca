"""The folder that ``cobre solve`` writes: policy, tables of training and simulation, and a summary."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cobre.errors import ResultsError

#: The policy in the folder; it is also the checkpoint.
SOLVED_POLICY = "policy.cobre"
SUMMARY = "summary.json"
BOUNDS, SIMULATION, TOTALS = "bounds.parquet", "simulation.parquet", "totals.parquet"


@dataclass(frozen=True, eq=False)
class SolvedProblem:
    """Results of ``cobre solve``. Tables are read when asked for.

    Attributes:
        folder: where it is.
        summary: sizes, outcome and versions, as in ``summary.json``.
    """

    folder: Path
    summary: dict[str, Any]

    @property
    def maximizes(self) -> bool:
        """True if totals are rewards, and the bound an upper one."""
        return bool(self.summary["sense"] == "max")

    @property
    def simulated(self) -> bool:
        """True if there is a simulation."""
        return self.summary["simulation"] is not None

    @property
    def policy_path(self) -> Path:
        """The file of the policy, for `cobre.sddp.Policy.load`."""
        return self.folder / SOLVED_POLICY

    @cached_property
    def bounds(self) -> pa.Table:
        """A row per iteration.

        Raises:
            ResultsError: the file is missing or damaged, as for all tables.
        """
        return self._table(BOUNDS)

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The discounted cost or reward of each simulated trajectory."""
        return np.asarray(self._table(TOTALS)["total"].to_numpy(), np.float64)

    @cached_property
    def states(self) -> dict[str, NDArray[np.float64]]:
        """Each state before the first step and after each: trajectories by 1 + steps; NaN where it is not."""
        table = self._table(SIMULATION)
        names = [name.removesuffix("_in") for name in table.column_names[5:] if name.endswith("_in")]
        trajectory, step = (table[name].to_numpy() for name in ("trajectory", "step"))
        shape = (int(trajectory.max()) + 1, int(step.max()) + 2) if len(step) else (0, 1)
        found = {}
        for name in (name for name in names if f"{name}_out" in table.column_names):
            values = np.full(shape, np.nan)
            values[trajectory, step + 1] = table[f"{name}_out"].to_numpy()
            values[trajectory[step == 0], 0] = table[f"{name}_in"].to_numpy()[step == 0]
            found[name] = values
        return found

    def _table(self, name: str) -> pa.Table:
        path = self.folder / name
        try:
            return pq.read_table(path)
        except FileNotFoundError as error:
            raise ResultsError(
                str(path), "missing", "there is no such file; solve the problem again"
            ) from error
        except (OSError, pa.ArrowException) as error:
            raise ResultsError(
                str(path), "damaged", f"it cannot be read ({error}); solve the problem again"
            ) from error


def write_solved(
    folder: Path,
    summary: Mapping[str, Any],
    bounds: Mapping[str, Any],
    simulation: pa.Table | None,
    totals: NDArray[np.float64] | None,
) -> None:
    """Write the tables of a solved problem, and its summary last."""
    for name, table in (
        (BOUNDS, pa.table(dict(bounds))),
        (SIMULATION, simulation),
        (TOTALS, None if totals is None else pa.table({"total": totals})),
    ):
        if table is not None:
            pq.write_table(table, folder / name)
    (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def begin_solved(folder: Path) -> None:
    """Make the folder of a problem that is to be solved; an earlier summary is of another run from now on."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMMARY).unlink(missing_ok=True)


def is_solved(folder: Path) -> bool:
    """Tell whether ``cobre solve`` has written to a folder, to its end or not."""
    known = any((folder / name).is_file() for name in (SOLVED_POLICY, SUMMARY))
    return known and not (folder / "training").is_dir()


def read_solved(folder: Path) -> SolvedProblem:
    """Read the folder of a solved problem.

    Raises:
        ResultsError: its summary is missing, since the run has not finished, or damaged.
    """
    path = folder / SUMMARY
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        if summary["event"] != "solve_finished":
            raise ValueError("it is the summary of something else")
    except FileNotFoundError as error:
        reason = "cobre solve has not finished; resume it with the same command and --resume"
        raise ResultsError(str(folder), "incomplete", reason) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(
            str(path), "damaged", f"it cannot be read ({error}); solve the problem again"
        ) from error
    return SolvedProblem(folder, summary)
