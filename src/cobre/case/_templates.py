"""Case folders to begin with."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path

from cobre.case._layout import FILE_DESCRIPTIONS, KIND_INPUTS
from cobre.errors import IOError, ValidationError  # noqa: A004

FOLDER = Path(__file__).parent / "templates"

#: What there is, simplest first.
DESCRIPTIONS = {
    "one-reservoir": "a lake, three thermal plants and a city; trains in less than a second",
    "cascade": "five plants on a river, and most of what the format knows; two seconds",
    "four-regions": "four connected regions, inflows with a memory; half a minute on one core",
}

#: For who does not say which.
DEFAULT_TEMPLATE = "one-reservoir"


@dataclass(frozen=True)
class Template:
    """A case folder that comes with the package.

    Attributes:
        name: of the template.
        description: in a line.
        stages: how many it has; likewise the others.
        buses: …
        hydros: …
        thermals: …
    """

    name: str
    description: str
    stages: int
    buses: int
    hydros: int
    thermals: int


def templates() -> dict[str, Template]:
    """The case folders that `create` can make, by name, the simplest first.

    >>> templates()["one-reservoir"].stages
    12
    """
    return {name: _template(name, words) for name, words in DESCRIPTIONS.items()}


def _template(name: str, description: str) -> Template:
    def count(file: str, entries: str) -> int:
        return len(json.loads((FOLDER / name / file).read_bytes())[entries])

    lists = {kind.entries: kind.file for kind in KIND_INPUTS.values()} | {"stages": "stages.json"}
    sizes = {field.name: count(lists[field.name], field.name) for field in fields(Template)[2:]}
    return Template(name, description, **sizes)


def create(template: str, folder: str | os.PathLike[str]) -> dict[str, str]:
    """Make a case folder from a template, whole or not at all.

    Args:
        template: its name in `templates`.
        folder: where; it must not be there, or be empty.

    Returns:
        The files that were made, relative to the folder, and what each is for.

    Raises:
        ValidationError: there is no such template.
        IOError: the folder is there and not empty, or cannot be made; nothing has changed.
    """
    if template not in DESCRIPTIONS:
        raise ValidationError(_unknown(template))
    target = Path(folder).absolute()
    source = FOLDER / template
    files = [file for file in FILE_DESCRIPTIONS if (source / file).exists()]
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise IOError(str(folder), "it is there and not empty; give the name of a new folder")
        _make(source, files, target)
    except OSError as error:
        raise IOError(str(folder), f"it cannot be made ({error.strerror or error})") from error
    return {file: FILE_DESCRIPTIONS[file] for file in files}


def _make(source: Path, files: list[str], target: Path) -> None:
    """Make all files beside the folder, then move them there at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        for file in files:
            (aside / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, aside / file)
        if target.exists():  # an empty folder, which may be somebody's current one: it stays the same folder
            _fill(target, aside)
        else:
            aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fill(target: Path, aside: Path) -> None:
    entries = list(aside.iterdir())
    try:
        for entry in entries:
            entry.rename(target / entry.name)
    except OSError:
        for entry in entries:
            if not entry.exists():  # it has been moved
                (target / entry.name).rename(entry)
        raise


def _unknown(template: str) -> str:
    near = get_close_matches(template, DESCRIPTIONS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(DESCRIPTIONS)}"
    return f"no template is called {template!r}; {hint}"
