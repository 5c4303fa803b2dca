"""Where findings are collected."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

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


@dataclass
class Report:
    """What was found so far: what forbids the use of the case, and what only should be looked at."""

    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def error(  # noqa: PLR0913 - the fields of a finding
        self,
        kind: Kind,
        file: str,
        message: str,
        *,
        entity: str = "",
        field: str = "",
        value: Value = None,
        suggestion: str = "",
    ) -> None:
        """Add what forbids the use of the case."""
        self.errors.append(Finding(kind, file, entity, field, value, message, suggestion))

    def warn(  # noqa: PLR0913 - the fields of a finding
        self,
        kind: Kind,
        file: str,
        message: str,
        *,
        entity: str = "",
        field: str = "",
        value: Value = None,
        suggestion: str = "",
    ) -> None:
        """Add what does not."""
        self.warnings.append(Finding(kind, file, entity, field, value, message, suggestion))

    def unknown_name(  # noqa: PLR0913 - what, and where
        self, file: str, name: str, known: Collection[str], what: str, *, entity: str = "", field: str = ""
    ) -> None:
        """Add a field or column that the format does not have, and what may have been meant."""
        near = get_close_matches(name, known, 1)
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
