"""All files of a folder as they are, and which of them there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast

from cobre.case import _entities
from cobre.case._base import AnyDocument, Document, Named
from cobre.case._config import Config
from cobre.case._constraints import Constraint, GenericConstraints
from cobre.case._documents import read_document
from cobre.case._initial import InitialConditions
from cobre.case._layout import DOCUMENTS, FOLDERS, KNOWN, REQUIRED, TABLES, UNSUPPORTED
from cobre.case._penalties import Penalties
from cobre.case._report import Report
from cobre.case._stages import Stages
from cobre.case._tables import Table, read_table


@dataclass
class Raw:
    """What was read. A file that is not there is in neither; one that is wrong is None."""

    documents: dict[str, Document | None] = field(default_factory=dict)
    tables: dict[str, Table | None] = field(default_factory=dict)
    left_out: dict[str, set[int]] = field(default_factory=dict)

    def document(self, file: str, model: type[AnyDocument]) -> AnyDocument | None:
        """A document, if it is there and right."""
        found = self.documents.get(file)
        return found if isinstance(found, model) else None

    def table(self, file: str) -> Table | None:
        """A table, if it is there and right."""
        return self.tables.get(file)

    @property
    def config(self) -> Config | None:
        """The settings."""
        return self.document("config.json", Config)

    @property
    def penalties(self) -> Penalties | None:
        """The penalties of all."""
        return self.document("penalties.json", Penalties)

    @property
    def stages(self) -> Stages | None:
        """The stages."""
        return self.document("stages.json", Stages)

    @property
    def initial(self) -> InitialConditions | None:
        """The initial conditions."""
        return self.document("initial_conditions.json", InitialConditions)

    @property
    def buses(self) -> list[_entities.Bus]:
        """All buses, by id; so are the others."""
        found = self.document("system/buses.json", _entities.Buses)
        return _by_id(found.buses) if found else []

    @property
    def lines(self) -> list[_entities.Line]:
        """All lines."""
        found = self.document("system/lines.json", _entities.Lines)
        return _by_id(found.lines) if found else []

    @property
    def hydros(self) -> list[_entities.Hydro]:
        """All hydro plants."""
        found = self.document("system/hydros.json", _entities.Hydros)
        return _by_id(found.hydros) if found else []

    @property
    def thermals(self) -> list[_entities.Thermal]:
        """All thermal plants."""
        found = self.document("system/thermals.json", _entities.Thermals)
        return _by_id(found.thermals) if found else []

    @property
    def sources(self) -> list[_entities.Source]:
        """All non-controllable sources."""
        found = self.document("system/non_controllable_sources.json", _entities.Sources)
        return _by_id(found.non_controllable_sources) if found else []

    @property
    def stations(self) -> list[_entities.PumpingStation]:
        """All pumping stations."""
        found = self.document("system/pumping_stations.json", _entities.PumpingStations)
        return _by_id(found.pumping_stations) if found else []

    @property
    def contracts(self) -> list[_entities.Contract]:
        """All contracts."""
        found = self.document("system/energy_contracts.json", _entities.Contracts)
        return _by_id(found.contracts) if found else []

    @property
    def constraints(self) -> list[Constraint]:
        """All constraints that the user wrote."""
        found = self.document("constraints/generic_constraints.json", GenericConstraints)
        return _by_id(found.constraints) if found else []

    def ids(self, kind: str) -> set[int] | None:
        """The ids of all entities of a kind, wrong ones included; None if nobody can know them."""
        if kind == "stages":
            return (
                {stage.id for stage in self.stages.stages} | self._lost("stages.json")
                if self.stages
                else None
            )
        file = FILE_OF[kind]
        if file in self.documents and self.documents[file] is None:
            return None
        if file in REQUIRED and file not in self.documents:
            return None
        entities = cast(list[Named], getattr(self, kind))
        return {entity.id for entity in entities} | self._lost(file)

    def _lost(self, file: str) -> set[int]:
        return self.left_out.get(file, set())


#: Where the entities of a kind are.
FILE_OF = {
    "stages": "stages.json",
    "buses": "system/buses.json",
    "lines": "system/lines.json",
    "hydros": "system/hydros.json",
    "thermals": "system/thermals.json",
    "sources": "system/non_controllable_sources.json",
    "stations": "system/pumping_stations.json",
    "contracts": "system/energy_contracts.json",
    "constraints": "constraints/generic_constraints.json",
}


AnyNamed = TypeVar("AnyNamed", bound=Named)


def _by_id(entities: list[AnyNamed]) -> list[AnyNamed]:
    return sorted(entities, key=lambda entity: entity.id)


def read(folder: Path, report: Report, settings: Mapping[str, Any] | None = None) -> Raw:
    """All files of a folder; what is wrong with each is in the report. ``settings`` override config.json."""
    raw = Raw()
    if not _is_folder(folder, report):
        return raw
    _find_unknown(folder, report)
    for file, model in DOCUMENTS.items():
        if _is_there(folder / file, file, report):
            changes = settings if file == "config.json" else None
            found, left_out = read_document(folder / file, file, model, report, changes)
            raw.documents[file], raw.left_out[file] = found, left_out
    for file, spec in TABLES.items():
        if _is_there(folder / file, file, report):
            raw.tables[file] = read_table(folder / file, file, spec, report)
    for file, what in UNSUPPORTED.items():
        if _is_there(folder / file, file, report):
            report.error("unsupported", file, f"{what} cannot be used yet", suggestion="remove the file")
    return raw


def _is_folder(folder: Path, report: Report) -> bool:
    try:
        if folder.is_dir():
            return True
        message = "is a file, not a folder" if folder.exists() else "there is no such folder"
    except (OSError, ValueError) as error:  # a path may hold what no path can
        message = f"cannot be read: {error}"
    report.error("missing_file", "", message, suggestion="name the folder that holds config.json")
    return False


def _is_there(path: Path, file: str, report: Report) -> bool:
    try:
        if path.is_file():
            return True
        if path.exists():
            report.error("unreadable", file, "is not a file")
            return False
    except OSError as error:
        report.error("unreadable", file, f"cannot be read: {error.strerror or error}")
        return False
    if file in REQUIRED:
        report.error("missing_file", file, "the file is missing", suggestion="every case needs one")
    return False


def _find_unknown(folder: Path, report: Report) -> None:
    """Report data files that the format does not have: one with a misspelt name would do nothing."""
    for name in ("", *FOLDERS):
        try:
            found = sorted(
                path.name for path in (folder / name).iterdir() if path.suffix in {".json", ".parquet"}
            )
        except OSError:
            continue  # what should be in it is missing, and that is said elsewhere
        for file in (f"{name}/{entry}" if name else entry for entry in found):
            if file in KNOWN:
                continue
            near = get_close_matches(file, KNOWN, 1, 0.8)
            suggestion = f"did you mean {near[0]!r}?" if near else "move it out of the case"
            add = report.error if name else report.warn  # outputs and notes may lie beside config.json
            add("unknown_file", file, "the format has no such file", suggestion=suggestion)
