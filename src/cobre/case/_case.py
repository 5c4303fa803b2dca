"""A case folder, read, checked and resolved."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cobre.case import _boundary, _dimensions, _meaning, _meaning_in_time, _references, _unsupported
from cobre.case._config import Config
from cobre.case._inflows import Inflows
from cobre.case._layout import DOCUMENTS
from cobre.case._noise import Scenarios, check_external, resolve_scenarios
from cobre.case._raw import Raw, read
from cobre.case._report import Report
from cobre.case._resolve import Resolver
from cobre.case._series import Timeline
from cobre.case._turbines import Turbines
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
    _check(raw, timeline, report)
    boundary = raw.config.policy.boundary if raw.config else None
    policy = _boundary.read(path, boundary, report) if boundary else None
    if report.errors or raw.config is None or raw.penalties is None or raw.stages is None or timeline is None:
        raise CaseError(report.errors, str(folder))
    system = Resolver(raw, raw.config, raw.penalties, raw.stages, timeline).system()
    if boundary and policy:
        system = replace(system, future=_boundary.resolve(policy, boundary, system, report))
    if report.errors:
        raise CaseError(report.errors, str(folder))
    scenarios = resolve_scenarios(raw, raw.config, timeline)
    return Case(path, system, raw.config, scenarios, tuple(report.warnings))


def _check(raw: Raw, timeline: Timeline | None, report: Report) -> None:
    _references.check(raw, report)
    if timeline is not None and raw.stages is not None:
        _dimensions.check(raw, timeline, report)
        check_external(raw, timeline, report)
        Inflows(raw, raw.stages, timeline).check(report)
        Turbines(raw, timeline).check(report)
    _meaning.check(raw, timeline, report)
    _meaning_in_time.check(raw, report)
    _unsupported.check(raw, report)


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas of all JSON files of a case, by the names of the files."""
    return {file: model.model_json_schema(by_alias=True) for file, model in DOCUMENTS.items()}
