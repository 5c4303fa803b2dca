"""Reading all files of a case folder."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cobre.case._documents import read_document
from cobre.case._layout import DOCUMENTS, FOLDERS, KIND_INPUTS, KNOWN, REQUIRED_FILES, TABLES
from cobre.case._parquet import read_table
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report


def read(folder: Path, report: Report, settings: Mapping[str, Any] | None = None) -> CaseFiles:
    """Return all files of a folder, with findings in the report. ``settings`` override config.json."""
    files = CaseFiles(KIND_INPUTS)
    if not _is_folder(folder, report):
        return files
    _find_unknown(folder, report)
    for file, model in DOCUMENTS.items():
        if _is_there(folder / file, file, report):
            changes = settings if file == "config.json" else None
            found, left_out = read_document(folder / file, file, model, report, changes)
            files.documents[file], files.left_out[file] = found, left_out
    for file, spec in TABLES.items():
        if _is_there(folder / file, file, report):
            files.tables[file] = read_table(folder / file, spec, report)
    return files


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
            remedy = "put a file in its place"
            report.error("unreadable", file, "is not a file", remedy)
            return False
    except OSError as error:
        remedy = "see who may read it"
        report.error("unreadable", file, f"cannot be read: {error.strerror or error}", remedy)
        return False
    if file in REQUIRED_FILES:
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
