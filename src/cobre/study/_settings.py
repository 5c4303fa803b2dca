"""Training settings of a case's ``config.json``, converted to those of the engine."""

from __future__ import annotations

from cobre import sddp
from cobre.case import CutSelection, Training
from cobre.sddp import Selection, StoppingRule
from cobre.sddp.stopping import RULES


def stop_of(training: Training) -> StoppingRule:
    """Return the case's stopping rules as one."""
    rules = tuple(RULES[rule.type](**rule.model_dump(exclude={"type"})) for rule in training.stopping_rules)
    return sddp.AnyOf(rules) if training.stopping_mode == "any" else sddp.AllOf(rules)


def selection_of(given: CutSelection) -> Selection | None:
    """Return the case's cut selection."""
    if not given.enabled:
        return None
    every = given.check_frequency or 5
    if given.method == "domination":
        threshold = given.domination_epsilon
        return sddp.Domination(every, 1e-9 if threshold is None else threshold)
    if given.method == "lml1":
        return sddp.LimitedMemoryLevel1(every, given.memory_window or 20)
    return sddp.Level1(every)
