"""A case folder, read, checked and resolved."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cobre.case import (
    _boundary,
    _calendar,
    _correlation,
    _elements,
    _graph,
    _idle,
    _negative_inflows,
    _plausibility,
    _risk,
    _scenario_checks,
    _stages,
    _unsupported,
    _windows,
)
from cobre.case._documents import merged
from cobre.case._layout import KIND_INPUTS, REQUIRED_FILES, TABLES
from cobre.case._reading import read
from cobre.case._scenarios import Scenarios, resolve_scenarios
from cobre.case._stochastic import StochasticInputs
from cobre.elements import KINDS, data_class, elements_of, inputs, labels
from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.thermal.data import Thermal
from cobre.errors import CaseError, Finding
from cobre.formatting import html_card
from cobre.inputs.config import Config
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages
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
        stochastic: the stochastic model as the files give it, and where it comes from.
    """

    folder: Path
    system: System
    config: Config
    scenarios: Scenarios
    warnings: tuple[Finding, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    stochastic: StochasticInputs = StochasticInputs({})  # noqa: RUF009  frozen

    def __repr__(self) -> str:
        required = [kind for kind, given in KIND_INPUTS.items() if given.file in REQUIRED_FILES]
        sizes = {KIND_INPUTS[kind].entries: len(elements_of(self.system, kind)) for kind in required}
        counts = ", ".join(f"{count} {name}" for name, count in sizes.items())
        return f"Case({str(self.folder)!r}, {self.stages} stages, {counts})"

    def _repr_html_(self) -> str:
        stages, system = self.system.stages, self.system
        counts = {labels(kind).PLURAL: len(elements_of(system, kind)) for kind in KINDS}
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
        """Number of stages."""
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
    files = read(path, report, settings)
    _check(files, report)
    boundary = files.config.policy.boundary if files.config else None
    policy = _boundary.read(path, boundary, report) if boundary else None
    if report.errors or not (files.config and files.stages):
        raise CaseError(report.errors, str(folder), report.warnings)
    system = _resolve(files, files.config, files.stages)
    if boundary and policy:
        system = replace(system, future=_boundary.resolve(policy, boundary, system, report))
    _plausibility.check(system, report)
    if report.errors:
        raise CaseError(report.errors, str(folder), report.warnings)
    scenarios, stochastic = resolve_scenarios(files, files.config), StochasticInputs.of(files)
    case = Case(path, system, files.config, scenarios, (), dict(settings or {}), stochastic)
    system = _negative_inflows.with_bounds(case, report)
    return replace(case, system=system, warnings=tuple(report.warnings))


def _check(files: CaseFiles, report: Report) -> None:
    _elements.check_references(files, list(TABLES.values()), report)
    if files.has_stages:
        _stages.check_blocks(files, report)
        _elements.check_amounts(files, report)
        _scenario_checks.check_amounts(files, report)
        _correlation.check_amounts(files, report)
        if files.config is not None:
            _windows.check(files, files.config, report)
    _elements.check_meaning(files, report)
    if files.stages:
        _stages.check_meaning(files, files.stages, report)
        _calendar.check(files, files.stages, report)
        _risk.check(files.stages, report)
    _correlation.check_meaning(files, report)
    if files.config:
        _scenario_checks.check_sources(files.config, files, report)
    _unsupported.check(files, report)
    _idle.check(files, report)
    _elements.check_unsupported(files, report)
    _scenario_checks.check_unsupported(files, report)


def _resolve(files: CaseFiles, config: Config, stages: Stages) -> System:
    """The system, from files that were found to be right."""
    resolved = tuple(_stages.resolve_stage(stages, stage) for stage in files.timeline.stages)
    return System(
        stages=resolved,
        elements={
            data_class(kind): tuple(inputs(kind).resolve(files, one) for one in files.elements(kind))
            for kind in KINDS
        },
        negative_inflows=config.modeling.inflow_non_negativity.method,
        transitions=_graph.resolve(stages, [stage.discount for stage in resolved]),
    )
