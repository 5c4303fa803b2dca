"""Training settings of a case's ``config.json``, converted to those of the engine."""

from __future__ import annotations

from typing import Any

from cobre import sddp
from cobre.case import CutSelection, Training
from cobre.sddp import Selection, StoppingRule
from cobre.sddp.stopping import RULES

#: The least dual of a cut that counts as binding, unless the case says otherwise: the format's default.
ACTIVITY_TOLERANCE = 1e-6


def stop_of(training: Training) -> StoppingRule:
    """Return the case's stopping rules as one."""
    rules = tuple(RULES[rule.type](**rule.model_dump(exclude={"type"})) for rule in training.stopping_rules)
    return sddp.AnyOf(rules) if training.stopping_mode == "any" else sddp.AllOf(rules)


def selection_of(given: CutSelection) -> Selection | None:
    """Return the case's cut selection.

    ``threshold`` is Cobre's: a number of solves for ``level1``, and the older name of the settings that the
    other methods have of their own.
    """
    if not given.enabled:
        return None
    every, threshold = given.check_frequency or 5, given.threshold
    common: Any = {
        "most": given.max_active_per_stage,
        "activity_tolerance": (
            ACTIVITY_TOLERANCE if given.cut_activity_tolerance is None else given.cut_activity_tolerance
        ),
    }
    if given.method == "domination":
        epsilon = _first(given.domination_epsilon, threshold, 1e-9)
        return sddp.Domination(every, epsilon, **common)
    if given.method == "lml1":
        window = _first(given.memory_window, threshold, 19)
        return sddp.LimitedMemoryLevel1(every, int(window) + 1, **common)  # which counts the iteration itself
    return sddp.Level1(every, threshold or 0, **common)


def _first(*given: float | None) -> float:
    return next(value for value in given if value is not None)
