"""Stage programme of generic constraints: a row for each block with a bound, over variables of any kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from cobre.elements.frame import BuildStep, StageFrame, Variable
from cobre.elements.generic_constraint.data import GenericConstraint, Term
from cobre.elements.registry import collect, elements_of


def add_to_stage(frame: StageFrame, constraints: Sequence[GenericConstraint]) -> None:
    """Add the rows of all constraints."""
    for constraint in constraints:
        _add_constraint(frame, constraint)


def _add_constraint(frame: StageFrame, constraint: GenericConstraint) -> None:
    terms = [(term, *_variable(frame, term)) for term in constraint.terms]
    constant = sum(term.coefficient * variable.constant(frame, element) for term, variable, element in terms)
    for k, given in enumerate(constraint.bounds[frame.number]):
        if np.isnan(given):
            continue
        name, bound = f"constraint:{constraint.id}:{k}", given - constant
        entries: dict[int, float] = defaultdict(float)
        for term, variable, element in terms:
            block = k if term.block is None else term.block
            for column, factor in variable.columns(frame, element, block).items():
                entries[column] += term.coefficient * factor
        if constraint.slack_cost is not None:
            cost = constraint.slack_cost * frame.hours[k]
            for side, sign in (("short", 1.0), ("over", -1.0)):
                if constraint.sense in ("==", ">=" if side == "short" else "<="):
                    entries[frame.program.add_column(f"{side}:{name}", cost=cost)] = sign
        lower = -np.inf if constraint.sense == "<=" else bound
        upper = np.inf if constraint.sense == ">=" else bound
        frame.program.add_row(name, entries, lower=lower, upper=upper)


def _variable(frame: StageFrame, term: Term) -> tuple[Variable, Any]:
    """Return the variable of a term, and its element."""
    for kind, variables in collect("program", "VARIABLES").items():
        if term.variable in variables:
            elements = elements_of(frame.system, kind)
            return variables[term.variable], next(one for one in elements if one.id == term.entity)
    raise KeyError(term.variable)


STEPS = {BuildStep.CONSTRAINTS: add_to_stage}
