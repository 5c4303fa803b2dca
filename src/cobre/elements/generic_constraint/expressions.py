"""The expressions of generic constraints: ``2.5 * thermal_generation(5) - hydro_outflow(3, 0)``."""

from __future__ import annotations

import re

from cobre.elements.frame import Variable
from cobre.elements.generic_constraint.data import Term
from cobre.elements.registry import collect


def variables() -> dict[str, str]:
    """Return the kind of element that each variable belongs to."""
    return {name: kind for kind, own in collect("program", "VARIABLES").items() for name in own}


def _has_block(variable: str) -> bool:
    own: dict[str, Variable] = collect("program", "VARIABLES")[variables()[variable]]
    return not own[variable].by_stage


_TERM = re.compile(
    r"\s*(?P<sign>[+-])?\s*"
    r"(?:(?P<coefficient>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*\*\s*)?"
    r"(?P<variable>[A-Za-z_]\w*)\s*\(\s*(?P<entity>\d+)\s*(?:,\s*(?P<block>\d+)\s*)?\)\s*"
)


def parse(expression: str) -> tuple[Term, ...]:
    """The terms of an expression.

    Raises:
        ValueError: it is not a sum of terms with known variables; the message says where and why.

    >>> parse("thermal_generation(0) - 2 * line_direct(1, 3)")
    (Term(coefficient=1.0, variable='thermal_generation', entity=0, block=None),
     Term(coefficient=-2.0, variable='line_direct', entity=1, block=3))
    """
    terms: list[Term] = []
    position = 0
    while position < len(expression) or not terms:
        found = _TERM.match(expression, position)
        if found is None or (terms and not found["sign"]):
            wanted = "'+' or '-' and a term" if terms else "a term"
            raise ValueError(
                f"expected {wanted} such as '2.5 * thermal_generation(3)' at position {position}"
            )
        terms.append(_term(found))
        position = found.end()
    return tuple(terms)


def _term(found: re.Match[str]) -> Term:
    variable = found["variable"]
    if variable not in variables():
        raise ValueError(f"there is no variable {variable!r}; the variables are {', '.join(variables())}")
    if found["block"] is not None and not _has_block(variable):
        raise ValueError(f"{variable} is of a whole stage and has no block")
    coefficient = float(found["coefficient"] or 1) * (-1 if found["sign"] == "-" else 1)
    block = None if found["block"] is None else int(found["block"])
    return Term(coefficient, variable, int(found["entity"]), block)
