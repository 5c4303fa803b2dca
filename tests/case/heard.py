"""What a run makes of a case folder before it solves anything, and what a change of a field does to that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from cobre.errors import CobreError, Finding
from cobre.results import Writer
from cobre.results import _dictionaries as dictionaries
from cobre.study import Study
from cobre.study._plan import RunPlan
from tests.case import folders
from tests.case.fields import Change

#: A field of which so many changes only warn is not changed further.
ENOUGH = 3
Outcome = Literal["changed", "refused", "warned", "silent"]


def plan_of(folder: Path) -> RunPlan:
    """All of a run that happens before it solves anything."""
    study = Study.load(folder)
    config = study.case.config
    if config.training.enabled or config.simulation.enabled:
        return RunPlan.of_run(study, folder / "output")
    study.training()
    return RunPlan(study, Writer(folder / "output"))


def results_of(plan: RunPlan) -> str:
    """What decides the results of a run, and how they are written; no setting that is merely recorded."""
    study, config = plan.study, plan.study.case.config
    training = plan.training or study.training()
    simulation = plan.simulation or study.simulation(training)
    facts = {
        "problem": study.problem.fingerprint,
        "entities": dictionaries.entities(study.case.system).decode(),
        "constraints": [one.name for kind in study.case.system.elements.values() for one in kind],
        "training": training.facts(),
        "simulation": [simulation.method.spec(), study.scenarios],
        "plan": [
            plan.training is None,
            plan.simulation is None,
            str(plan.training and plan.training.checkpoint),
        ],
        "written": [
            plan.writer._compression,
            str(plan.writer.policy_path),
            [config.exports.simulation, config.exports.states, config.exports.stochastic],
        ],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


class Trial:
    """A case folder, of which one file at a time is changed."""

    def __init__(self, folder: Path, files: dict[str, Any]) -> None:
        self.folder = folders.write(folder, files)
        plan = plan_of(folder)
        self._before, self._known = results_of(plan), set(plan.study.case.warnings)

    def outcome(self, changes: Iterable[Change]) -> Outcome:
        """Return the most that some changes of a field do. After one that is not in vain none is tried."""
        warnings = 0
        for change in changes:
            outcome = self._outcome(change)
            if outcome in {"changed", "refused"}:
                return outcome
            warnings += outcome == "warned"
            if warnings == ENOUGH:
                break
        return "warned" if warnings else "silent"

    def _outcome(self, change: Change) -> Outcome:
        path = self.folder / change.file
        before = path.read_bytes()
        try:
            folders.write(self.folder, {change.file: change.content})
            plan = plan_of(self.folder)
            if results_of(plan) != self._before:
                return "changed"
            new = [
                one
                for one in plan.study.case.warnings
                if one not in self._known or "no effect" in one.message
            ]
            return "warned" if any(_names(one, change) for one in new) else "silent"
        except CobreError:
            return "refused"
        finally:
            path.write_bytes(before)


def _names(finding: Finding, change: Change) -> bool:
    """True if a finding names the field of a change, or the section that it is in."""
    *sections, name = change.name.split(".")
    inside = any(finding.field.endswith(section) for section in sections[1:]) if finding.field else False
    words = f"{finding.field} {finding.message} {finding.suggestion}"
    return change.name in words or (finding.file == change.file and (name in words or inside))
