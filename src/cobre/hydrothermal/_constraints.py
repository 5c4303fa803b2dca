"""Constraints that the user writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Protocol, TypeVar

import numpy as np

from cobre.elements.bus.data import Bus
from cobre.elements.generic_constraint.data import GenericConstraint, Term
from cobre.elements.pumping_station.data import PumpingStation
from cobre.hydrothermal._frame import Frame
from cobre.hydrothermal._water import power_of

#: The kinds of columns that a variable is the sum of, and what each counts for.
_BY_BLOCK = {
    "hydro_turbined": {"turbined": 1.0},
    "hydro_spillage": {"spilled": 1.0},
    "hydro_diversion": {"diverted": 1.0},
    "hydro_outflow": {"turbined": 1.0, "spilled": 1.0},
    "thermal_generation": {"thermal": 1.0},
    "line_direct": {"direct": 1.0},
    "line_reverse": {"reverse": 1.0},
    "line_exchange": {"direct": 1.0, "reverse": -1.0},
    "bus_excess": {"excess": 1.0},
    "pumping_flow": {"pumped": 1.0},
    "non_controllable_generation": {"source": 1.0},
    "contract_import": {"contract": 1.0},
    "contract_export": {"contract": 1.0},
}
#: The same for variables of a whole stage.
_BY_STAGE = {
    "hydro_storage": {"storage": 1.0},
    "hydro_evaporation": {"evaporated": 1.0},
    "hydro_withdrawal": {"withdrawal_below": -1.0, "withdrawal_above": 1.0},
}


def add_constraint(frame: Frame, constraint: GenericConstraint) -> None:
    """Add a row for each block with a bound."""
    known = sum(term.coefficient * _known(frame, term) for term in constraint.terms)
    for k, given in enumerate(constraint.bounds[frame.number]):
        if np.isnan(given):
            continue
        name, bound = f"constraint:{constraint.id}:{k}", given - known
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


def _known(frame: Frame, term: Term) -> float:
    """What a variable is beside its columns: a withdrawal deviates from what was asked for."""
    if term.variable != "hydro_withdrawal" or frame.phase(term.entity) == "absent":
        return 0.0
    return float(frame.hydros[term.entity].withdrawal_m3s[frame.number])


def _columns_of(frame: Frame, term: Term, block: int) -> Iterator[tuple[int, float]]:
    """The columns that a term stands for in a constraint of a block, with what each counts for.

    Where there is no such column the variable is 0: a plant without a channel diverts nothing.
    """
    if term.variable.startswith("hydro") and frame.phase(term.entity) == "absent":
        return
    k = block if term.block is None else term.block
    if term.variable == "hydro_generation":
        if frame.phase(term.entity) == "operating":
            yield from power_of(frame, frame.hydros[term.entity], k).items()
        return
    for name, factor in _names_of(frame, term, k):
        if name in frame.rows:
            yield frame.rows[name], factor


def _names_of(frame: Frame, term: Term, k: int) -> Iterator[tuple[str, float]]:
    entity = term.entity
    if term.variable in _BY_STAGE:
        for kind, factor in _BY_STAGE[term.variable].items():
            yield f"{kind}:{entity}", factor
    elif term.variable in _BY_BLOCK:
        for kind, factor in _BY_BLOCK[term.variable].items():
            yield f"{kind}:{entity}:{k}", factor
    elif term.variable == "pumping_power":
        yield f"pumped:{entity}:{k}", _entity(frame.system.of(PumpingStation), entity).mw_per_m3s
    elif term.variable == "bus_deficit":
        for s in range(len(_entity(frame.system.of(Bus), entity).deficit)):
            yield f"deficit:{entity}:{s}:{k}", 1.0
    elif term.variable == "non_controllable_curtailment":
        yield _curtailed(frame, entity, k), 1.0


def _curtailed(frame: Frame, source: int, k: int) -> str:
    """Add, unless it is there, what of a source is available and not used; return its name."""
    name, used = f"curtailed:{source}:{k}", f"source:{source}:{k}"
    if name not in frame.rows:
        column = frame.rows.column(name)
        most = frame.rows.upper(used)
        row = frame.rows.equation(f"available:{source}:{k}", {frame.rows[used]: 1.0, column: 1.0}, most)
        frame.available[source][k] = row
    return name


class _HasId(Protocol):
    @property
    def id(self) -> int: ...


AnyEntity = TypeVar("AnyEntity", bound=_HasId)


def _entity(entities: tuple[AnyEntity, ...], number: int) -> AnyEntity:
    return next(entity for entity in entities if entity.id == number)
