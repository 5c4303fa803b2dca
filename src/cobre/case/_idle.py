"""Settings that have no effect in a case, each named in a warning: none is ignored in silence."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from cobre.case._correlation import FILE as CORRELATION
from cobre.case._layout import OPENINGS
from cobre.case._windows import samples_residuals
from cobre.formatting import count
from cobre.inputs.config import Config, CutSelection, ScenarioSource
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.models import Document

#: Settings of how the original program works inside.
_INSIDE = (
    "simulation.io_channel_capacity",
    "simulation.output_mode",
    "training.solver.retry_max_attempts",
    "training.solver.retry_time_budget_seconds",
    "training.cut_selection.basis_activity_window",
    "policy.checkpointing.store_basis",
    "policy.checkpointing.compress",
)
#: Outputs that are not written, and outputs that always are.
_NOT_WRITTEN = (
    "exports.forward_detail",
    "exports.backward_detail",
)
_ALWAYS_WRITTEN = ("exports.training", "exports.cuts")
_ONLY_WITH = {"memory_window": "lml1", "domination_epsilon": "domination"}


def check(files: CaseFiles, report: Report) -> None:
    """Report settings that are given and change nothing."""
    for field, reason in _idle_settings(files, files.config) if files.config else ():
        report.warn("unsupported", "config.json", f"has no effect: {reason}", "leave it out", field=field)
    _check_sampling_methods(files, report)
    for file, field, reason in (
        (CORRELATION, "method", "noise is correlated by a Cholesky factor, whatever the method"),
        ("penalties.json", "version", "the file has one version"),
    ):
        document = files.documents.get(file)
        if document is not None and given(document, field) not in {None, "cholesky"}:
            report.warn("unsupported", file, f"has no effect: {reason}", "leave it out", field=field)


def _check_sampling_methods(files: CaseFiles, report: Report) -> None:
    """Report methods of drawing openings where they are given."""
    stages = files.timeline.stages if files.has_stages and files.has(OPENINGS) else ()
    drawn = [stage.id for stage in stages if given(stage, "sampling_method")]
    if drawn:
        remedy = f"leave it out, or remove {OPENINGS.name}"
        message = f"has no effect in {count(len(drawn), 'stage')}: the openings are given"
        entity, field = f"stage {drawn[0]}", "sampling_method"
        report.warn("unsupported", "stages.json", message, remedy, entity=entity, field=field)


def given(document: BaseModel, name: str) -> object:
    """Return the value of a setting that a file has, by its dotted name; None if it does not have it."""
    here: object = document
    for part in name.split("."):
        if not isinstance(here, BaseModel) or part not in here.model_fields_set:
            return None
        here = getattr(here, part)
    return here


def _idle_settings(files: CaseFiles, config: Config) -> Iterator[tuple[str, str]]:
    yield from ((name, "it is of the original program's inside") for name in _given(config, *_INSIDE))
    yield from ((name, "it is not written") for name in _NOT_WRITTEN if given(config, name))
    yield from ((name, "there are no vertices") for name in _given(config, "exports.vertices"))
    yield from ((name, "it is always written") for name in _ALWAYS_WRITTEN if given(config, name) is False)
    yield from _of_policy(config)
    yield from _of_cut_selection(config.training.cut_selection)
    for section, source in (
        ("training", config.training.scenario_source),
        ("simulation", config.simulation.scenario_source),
    ):
        if source is not None:
            residual = section == "training" and samples_residuals(files)
            yield from _of_source(f"{section}.scenario_source", source, residual)


def _given(config: Document, *names: str) -> Iterator[str]:
    return (name for name in names if given(config, name) is not None)


def _of_policy(config: Config) -> Iterator[tuple[str, str]]:
    for name in _given(config, "policy.checkpointing.initial_iteration"):
        yield name, "the first checkpoint comes after one interval"
    if given(config, "policy.validate_compatibility") is False:
        yield "policy.validate_compatibility", "a policy of another case is always refused"
    for name in _given(config, "simulation.output_path"):
        yield name, "the tables are in the folder simulation of the results"
    if not config.upper_bound_evaluation.enabled:
        for field in sorted(config.upper_bound_evaluation.model_fields_set - {"enabled"}):
            yield f"upper_bound_evaluation.{field}", "upper_bound_evaluation.enabled is not true"


def _of_cut_selection(selection: CutSelection) -> Iterator[tuple[str, str]]:
    capped = selection.max_active_per_stage is not None
    for field in sorted(selection.model_fields_set - {"enabled", "basis_activity_window"}):
        name, method = f"training.cut_selection.{field}", _ONLY_WITH.get(field)
        if not selection.enabled:
            yield name, "training.cut_selection.enabled is not true"
        elif method is not None and selection.method != method:
            yield name, f"only the method {method} has it"
        elif field == "cut_activity_tolerance" and selection.method == "domination" and not capped:
            yield name, "the method domination does not ask which cuts are tight"
    newer = next((name for name, method in _ONLY_WITH.items() if method == selection.method), None)
    if selection.enabled and selection.threshold is not None and newer in selection.model_fields_set:
        yield "training.cut_selection.threshold", f"{newer} takes its place"


def _of_source(name: str, source: ScenarioSource, residual: bool) -> Iterator[tuple[str, str]]:
    schemes = {source.inflow.scheme, source.load.scheme, source.ncs.scheme}
    chooses = bool(schemes & {"external", "historical"})
    if "selection_mode" in source.model_fields_set and not chooses:
        yield f"{name}.selection_mode", "no scheme is external or historical"
    draws = chooses and source.selection_mode == "random"
    if source.seed is not None and not draws and "out_of_sample" not in schemes:
        yield f"{name}.seed", "nothing is drawn with it"
    if source.historical_years is not None and source.inflow.scheme != "historical" and not residual:
        yield f"{name}.historical_years", "no scheme takes years of the history"
