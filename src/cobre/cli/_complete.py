"""What a shell offers when Tab is pressed: names that are quick to find out."""

from __future__ import annotations

from pathlib import Path

import cobre

#: How many folders of one level are looked into.
MOST = 200


def template_names() -> list[str]:
    """The templates of ``cobre init``; `cobre.case` would take long to import."""
    folder = Path(cobre.__file__).parent / "case" / "templates"
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def backend_names() -> list[str]:
    """The backends, and the word that leaves the choice to cobre."""
    from cobre.comm.registry import backend_names as names  # noqa: PLC0415  it imports NumPy

    return ["auto", *names()]


def figure_names() -> list[str]:
    """The figures of ``cobre plot``."""
    from cobre.report import FIGURES  # noqa: PLC0415

    return list(FIGURES)


def schema_names() -> list[str]:
    """The files of a case that have a schema."""
    from cobre.case import schemas  # noqa: PLC0415

    return [Path(file).stem for file in schemas()]


def case_folders(incomplete: str) -> list[str]:
    """The case folders that begin so, or are in folders that do. If there are none, shells offer files."""
    return _folders(incomplete, 3, "config.json")


def result_folders(incomplete: str) -> list[str]:
    """Likewise, those of results, which often are in case folders."""
    return _folders(incomplete, 4, "training/_manifest.json", "simulation/_manifest.json")


def any_folders(incomplete: str) -> list[str]:
    """Likewise, both."""
    return sorted({*case_folders(incomplete), *result_folders(incomplete)})


def _folders(incomplete: str, levels: int, *marks: str) -> list[str]:
    """Look so many levels deep, and not for ever: somebody waits."""
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
    except OSError:  # not there, or not ours to look at: nothing to offer
        return []
