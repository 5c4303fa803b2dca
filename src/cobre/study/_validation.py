"""Refusals of a run before it solves anything, as findings about the case folder."""

from __future__ import annotations

from pathlib import Path

from cobre.case import Case
from cobre.errors import Finding, InvalidProblem, PolicyFileError
from cobre.study._plan import RunPlan
from cobre.study._study import Study


def refusals(case: Case, output: Path) -> tuple[list[Finding], list[Finding]]:
    """Return what a run of a case would refuse, and what it would refuse unless it is resumed.

    Args:
        case: one that can be loaded.
        output: the folder of its results.
    """
    try:
        study = Study.of(case)
        if case.config.training.enabled or case.config.simulation.enabled:
            RunPlan.of_run(study, output)
        else:
            study.training()  # a run checks no more
    except InvalidProblem as error:
        return [_of_problem(text) for text in error.findings], []
    except PolicyFileError as error:
        found = [_of_policy(case, error)]
        return ([], found) if _can_be_resumed(study, output) else (found, [])
    return [], []


def _of_problem(text: str) -> Finding:
    remedy = "correct the numbers of the case that it is made of"
    return Finding("meaning", "", "the problem", "", None, text, remedy)


def _of_policy(case: Case, error: PolicyFileError) -> Finding:
    trains = case.config.training.enabled
    field, value = ("policy.mode", case.config.policy.mode) if trains else ("training.enabled", False)
    remedy = "let a run train it first, or change the setting"
    return Finding("missing_file", "config.json", "", field, value, str(error), remedy)


def _can_be_resumed(study: Study, output: Path) -> bool:
    try:
        RunPlan.of_run(study, output, resume=True)
    except (PolicyFileError, InvalidProblem):
        return False
    return True
