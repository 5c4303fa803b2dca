"""Shell completions of arguments: templates, backends, figures, schemas and folders."""

from __future__ import annotations

from pathlib import Path

import cobre

#: Most folders searched per level.
MOST = 200


def template_names() -> list[str]:
    """Templates of ``cobre init``, listed without the slow import of `cobre.case`."""
    folder = Path(cobre.__file__).parent / "case" / "templates"
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def backend_names() -> list[str]:
    """Names of backends, and ``auto``."""
    from cobre.comm.registry import backend_names as names  # noqa: PLC0415  imports NumPy

    return ["auto", *names()]


def figure_names() -> list[str]:
    """Figures of ``cobre plot``."""
    from cobre.report import FIGURES  # noqa: PLC0415

    return list(FIGURES)


def schema_names() -> list[str]:
    """Case files that have a schema."""
    from cobre.case import schemas  # noqa: PLC0415

    return [Path(file).stem for file in schemas()]


def case_folders(incomplete: str) -> list[str]:
    """Case folders that begin with the text, or are inside folders that do."""
    return _folders(incomplete, 3, "config.json")


def result_folders(incomplete: str) -> list[str]:
    """Result folders that begin with the text; they are searched one level deeper, inside cases."""
    return _folders(incomplete, 4, "training/_manifest.json", "simulation/_manifest.json")


def any_folders(incomplete: str) -> list[str]:
    """Case and result folders that begin with the text."""
    return sorted({*case_folders(incomplete), *result_folders(incomplete)})


def _folders(incomplete: str, levels: int, *marks: str) -> list[str]:
    """Search a limited number of levels and folders, because a user waits for the answer."""
    start, slash, begun = incomplete.rpartition("/")
    root = Path(start + slash or ".")
    level = [path for path in _inside(root) if path.name.startswith(begun)]
    found: list[str] = []
    for _ in range(levels):
        wanted = [path for path in level if any((path / mark).exists() for mark in marks)]
        found += [f"{start}{slash}{path.relative_to(root)}" for path in wanted]
        rest = [path for path in level if path not in wanted]
        level = [path for parent in rest[:MOST] for path in _inside(parent)][:MOST]
    return sorted(found)


def _inside(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    except OSError:  # missing or not readable: no completions
        return []
