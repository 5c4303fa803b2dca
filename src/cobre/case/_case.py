"""A case folder, read, checked and resolved."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobre.case import _dimensions, _meaning, _meaning_in_time, _references, _unsupported
from cobre.case._config import Config
from cobre.case._inflows import Inflows
from cobre.case._layout import DOCUMENTS
from cobre.case._noise import Scenarios, check_external, resolve_scenarios
from cobre.case._raw import Raw, read
from cobre.case._report import Report
from cobre.case._resolve import Resolver
from cobre.case._series import Timeline
from cobre.errors import CaseError, Finding
from cobre.system import System


@dataclass(frozen=True, eq=False)
class Case:
    """A study as its folder describes it.

    Attributes:
        folder: where it was read.
        system: what there is, every number of it resolved.
        config: how to solve it.
        scenarios: what is random, beyond the statistics in the system.
        warnings: what should be looked at, though it does not forbid the use of the case.
    """

    folder: Path
    system: System
    config: Config
    scenarios: Scenarios
    warnings: tuple[Finding, ...]


def load(folder: str | os.PathLike[str]) -> Case:
    """Read a case folder in the format of Cobre 0.5.

    The order in which the files name their entities changes nothing.

    Raises:
        CaseError: it cannot be used; ``findings`` has everything that is wrong, from missing files to numbers
            that make no sense, and everything that the format has and this package cannot use yet.
    """
    path = Path(folder)
    report = Report()
    raw = read(path, report)
    timeline = Timeline.of(raw.stages) if raw.stages and raw.stages.stages else None
    inflows = Inflows.of(raw, raw.config, raw.stages, timeline) if raw.stages and timeline else None
    _check(raw, timeline, inflows, report)
    if report.errors or not (raw.config and raw.penalties and raw.stages and timeline and inflows):
        raise CaseError(report.errors, str(folder))
    system = Resolver(raw, raw.config, raw.penalties, raw.stages, timeline, inflows).system()
    scenarios = resolve_scenarios(raw, raw.config, timeline, inflows)
    return Case(path, system, raw.config, scenarios, tuple(report.warnings))


def _check(raw: Raw, timeline: Timeline | None, inflows: Inflows | None, report: Report) -> None:
    _references.check(raw, report)
    if timeline is not None and inflows is not None:
        _dimensions.check(raw, timeline, report)
        check_external(raw, timeline, report)
        inflows.check(report)
    _meaning.check(raw, timeline, report)
    _meaning_in_time.check(raw, report)
    _unsupported.check(raw, timeline, report)


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas of all JSON files of a case, by the names of the files."""
    return {file: model.model_json_schema(by_alias=True) for file, model in DOCUMENTS.items()}
