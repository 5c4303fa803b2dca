"""Unsupported features of the format, each listed by name so that none is ignored in silence."""

from __future__ import annotations

from pydantic import BaseModel

from cobre.case._idle import given
from cobre.inputs.config import Config
from cobre.inputs.files import CaseFiles
from cobre.inputs.findings import Report
from cobre.inputs.stages import Stages

#: Settings that change what is found or written, unless they are empty or say that nothing is wanted.
_WANTED = ("upper_bound_evaluation.enabled",)


def check(files: CaseFiles, report: Report) -> None:
    """Report settings that cannot be used; kinds of elements report their own."""
    if files.config:
        _check_config(files.config, report)
    if files.stages:
        _check_states(files.stages, report)


def _check_config(config: Config, report: Report) -> None:
    for name in _WANTED:
        value = given(config, name)
        if value not in (None, False, 0):
            shown = None if isinstance(value, BaseModel) else str(value)
            remedy = "leave it out"
            report.error("unsupported", "config.json", "cannot be used yet", remedy, field=name, value=shown)
    forward = config.training.forward_pass
    if forward is not None and forward.type != "default":
        message, remedy = "there is one kind of forward pass", "leave it out, or give default"
        field, value = "training.forward_pass.type", forward.type
        report.error("unsupported", "config.json", message, remedy, field=field, value=value)
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


def _check_states(stages: Stages, report: Report) -> None:
    """Volumes are always states, as in the original; past inflows are where a model looks back."""
    for stage in stages.stages:
        if stage.state_variables is not None and not stage.state_variables.storage:
            message = "has no effect: volumes are always carried over"
            field = "state_variables.storage"
            remedy = "leave it out"
            report.warn(
                "unsupported", "stages.json", message, remedy, entity=f"stage {stage.id}", field=field
            )
