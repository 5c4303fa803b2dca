"""Ranges of the numbers in a problem's linear programmes, and findings on those that trouble the solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cobre.errors import Finding
from cobre.lp import Extreme, NumberRange, number_ranges
from cobre.sddp import MultistageProblem

#: In the units of the solver, whose tolerances are 1e-9: what is smaller is near them, and rounding of what
#: is larger reaches them. Coefficients are divided by each other, so less is too much there.
LIMITS = {"coefficients": (1e-4, 1e4)}
OTHERS = (1e-7, 1e7)


def ranges_of(problem: MultistageProblem) -> tuple[NumberRange, ...]:
    """Return the range of each part of the programmes, over all nodes and realisations."""
    found: dict[str, NumberRange] = {}
    for node in problem.nodes:
        for one in number_ranges(node.program, node.noise):
            own = one.at(f"stage {node.name}")
            found[own.part] = found[own.part].joined(own) if own.part in found else own
    return tuple(found.values())


def findings_on(ranges: Iterable[NumberRange]) -> Iterator[Finding]:
    """Yield a warning for each end of a range that is beyond its limit."""
    for one in ranges:
        low, high = LIMITS.get(one.part, OTHERS)
        if one.scaled_least.scaled < low:
            trouble = f"so small that the solver may take it for 0 (below {low:g})"
            yield _finding(one.part, one.scaled_least, trouble)
        if one.scaled_greatest.scaled > high:
            trouble = f"so large that other numbers are lost beside it (above {high:g})"
            yield _finding(one.part, one.scaled_greatest, trouble)


def _finding(part: str, number: Extreme, trouble: str) -> Finding:
    message = f"the number is {number.size:g}, in the units of the solver {number.scaled:.2g}: {trouble}"
    remedy = "check the units; bring costs, limits and coefficients of the system closer together"
    return Finding("meaning", "linear programmes", number.place, part, number.size, message, remedy)
