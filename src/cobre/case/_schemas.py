"""JSON Schemas of a case's files, for editors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cobre.case._layout import DOCUMENTS
from cobre.errors import IOError  # noqa: A004

DIALECT = "https://json-schema.org/draft/2020-12/schema"

#: The file, beside the schemas, that tells VS Code of them.
EDITOR_SETTINGS = "vscode-settings.json"

#: Where the name of a schema is not that of its file.
_OTHER_NAMES = {"system/hydro_production_models.json": "production_models"}


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas of all JSON files of a case, by the names of the files."""
    return {file: _schema(file) for file in DOCUMENTS}


def _schema(file: str) -> dict[str, Any]:
    described = _by_title(DOCUMENTS[file].model_json_schema(by_alias=True))
    return {"$schema": DIALECT, **described, "title": file}


def _by_title(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions under their titles: names of classes are no part of the format."""
    definitions: dict[str, dict[str, Any]] = schema.get("$defs", {})
    text = json.dumps(schema)
    for name, definition in definitions.items():
        text = text.replace(f'"#/$defs/{name}"', f'"#/$defs/{definition["title"]}"')
    renamed: dict[str, Any] = json.loads(text)
    if definitions:
        found = {definition["title"]: definition for definition in renamed["$defs"].values()}
        renamed["$defs"] = dict(sorted(found.items()))
    return renamed


def schema_name(file: str) -> str:
    """The name of a file's schema, as Cobre's book has it.

    >>> schema_name("system/hydros.json")
    'hydros.schema.json'
    """
    return f"{_OTHER_NAMES.get(file, Path(file).stem)}.schema.json"


def write_schemas(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Write the JSON Schemas of a case's JSON files to a folder, and settings by which VS Code finds them.

    Returns:
        Where each is, by the names of the files of a case.

    Raises:
        IOError: the folder cannot be written to.
    """
    target = Path(folder)
    written = {file: target / schema_name(file) for file in DOCUMENTS}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file, path in written.items():
            _write(path, _schema(file))
        _write(
            target / EDITOR_SETTINGS, {"json.schemas": [_use(file, path) for file, path in written.items()]}
        )
    except OSError as error:
        raise IOError(str(folder), f"schemas cannot be written there ({error.strerror or error})") from error
    return written


def _use(file: str, path: Path) -> dict[str, Any]:
    return {"fileMatch": [f"/**/{file}"], "url": path.absolute().as_uri()}


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
