"""Unsupported features of the format, each listed by name so that none is ignored in silence."""

from __future__ import annotations

import itertools

from pydantic import BaseModel

from cobre.inputs.config import Config
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages

#: Settings of how the original program works inside; they change nothing that is found.
_INSIDE = (
    "simulation.io_channel_capacity",
    "simulation.output_mode",
    "training.solver.retry_max_attempts",
    "training.solver.retry_time_budget_seconds",
    "training.cut_selection.basis_activity_window",
    "policy.checkpointing.store_basis",
    "policy.checkpointing.compress",
)
#: What may be asked to be written and is not, and what is written whether it is asked for or not.
_NOT_WRITTEN = ("exports.states", "exports.forward_detail", "exports.backward_detail", "exports.stochastic")
_ALWAYS_WRITTEN = ("exports.training", "exports.cuts")
#: Settings that change what is found or written, unless they are empty or say that nothing is wanted.
_WANTED = (
    "training.forward_pass",
    "training.cut_selection.threshold",
    "training.cut_selection.cut_activity_tolerance",
    "training.cut_selection.max_active_per_stage",
    "upper_bound_evaluation.enabled",
)


def check(files: CaseFiles, report: Report) -> None:
    """Report settings and policy graphs that cannot be used; kinds of elements report their own."""
    if files.config:
        _check_config(files.config, report)
    if files.stages:
        _check_graph(files.stages, report)
        _check_states(files.stages, report)


def _check_config(config: Config, report: Report) -> None:
    for name in _INSIDE:
        if _given(config, name) is not None:
            report.warn("unsupported", "config.json", "has no effect here", field=name)
    for name in _NOT_WRITTEN:
        if _given(config, name):
            report.warn("unsupported", "config.json", "has no effect yet: it is not written", field=name)
    for name in _ALWAYS_WRITTEN:
        if _given(config, name) is False:
            report.warn("unsupported", "config.json", "has no effect: it is always written", field=name)
    for name in _WANTED:
        value = _given(config, name)
        if value not in (None, False, 0):
            shown = None if isinstance(value, BaseModel) else str(value)
            report.error("unsupported", "config.json", "cannot be used yet", field=name, value=shown)
    if config.simulation.policy_type == "inner":
        message = "policies of vertices cannot be used yet"
        suggestion = "use 'outer'"
        report.error(
            "unsupported",
            "config.json",
            message,
            field="simulation.policy_type",
            value="inner",
            suggestion=suggestion,
        )


def _given(config: Config, name: str) -> object:
    """The value of a setting that the file has; None if it does not."""
    here: object = config
    for part in name.split("."):
        if not isinstance(here, BaseModel) or part not in here.model_fields_set:
            return None
        here = getattr(here, part)
    return here


def _check_graph(stages: Stages, report: Report) -> None:
    graph = stages.policy_graph
    if graph.type == "cyclic":
        message = "studies without an end cannot be used yet"
        report.error("unsupported", "stages.json", message, field="policy_graph.type", value="cyclic")
        return
    ids = [stage.id for stage in stages.ordered]
    chain = set(itertools.pairwise(ids))
    given = {(edge.source_id, edge.target_id) for edge in graph.transitions if edge.probability > 0}
    named = all(edge.source_id in ids and edge.target_id in ids for edge in graph.transitions)
    if named and not given <= chain:
        message = "each stage must be followed by the next: other graphs cannot be used yet"
        report.error("unsupported", "stages.json", message, field="policy_graph.transitions")


def _check_states(stages: Stages, report: Report) -> None:
    """Volumes are always states, as in the original; past inflows are where a model looks back."""
    for stage in stages.stages:
        if stage.state_variables is not None and not stage.state_variables.storage:
            message = "has no effect: volumes are always carried over"
            field = "state_variables.storage"
            report.warn("unsupported", "stages.json", message, entity=f"stage {stage.id}", field=field)
