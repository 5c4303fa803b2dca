"""The expressions of generic constraints: ``2.5 * thermal_generation(5) - hydro_outflow(3, 0)``."""

from __future__ import annotations

import re

from cobre.elements.generic_constraint.data import Term

#: Of which kind of entity each variable is.
KIND_OF = {
    "hydro_storage": "hydros",
    "hydro_evaporation": "hydros",
    "hydro_withdrawal": "hydros",
    "hydro_turbined": "hydros",
    "hydro_spillage": "hydros",
    "hydro_diversion": "hydros",
    "hydro_outflow": "hydros",
    "hydro_generation": "hydros",
    "thermal_generation": "thermals",
    "line_direct": "lines",
    "line_reverse": "lines",
    "line_exchange": "lines",
    "bus_deficit": "buses",
    "bus_excess": "buses",
    "pumping_flow": "stations",
    "pumping_power": "stations",
    "contract_import": "contracts",
    "contract_export": "contracts",
    "non_controllable_generation": "sources",
    "non_controllable_curtailment": "sources",
}

#: Variables of a whole stage.
WITHOUT_BLOCK = {"hydro_storage", "hydro_evaporation", "hydro_withdrawal"}

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
    if variable not in KIND_OF:
        raise ValueError(f"there is no variable {variable!r}; the variables are {', '.join(KIND_OF)}")
    if found["block"] is not None and variable in WITHOUT_BLOCK:
        raise ValueError(f"{variable} is of a whole stage and has no block")
    coefficient = float(found["coefficient"] or 1) * (-1 if found["sign"] == "-" else 1)
    block = None if found["block"] is None else int(found["block"])
    return Term(coefficient, variable, int(found["entity"]), block)
