"""The files of a case folder, as the kinds of elements declare them: which there are, and their models."""

from __future__ import annotations

from typing import Any, cast

from pydantic import create_model

from cobre.case._correlation import CorrelationFile
from cobre.elements import KINDS, inputs
from cobre.inputs.config import Config
from cobre.inputs.kind import JsonFile
from cobre.inputs.models import Document, Strict
from cobre.inputs.stages import Stages
from cobre.inputs.tables import ColumnSpec, TableFile

#: The inputs of all kinds, in the order of their files.
KIND_INPUTS = dict(sorted(((kind, inputs(kind)) for kind in KINDS), key=lambda item: item[1].rank))


def _section(model: type[Strict]) -> tuple[Any, Any]:
    """A section of ``penalties.json``: cases may leave out one in which nothing is required."""
    required = any(field.is_required() for field in model.model_fields.values())
    return model, ... if required else model()


_PENALTIES = {name: _section(kind.penalties) for name, kind in KIND_INPUTS.items() if kind.penalties}
_INITIAL: list[Any] = [kind.initial for kind in KIND_INPUTS.values() if kind.initial]
#: ``penalties.json``, with a section for each kind that has penalties.
Penalties = create_model(
    "Penalties",
    __base__=Document,
    __doc__="The whole file.",
    **cast(Any, _PENALTIES | {"version": (str | None, None)}),
)
#: ``initial_conditions.json``, with the sections of all kinds.
InitialConditions: type[Document] = create_model(
    "InitialConditions", __base__=(*reversed(_INITIAL), Document), __doc__="The whole file."
)

OPENINGS = TableFile(
    "scenarios/noise_openings.parquet",
    "the realisations of each stage",
    (
        ColumnSpec("stage_id", "id", low=0),
        ColumnSpec("opening_index", "id", low=0),
        ColumnSpec("entity_index", "id", low=0),
        ColumnSpec("value"),
    ),
    ("stage_id", "opening_index", "entity_index"),
)
CORRELATION = JsonFile("scenarios/correlation.json", "what varies together", CorrelationFile)

FOLDERS = ("system", "scenarios", "constraints")


def _files() -> list[JsonFile | TableFile]:
    """All files of a case: those of all elements, then by folder and kind."""
    general = [
        JsonFile("config.json", "how to train, and what to simulate", Config, required=True),
        JsonFile("penalties.json", "what shortages and missed limits cost", Penalties, required=True),
        JsonFile("stages.json", "dates, load blocks, discounting, risk", Stages, required=True),
        JsonFile(
            "initial_conditions.json",
            "volumes and inflows at the beginning",
            InitialConditions,
            required=True,
        ),
    ]
    others = [file for kind in KIND_INPUTS.values() for file in kind.all_files]
    others += [CORRELATION, OPENINGS]
    return [*general, *sorted(others, key=lambda file: FOLDERS.index(file.name.partition("/")[0]))]


FILES = _files()
#: The models of all JSON files: first those that every case needs.
DOCUMENTS: dict[str, type[Document]] = {
    file.name: file.model
    for required in (True, False)
    for file in FILES
    if isinstance(file, JsonFile) and file.required is required
}
REQUIRED_FILES = {file.name for file in FILES if isinstance(file, JsonFile) and file.required}
TABLES = {file.name: file for file in FILES if isinstance(file, TableFile)}
KNOWN = tuple(file.name for file in FILES)

#: Each file of a case folder in a line.
FILE_DESCRIPTIONS = {"README.md": "what the case is, and what to look at"} | {
    file.name: file.description for file in FILES
}
#: The columns of each Parquet file.
TABLE_COLUMNS = {name: tuple(column.name for column in file.columns) for name, file in TABLES.items()}
