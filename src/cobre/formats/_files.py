"""JSON files, and the findings about them: all that is wrong is told at once."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cobre.errors import InvalidProblem

Model = TypeVar("Model", bound=BaseModel)

#: Findings of a file that are told; a mistake in a generator is often in thousands of places.
MOST = 30


class Findings:
    """Findings about one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: list[str] = []

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._found)

    def add(self, place: str, words: str) -> None:
        """Add what is wrong in a place, which is written like ``nodes.3.state``."""
        self._found.append(f"{self.path}: {place}: {words}")

    def told(self) -> list[str]:
        """Return the first of them, and how many more there are."""
        more = len(self._found) - MOST
        return [*self._found[:MOST], *([f"{self.path}: and {more} more findings"] if more > 0 else [])]


def require_none(*findings: Findings) -> None:
    """Raise all findings, if there are any.

    Raises:
        InvalidProblem: there are.
    """
    if told := [words for each in findings for words in each.told()]:
        raise InvalidProblem(told)


def read_json(path: Path, findings: Findings) -> Any:
    """Return the content of a file, which may be compressed by gzip; None if there is none."""
    try:
        raw = path.read_bytes()
        return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except OSError as exc:
        findings.add("file", f"it cannot be read ({exc.strerror or exc})")
    except ValueError as exc:  # not JSON, or not text
        findings.add("file", f"it is not JSON ({exc})")
    return None


def parsed(model: type[Model], content: Any, findings: Findings) -> Model | None:
    """Return content as a model, or tell what does not fit."""
    try:
        return model.model_validate(content)
    except ValidationError as exc:
        for error in exc.errors(include_url=False):
            place = ".".join(str(part) for part in error["loc"]) or "file"
            findings.add(place, error["msg"][:1].lower() + error["msg"][1:])
    return None


def relax(names: Sequence[str], findings: Findings, *, allowed: bool) -> None:
    """Tell of integer variables, or warn that they are relaxed."""
    if not names:
        return
    few = ", ".join(repr(name) for name in names[:3]) + (", ..." if names[3:] else "")
    if allowed:
        words = f"{findings.path}: {len(names)} integer variables are taken as continuous ({few})"
        warnings.warn(words, stacklevel=4)
    else:
        findings.add(
            "variables",
            f"{len(names)} are integer ({few}); relax_integers (--relax-integers) takes them as continuous",
        )
