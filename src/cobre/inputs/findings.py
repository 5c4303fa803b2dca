"""Report of findings: errors and warnings collected while a case is checked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, TypedDict, Unpack

from cobre.errors import Finding

Kind = Literal[
    "missing_file",
    "unknown_file",
    "unreadable",
    "syntax",
    "schema",
    "reference",
    "duplicate",
    "dimension",
    "meaning",
    "unsupported",
]
Value = str | float | bool | None


class Place(TypedDict, total=False):
    """Optional details of a finding: entity, field and value."""

    entity: str
    field: str
    value: Value


@dataclass
class Report:
    """Findings so far: errors, which make the case unusable, and warnings."""

    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def error(self, kind: Kind, file: str, message: str, suggestion: str, **place: Unpack[Place]) -> None:
        """Add an error, with a remedy: the case cannot be used."""
        self.errors.append(_finding(kind, file, message, suggestion, place))

    def warn(self, kind: Kind, file: str, message: str, suggestion: str, **place: Unpack[Place]) -> None:
        """Add a warning, with a remedy: the case can still be used."""
        self.warnings.append(_finding(kind, file, message, suggestion, place))

    def unknown_name(  # noqa: PLR0913 - what, and where
        self, file: str, name: str, known: Collection[str], what: str, *, entity: str = "", field: str = ""
    ) -> None:
        """Add a field or column that the format does not have, and what may have been meant."""
        longer = sorted((other for other in known if other.startswith(f"{name}_")), key=len)
        near = longer or get_close_matches(name, known, 1)
        suggestion = f"did you mean {near[0]!r}?" if near else "remove it"
        where = field or name
        self.error(
            "schema",
            file,
            f"the format has no such {what}",
            entity=entity,
            field=where,
            suggestion=suggestion,
        )


def _finding(kind: Kind, file: str, message: str, suggestion: str, place: Place) -> Finding:
    known: Place = {"entity": "", "field": "", "value": None, **place}
    return Finding(kind, file, message=message, suggestion=suggestion, **known)
