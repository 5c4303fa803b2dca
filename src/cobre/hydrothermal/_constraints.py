"""Constraints that the user writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from cobre.hydrothermal._frame import Frame
from cobre.system import GenericConstraint, Term


def add_constraint(frame: Frame, constraint: GenericConstraint) -> None:
    for k, bound in enumerate(constraint.bounds[frame.number]):
        if np.isnan(bound):
            continue
        name = f"constraint:{constraint.id}:{k}"
        entries: dict[int, float] = defaultdict(float)
        for term in constraint.terms:
            for column, factor in _columns_of(frame, term, k):
                entries[column] += term.coefficient * factor
        if constraint.slack_cost is not None:
            cost = constraint.slack_cost * frame.hours[k]
            for side, sign in (("short", 1.0), ("over", -1.0)):
                if constraint.sense in ("==", ">=" if side == "short" else "<="):
                    entries[frame.rows.column(f"{side}:{name}", cost=cost)] = sign
        lower = -np.inf if constraint.sense == "<=" else bound
        upper = np.inf if constraint.sense == ">=" else bound
        frame.rows.row(name, entries, lower=lower, upper=upper)


def _columns_of(frame: Frame, term: Term, block: int) -> Iterator[tuple[int, float]]:
    """The columns that a term stands for in a constraint of a block, with what each counts for."""
    k = block if term.block is None else term.block
    if term.variable == "hydro_storage":
        yield frame.outgoing[f"storage:{term.entity}"], 1.0
        return
    kinds = {
        "hydro_turbined": ["turbined"],
        "hydro_spillage": ["spilled"],
        "hydro_diversion": ["diverted"],
        "hydro_outflow": ["turbined", "spilled"],
        "hydro_generation": ["turbined"],
        "thermal_generation": ["thermal"],
        "line_direct": ["direct"],
        "line_reverse": ["reverse"],
        "line_exchange": ["direct", "reverse"],
        "bus_excess": ["excess"],
        "pumping_flow": ["pumped"],
        "non_controllable_generation": ["source"],
        "contract_import": ["contract"],
        "contract_export": ["contract"],
    }
    if term.variable == "bus_deficit":
        bus = next(bus for bus in frame.system.buses if bus.id == term.entity)
        for s in range(len(bus.deficit)):
            yield frame.rows[f"deficit:{bus.id}:{s}:{k}"], 1.0
        return
    for i, kind in enumerate(kinds[term.variable]):
        if f"{kind}:{term.entity}:{k}" not in frame.rows:
            continue  # a plant without a channel diverts nothing
        column = frame.rows[f"{kind}:{term.entity}:{k}"]
        if term.variable == "hydro_generation":
            hydro = next(hydro for hydro in frame.system.hydros if hydro.id == term.entity)
            yield column, float(hydro.mw_per_m3s[frame.number])
        else:
            yield column, -1.0 if term.variable == "line_exchange" and i else 1.0
