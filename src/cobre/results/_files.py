"""Atomic files: written whole or not at all.

A file is written under another name in the same folder, forced to the disk, and renamed. Whoever is killed
leaves at most a hidden ``.<name>.tmp``. Thousands of files would wait for the disk thousands of times: these
are forced to it together, by ``settle``, before anything says that they are there.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from cobre.errors import OutputError

#: Says in which state its folder is.
MANIFEST = "_manifest.json"
#: Empty file beside a manifest that says complete: what Cobre's own readers look for.
SUCCESS = "_SUCCESS"

#: Small files: a dictionary or statistics would be most of them, and reading all is what readers do.
PARQUET = {"use_dictionary": False, "write_statistics": False, "store_schema": False, "version": "2.6"}


def write_bytes(path: Path, content: bytes | memoryview, *, at_once: bool = True) -> None:
    """Write a file, whole or not at all; make the folder if need be.

    Args:
        path: where.
        content: all of it.
        at_once: force it to the disk now; else ``settle`` must follow.

    Raises:
        OutputError: it cannot be written; a file that was there is as it was.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                if at_once:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise OutputError(str(path), error.strerror or str(error)) from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON for people: indented, in the order given."""
    write_bytes(path, (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def write_table(path: Path, table: pa.Table, compression: str, *, at_once: bool = True) -> None:
    """Write a table as Parquet: the same bytes for the same table."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression=compression, **PARQUET)
    write_bytes(path, memoryview(buffer.getvalue()), at_once=at_once)


def settle(folder: Path) -> None:
    """Force all that has been written to a folder's file system to the disk.

    Raises:
        OutputError: the disk refuses some of it.
    """
    try:
        place = os.open(folder, os.O_RDONLY)
        try:
            _force(place)
        finally:
            os.close(place)
    except OSError as error:
        raise OutputError(str(folder), error.strerror or str(error)) from error


def _force(place: int) -> None:
    system = ctypes.CDLL(None, use_errno=True)
    if not hasattr(system, "syncfs"):  # only Linux can say which file system, and hears of failures
        os.sync()
    elif system.syncfs(place):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def make_folder(folder: Path) -> None:
    """Make a folder, if it is not there.

    Raises:
        OutputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(str(folder), "it is a file, not a folder") from error
    except OSError as error:
        raise OutputError(str(folder), error.strerror or str(error)) from error


def remove(path: Path) -> None:
    """Remove a file or folder of ours and all that is in it, if it is there.

    Raises:
        OutputError: it cannot be removed.
    """
    try:
        if path.is_dir():
            _remove_tree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        reason = f"what an earlier run left cannot be removed ({error.strerror or error})"
        raise OutputError(str(path), reason) from error


def _remove_tree(folder: Path) -> None:
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in files:
            (Path(parent) / name).unlink()
        for name in folders:
            (Path(parent) / name).rmdir()
    folder.rmdir()


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of all files in a folder, by their relative paths.

    Hidden files are left out, and so are result folders that are in it.
    """
    results = {manifest.parent.parent for manifest in folder.rglob(f"*/{MANIFEST}")}
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_file() and not hidden and results.isdisjoint(path.parents):
            found[relative.as_posix()] = digest(path)
    return found


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
