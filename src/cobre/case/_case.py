"""A case folder, read, checked and resolved."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cobre.case import (
    _boundary,
    _dimensions,
    _meaning,
    _meaning_in_time,
    _references,
    _unsupported,
    _windows,
)
from cobre.case._config import Config
from cobre.case._documents import merged
from cobre.case._inflows import Inflows
from cobre.case._noise import Scenarios, check_external, resolve_scenarios
from cobre.case._raw import Raw, read
from cobre.case._report import Report
from cobre.case._resolve import Resolver
from cobre.case._series import Timeline
from cobre.case._turbines import Turbines
from cobre.elements import KINDS, data_class, labels
from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.thermal.data import Thermal
from cobre.errors import CaseError, Finding
from cobre.formatting import html_card
from cobre.system import System


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """A study as its folder describes it.

    Attributes:
        folder: where it was read.
        system: what there is, every number of it resolved.
        config: how to solve it.
        scenarios: what is random, beyond the statistics in the system.
        warnings: what should be looked at, though it does not forbid the use of the case.
        settings: what was given in place of settings in ``config.json``.
    """

    folder: Path
    system: System
    config: Config
    scenarios: Scenarios
    warnings: tuple[Finding, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        kinds = ("buses", "lines", "hydros", "thermals")
        counts = ", ".join(f"{len(getattr(self, kind))} {kind}" for kind in kinds)
        return f"Case({str(self.folder)!r}, {self.stages} stages, {counts})"

    def _repr_html_(self) -> str:
        stages, system = self.system.stages, self.system
        counts = {labels(kind).PLURAL: len(system.of(data_class(kind))) for kind in KINDS}
        facts: dict[str, object] = {
            "folder": self.folder,
            "stages": f"{len(stages)}, from {stages[0].start} to {stages[-1].end}",
            **{label: count for label, count in counts.items() if count},
            "forward passes": self.config.training.forward_passes,
            "warnings": len(self.warnings),
        }
        return html_card("Case", facts)

    @property
    def stages(self) -> int:
        """How many stages there are."""
        return len(self.system.stages)

    @property
    def buses(self) -> tuple[Bus, ...]:
        """All buses, by id; so are the others."""
        return self.system.of(Bus)

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines."""
        return self.system.of(Line)

    @property
    def hydros(self) -> tuple[Hydro, ...]:
        """All hydro plants."""
        return self.system.of(Hydro)

    @property
    def thermals(self) -> tuple[Thermal, ...]:
        """All thermal plants."""
        return self.system.of(Thermal)

    def with_settings(self, settings: Mapping[str, Any]) -> Case:
        """Return the case with other settings than its ``config.json`` has; the folder is read again.

        Raises:
            CaseError: it cannot be used so.
        """
        return load(self.folder, merged(self.settings, settings)) if settings else self


def load(folder: str | os.PathLike[str], settings: Mapping[str, Any] | None = None) -> Case:
    """Read a case folder in the format of Cobre 0.5.

    The order in which the files name their entities changes nothing.

    Args:
        folder: where it is.
        settings: to be used in place of those in ``config.json``, by the same names:
            ``{"training": {"forward_passes": 20}}`` changes that one and leaves the others as they are.

    Raises:
        CaseError: it cannot be used; ``findings`` has everything that is wrong, from missing files to numbers
            that make no sense, and everything that the format has and this package cannot use yet.
    """
    path = Path(folder)
    report = Report()
    raw = read(path, report, settings)
    timeline = Timeline.of(raw.stages) if raw.stages and raw.stages.stages else None
    inflows = Inflows.of(raw, raw.config, raw.stages, timeline) if raw.stages and timeline else None
    _check(raw, timeline, inflows, report)
    boundary = raw.config.policy.boundary if raw.config else None
    policy = _boundary.read(path, boundary, report) if boundary else None
    if report.errors or not (raw.config and raw.penalties and raw.stages and timeline and inflows):
        raise CaseError(report.errors, str(folder), report.warnings)
    system = Resolver(raw, raw.config, raw.penalties, raw.stages, timeline, inflows).system()
    if boundary and policy:
        system = replace(system, future=_boundary.resolve(policy, boundary, system, report))
    if report.errors:
        raise CaseError(report.errors, str(folder), report.warnings)
    scenarios = resolve_scenarios(raw, raw.config, timeline, inflows)
    return Case(path, system, raw.config, scenarios, tuple(report.warnings), dict(settings or {}))


def _check(raw: Raw, timeline: Timeline | None, inflows: Inflows | None, report: Report) -> None:
    _references.check(raw, report)
    if timeline is not None and inflows is not None:
        _dimensions.check(raw, timeline, report)
        check_external(raw, timeline, report)
        inflows.check(report)
        if raw.config is not None:
            _windows.check(raw, raw.config, inflows, report)
        Turbines(raw, timeline).check(report)
    _meaning.check(raw, timeline, report)
    _meaning_in_time.check(raw, report)
    _unsupported.check(raw, report)
