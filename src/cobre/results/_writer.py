"""Writing results to disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cobre.errors import OutputError
from cobre.results import _dictionaries as dictionaries
from cobre.results import _manifest as manifests
from cobre.results._files import (
    MANIFEST,
    SUCCESS,
    digest,
    make_folder,
    remove,
    write_bytes,
    write_json,
    write_table,
)
from cobre.results._layout import LAYOUTS, LayoutName
from cobre.results._manifest import RunDescription, RunTopology
from cobre.results._scenarios import ScenarioWriter
from cobre.results._simulation_solver import solver_tables
from cobre.results._simulation_tables import SIMULATION
from cobre.results._training_log import TrainingLog

#: What the folder of the stochastic model may have.
STOCHASTIC = (
    "noise_openings.parquet",
    "inflow_seasonal_stats.parquet",
    "inflow_ar_coefficients.parquet",
    "inflow_annual_component.parquet",
    "load_seasonal_stats.parquet",
    "correlation.json",
    "fitting_report.json",
)


class Writer:
    """Writes a result folder. It can be pickled, and holds nothing but names.

    Rank 0 calls everything; other ranks only `scenarios`, between rank 0's `begin_simulation` and
    `finish_simulation`. Every file is written whole or not at all. What an earlier run left is removed when
    a run begins, after its manifest says that a run is under way: so whatever is killed when, a folder whose
    manifests say ``"complete"`` holds one whole run.

    Args:
        folder: where; made if need be.
        compression: of Parquet files: ``"zstd"``, ``"lz4"`` or ``"none"``.
        policy: the folder of the policy in it.
        layout: of the tables of a simulation: ``"scenarios"``, which is that of the format, or ``"compact"``.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        compression: str = "zstd",
        policy: str = "policy",
        layout: LayoutName = "scenarios",
    ) -> None:
        self.folder, self.layout = Path(folder), layout
        self._compression = compression
        self._policy = policy

    @property
    def policy_path(self) -> Path:
        """The file of the policy."""
        return self.folder / self._policy / "policy.cobre"

    @property
    def _states_path(self) -> Path:
        return self.policy_path.with_name("states.parquet")

    # Training

    @property
    def training_ended(self) -> bool:
        """True unless a training is under way or has failed."""
        try:
            return self._read("training")["status"] in {"complete", "converged"}
        except OutputError:
            return not (self._training / MANIFEST).exists()

    def begin(self, run: RunDescription) -> None:
        """Mark a training as running, describe it, and remove the results of an earlier run.

        Its policy and checkpoint stay: the training may be one that goes on from them.

        Raises:
            OutputError: the folder is something else, or cannot be written.
        """
        self._claim()
        self._write_manifest("training", manifests.training_manifest(run))
        for name in (SUCCESS, "convergence.parquet", "metadata.json", "timing", "solver", "dictionaries"):
            remove(self._training / name)
        remove(self._states_path)
        for name in STOCHASTIC:
            remove(self.folder / "stochastic" / name)
        self._remove_scenarios()  # they are of another policy
        remove(self.folder / "simulation" / MANIFEST)
        make_folder(self.policy_path.parent)
        write_json(self._training / "metadata.json", manifests.metadata(run))
        write_json(self._training / "model_provenance.json", run.provenance)
        self._write_dictionaries(run)

    def stochastic(self, files: Mapping[str, pa.Table | Mapping[str, Any]]) -> None:
        """Write the stochastic model: tables, and the content of JSON files, by the names of their files."""
        for name, content in files.items():
            path = self.folder / "stochastic" / name
            if isinstance(content, pa.Table):
                write_table(path, content, self._compression)
            else:
                write_json(path, content)

    def states(self, names: Sequence[str], visited: Mapping[str, NDArray[np.float64]]) -> None:
        """Write the states at which cuts were made.

        Args:
            names: of the states.
            visited: by the id of the stage after which they were met, a row for each of them.
        """
        ids = [np.full(len(states), int(stage), np.int32) for stage, states in visited.items()]
        stages = np.concatenate([np.empty(0, np.int32), *ids])
        rows = np.concatenate([np.empty((0, len(names))), *visited.values()])
        columns = {"stage_id": stages} | {name: rows[:, i] for i, name in enumerate(names)}
        write_table(self._states_path, pa.table(columns), self._compression)

    def training(self, log: TrainingLog) -> None:
        """Write the tables of a training as they are now."""
        for name, table in log.tables.items():
            write_table(self._training / f"{name}.parquet", table, self._compression)

    def finish(self, log: TrainingLog, reason: str, *, converged: bool = False) -> None:
        """Mark the training as ended, with the reason.

        Args:
            log: of all its iterations.
            reason: in words.
            converged: whether a rule about bounds ended it, and not a limit.
        """
        self.training(log)
        known = {"convergence": self._training / "convergence.parquet", "policy": self.policy_path}
        checksum = {name: digest(path) for name, path in known.items() if path.exists()}
        begun, about = self._read("training"), self._read("training", "metadata.json")
        manifest = manifests.finished_manifest(begun, log, reason, converged, checksum)
        write_json(self._training / "metadata.json", manifests.finished_metadata(about, log, manifest))
        self._write_manifest("training", manifest)
        write_bytes(self._training / SUCCESS, b"")

    # Simulation

    def begin_simulation(
        self,
        scenarios: int,
        topology: RunTopology = RunTopology(),  # noqa: B008  frozen
        run: RunDescription | None = None,
    ) -> None:
        """Mark a simulation as running, and remove an earlier one.

        Args:
            scenarios: how many there will be.
            topology: ranks, threads and hosts.
            run: what is simulated, for dictionaries; a training has written its own, but trajectories of a
                cyclic study may be longer now.
        """
        self._claim()
        self._write_manifest("simulation", manifests.simulation_manifest(scenarios, topology, self.layout))
        self._remove_scenarios()
        has_dictionaries = (self._training / MANIFEST).exists()
        if run is not None and (not has_dictionaries or run.system.graph.horizon is not None):
            self._write_dictionaries(run)

    def scenarios(self) -> ScenarioWriter:
        """Return what writes the scenarios of this rank: a context manager."""
        return ScenarioWriter(self.folder / "simulation", self._compression, LAYOUTS[self.layout])

    def finish_simulation(self, ranks: Sequence[Any] = ()) -> None:
        """Mark the simulation as complete, when all ranks have written their scenarios.

        Args:
            ranks: what solving took each, with the fields of `cobre.sddp.events.RankSolves`.

        Raises:
            OutputError: some are missing.
        """
        manifest, folder = self._read("simulation"), self.folder / "simulation"
        for name, table in solver_tables(ranks).items():
            write_table(folder / f"{name}.parquet", table, self._compression)
        total = manifest["scenarios"]["total"]
        tables = [name for name in SIMULATION if (folder / name).is_dir()]
        there = min((self._scenarios_there(folder / name, total) for name in tables), default=0)
        whole = there == total
        manifest |= {
            "status": "complete" if whole else "partial",
            "completed_at": manifests.now(),
            "scenarios": {"total": total, "completed": there, "failed": 0},
            "tables": tables,
        }
        write_json(folder / "metadata.json", manifests.simulation_metadata(manifest))
        self._write_manifest("simulation", manifest)
        if not whole:
            reason = f"{there} of {total} scenarios are there; do all ranks see the same folder?"
            raise OutputError(str(folder), reason)
        write_bytes(folder / SUCCESS, b"")

    # Failure

    def fail(self, reason: str, log: TrainingLog | None = None) -> None:
        """Mark what is running as failed, with the reason; its tables stay.

        It raises nothing: where no manifest can be written, the old one says that the run has not ended.

        Args:
            reason: in words.
            log: of the iterations of a training that has failed.
        """
        for part, known in (("training", log), ("simulation", None)):
            with suppress(OutputError):
                manifest = self._read(part)
                if manifest["status"] == "running":
                    self._write_manifest(part, manifests.failed_manifest(manifest, reason, known))

    def _scenarios_there(self, folder: Path, total: int) -> int:
        """The number of scenarios that a table has."""
        layout, place = LAYOUTS[self.layout], os.fspath(folder)  # paths would take half of the time
        numbers = (i for i in layout.files(total) if os.path.exists(f"{place}/{layout.file(i)}"))  # noqa: PTH110
        return sum(layout.scenarios_in(number, total) for number in numbers)

    @property
    def _training(self) -> Path:
        return self.folder / "training"

    def _claim(self) -> None:
        """Refuse a folder whose ``training`` or ``simulation`` is not a result of ours."""
        parts = [self.folder / part for part in ("training", "simulation")]
        if any((part / MANIFEST).exists() for part in parts):
            return
        for part in parts:
            if any(not path.name.startswith(".") for path in part.glob("*")):
                reason = "there are files in it, but not of a result of cobre; move them away"
                raise OutputError(str(part), reason)

    def _remove_scenarios(self) -> None:
        tables = dict.fromkeys(table.split("/")[0] for table in SIMULATION)
        for name in (SUCCESS, "metadata.json", "solver", *tables):
            remove(self.folder / "simulation" / name)

    def _write_dictionaries(self, run: RunDescription) -> None:
        place = self._training / "dictionaries"
        about = {"version": "1.0", "generated_at": manifests.now()}
        write_json(place / "codes.json", {**about, **dictionaries.codes(run.system)})
        write_bytes(place / "entities.csv", dictionaries.entities(run.system))
        write_bytes(place / "stages.csv", dictionaries.stages(run.system))
        write_bytes(place / "variables.csv", dictionaries.variables(run.system))
        write_table(place / "bounds.parquet", dictionaries.bounds(run.system), self._compression)
        write_json(place / "state_dictionary.json", dictionaries.states(run.states))

    def _write_manifest(self, part: str, manifest: Mapping[str, Any]) -> None:
        write_json(self.folder / part / MANIFEST, manifest)

    def _read(self, part: str, name: str = MANIFEST) -> dict[str, Any]:
        path = self.folder / part / name
        try:
            content: dict[str, Any] = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise OutputError(str(path), "it was changed or removed while the run was under way") from error
        return content
