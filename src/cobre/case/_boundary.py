"""``policy.boundary`` of ``config.json``: cuts of another study that value what is left at the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cobre.errors import PolicyFileError
from cobre.hydrothermal import initial_state
from cobre.inputs.config import Boundary
from cobre.inputs.findings import Report
from cobre.sddp import Policy
from cobre.system import Future, System

#: Where a folder of results has its policy.
_PLACES = ("policy.cobre", "policy/policy.cobre")
_PATH, _STAGE = "policy.boundary.path", "policy.boundary.source_stage"


def read(folder: Path, boundary: Boundary, report: Report) -> Policy | None:
    """The policy that the cuts are in; a relative path begins in the case folder."""
    try:
        file = _find(folder / boundary.path, boundary.path, report)
        if file is None:
            return None
        policy = Policy.load(file)
    except (PolicyFileError, OSError) as error:
        remedy = "give a policy that can be read, or remove policy.boundary"
        report.error("unreadable", "config.json", str(error), remedy, field=_PATH, value=boundary.path)
        return None
    node = str(boundary.source_stage)
    if node not in policy.nodes:
        message = f"the policy has no such stage; it has {', '.join(policy.nodes)}"
    elif not len(policy.records[node].active):
        message = "the policy has no cuts there: nothing follows that stage"
    else:
        return policy
    remedy = "name a stage of that study which is followed by another"
    report.error("reference", "config.json", message, remedy, field=_STAGE, value=boundary.source_stage)
    return None


def _find(path: Path, given: str, report: Report) -> Path | None:
    if path.is_file():
        return path
    for place in _PLACES:
        if (path / place).is_file():
            return path / place
    if (path / "cuts").is_dir() or (path / "metadata.json").is_file():
        message = "policies of the original program (FlatBuffers) cannot be read"
        suggestion = "train the other study with this package, and name its policy.cobre"
        report.error("unsupported", "config.json", message, field=_PATH, value=given, suggestion=suggestion)
    else:
        message = f"there is no policy: neither that file, nor {' or '.join(_PLACES)} in that folder"
        remedy = "name the policy.cobre of a trained study, or the folder of its results"
        report.error("missing_file", "config.json", message, remedy, field=_PATH, value=given)
    return None


def resolve(policy: Policy, boundary: Boundary, system: System, report: Report) -> Future:
    """Future cost function of the cuts. States that only one of the studies has are reported."""
    node = str(boundary.source_stage)
    record = policy.records[node]
    cuts = record.cuts[record.active]
    own, matter = set(initial_state(system)), np.any(cuts[:, 1:] != 0, axis=0)
    used = {state for state, matters in zip(policy.states, matter, strict=True) if matters}
    for states, message in (
        (used - own, "the cuts depend on states that this study does not have"),
        (own - set(policy.states), "the cuts say nothing of states of this study"),
    ):
        if states:
            value = ", ".join(sorted(states))
            remedy = "give both studies the same reservoirs and lags of inflows"
            report.error("dimension", "config.json", message, remedy, field="policy.boundary", value=value)
    return Future(
        policy.value_bounds[node], policy.states, cuts, record.families[record.active], record.mixtures
    )
