"""Reading results from disk."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from cobre.elements import KINDS, labels
from cobre.elements.tables import CostComponent
from cobre.errors import ResultsError
from cobre.formatting import html_card
from cobre.results._columns import schema_of
from cobre.results._files import MANIFEST
from cobre.results._layout import LAYOUTS, Layout
from cobre.results._simulation_tables import POLICY_STAGE, SIMULATION, cost_columns, cost_components
from cobre.results._training_tables import TRAINING

_SCENARIO = pa.field("scenario_id", pa.int32())
_ENDED = ("complete", "converged")


@dataclass(frozen=True, eq=False)
class Results:
    """A result folder. Tables are read when asked for.

    Attributes:
        folder: where it is.
        manifest: of the training; empty if the folder has only a simulation.
        metadata: of the training: settings, inputs, versions; likewise.
        simulation_manifest: of the simulation; None if there is none.
    """

    folder: Path
    manifest: dict[str, Any]
    metadata: dict[str, Any]
    simulation_manifest: dict[str, Any] | None

    def _repr_html_(self) -> str:
        trained, simulated = self.manifest, self.simulation_manifest
        facts: dict[str, object] = {"folder": self.folder}
        if trained:
            bound = trained["convergence"]["final_lower_bound"]
            facts |= {"training": trained["status"], "iterations": trained["iterations"]["completed"]}
            facts |= {} if bound is None else {"lower bound": f"{bound:,.2f}"}
        if simulated:
            facts |= {"simulation": simulated["status"], "scenarios": simulated["scenarios"]["completed"]}
            facts |= {"tables": ", ".join(self.tables)}
        return html_card("Results", facts)

    @property
    def convergence(self) -> pa.Table:
        """A row per iteration.

        Raises:
            ResultsError: the file is missing or damaged.
        """
        return self.table("convergence")

    @property
    def training(self) -> dict[str, pa.Table]:
        """All tables of the training that are there, by the names of `TRAINING`."""
        place = self.folder / "training"
        return {name: self.table(name) for name in TRAINING if (place / f"{name}.parquet").exists()}

    @property
    def policy_path(self) -> Path:
        """The file of the policy, for `cobre.sddp.Policy.load`."""
        settings = self.metadata.get("configuration_snapshot", {}).get("settings", {})
        folder: str = settings.get("policy", {}).get("path", "policy")
        return self.folder / folder / "policy.cobre"

    @property
    def risk_measures(self) -> dict[str, dict[str, Any]]:
        """The risk measure of each stage of the training, by id; empty if the folder does not say."""
        snapshot = self.metadata.get("configuration_snapshot", {})
        measures: dict[str, dict[str, Any]] = snapshot.get("risk_measures", {})
        return measures

    @property
    def risk_averse(self) -> bool:
        """True if the bound is of a risk-adjusted cost, which does not compare with simulated means."""
        return any(measure["measure"] != "expectation" for measure in self.risk_measures.values())

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the simulation's tables."""
        return tuple((self.simulation_manifest or {}).get("tables", ()))

    @property
    def cost_components(self) -> tuple[CostComponent, ...]:
        """The components of ``costs``, in the order of its columns."""
        return tuple(cost_components(self._kinds))

    @property
    def _kinds(self) -> list[str]:
        """The kinds that the simulated system has, as far as they have a table by element."""
        return [kind for kind in KINDS if labels(kind).TABLE in self.tables]

    def table(self, name: str) -> pa.Table:
        """Return a table of the training by its name in `TRAINING`.

        Raises:
            ResultsError: the file is missing or damaged.
        """
        path = self.folder / "training" / f"{name}.parquet"
        try:
            return pq.read_table(path, schema=schema_of(TRAINING[name]))
        except FileNotFoundError as error:
            raise ResultsError(str(path), "missing", "there is no such file; run the case again") from error
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, error) from error

    def dataset(self, name: str) -> ds.Dataset:
        """Return a table of the simulation to be read piece by piece, with ``scenario_id`` as a column.

        Raises:
            ResultsError: there is no such table, or a scenario of it is missing.
        """
        return self._dataset(name, self.files(name))

    def files(self, name: str) -> list[Path]:
        """Return the files of a table of the simulation, in the order of scenarios.

        Raises:
            ResultsError: there is no such table, or a file of it is missing.
        """
        folder = self.folder / "simulation" / name
        if self.simulation_manifest is None or name not in self.tables:
            known = ", ".join(self.tables) or "none"
            raise ResultsError(str(folder), "missing", f"there is no such table; there are: {known}")
        numbers = self.layout.files(self.simulation_manifest["scenarios"]["completed"])
        paths = [folder / self.layout.file(number) for number in numbers]
        for path in paths:
            if not path.exists():
                raise ResultsError(str(path), "damaged", "a scenario is missing; run the simulation again")
        return paths

    @property
    def layout(self) -> Layout:
        """The layout of the simulation's tables; manifests of other writers do not name it.

        Raises:
            ResultsError: this version does not know it.
        """
        name = (self.simulation_manifest or {}).get("layout", "scenarios")
        if name not in LAYOUTS:
            path = self.folder / "simulation" / MANIFEST
            reason = f"its layout is {name!r}, which this version does not know; run the simulation again"
            raise ResultsError(str(path), "damaged", reason)
        return LAYOUTS[name]

    def _dataset(self, name: str, paths: Sequence[Path]) -> ds.Dataset:
        columns = SIMULATION[name]
        if name == "costs":
            has_stages = bool(paths) and POLICY_STAGE.name in pq.read_schema(paths[0]).names
            columns = cost_columns(self._kinds, has_stages=has_stages)
        schema = pa.schema([*schema_of(columns), _SCENARIO])
        hive = ds.partitioning(pa.schema([_SCENARIO]), flavor="hive")
        return ds.dataset(
            [str(path) for path in paths],
            schema=schema,
            format="parquet",
            partitioning=hive if self.layout.scenarios_per_file == 1 else None,
            partition_base_dir=str(self.folder / "simulation" / name),
        )

    def simulation(
        self, name: str, columns: Sequence[str] | None = None, scenarios: Sequence[int] | None = None
    ) -> pa.Table:
        """Return a table of the simulation, all scenarios in their order, with ``scenario_id`` as a column.

        Args:
            name: ``"costs"``, ``"hydros"``, ...
            columns: only these.
            scenarios: only these.

        Raises:
            ResultsError: there is no such table, or a file of it is missing or damaged.
        """
        paths, each = self.files(name), self.layout.scenarios_per_file
        if scenarios is not None:  # the others need not be opened
            numbers = sorted({scenario // each for scenario in scenarios})
            paths = [paths[number] for number in numbers if 0 <= number < len(paths)]
        data = self._dataset(name, paths)
        wanted = None if scenarios is None else ds.field("scenario_id").isin(list(scenarios))
        try:
            return data.to_table(columns=list(columns) if columns is not None else None, filter=wanted)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(self.folder / "simulation" / name, error) from error


def read(folder: str | os.PathLike[str], *, partial: bool = False) -> Results:
    """Read a result folder.

    Args:
        folder: which.
        partial: take also that of a run that is under way, failed, or was killed.

    Raises:
        ResultsError: it is no result (``status`` is ``"missing"``), its run has not finished
            (``"incomplete"``), or a file is damaged (``"damaged"``).
    """
    place = Path(folder)
    trained, simulated = (place / part / MANIFEST for part in ("training", "simulation"))
    if not _is_result(place):
        what = "training/_manifest.json" if place.exists() else "such folder"
        raise ResultsError(str(folder), "missing", f"there is no {what}; {_guess(place)}")
    manifests = {path: _json(path) for path in (trained, simulated) if path.exists()}
    if not partial:
        for path, manifest in manifests.items():
            _require_end(path, manifest)
    about = place / "training" / "metadata.json"
    needed = trained in manifests and not partial
    metadata = _json(about) if needed or about.exists() else {}
    return Results(place, manifests.get(trained, {}), metadata, manifests.get(simulated))


def _guess(place: Path) -> str:
    """The nearest folder with results: in this one, or around it."""
    near = [place / "output", *place.absolute().parents[:2], *sorted(place.glob("*/"))]
    found = next((path for path in near if _is_result(path)), None)
    if found is not None:
        return f"did you mean {found}?"
    return "check the path"


def _is_result(place: Path) -> bool:
    return any((place / part / MANIFEST).exists() for part in ("training", "simulation"))


def _require_end(path: Path, manifest: dict[str, Any]) -> None:
    status = manifest.get("status")
    if status in _ENDED:
        return
    reasons = {
        "running": "the run is under way, or was killed; wait for it, or run the case again",
        "failed": f"the run did not end well: {manifest.get('error', 'see its own message')}",
        "partial": "some scenarios are missing; run the simulation again",
    }
    reason = reasons.get(str(status), f"its status is {status!r}, which this version does not know")
    raise ResultsError(str(path), "incomplete", f"{reason}. read(..., partial=True) takes what is there")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(content, dict):
        raise _damaged(path, TypeError("it is no object"))
    return content


def _damaged(path: Path, error: Exception) -> ResultsError:
    return ResultsError(str(path), "damaged", f"it cannot be read ({error}); run the case again")
