"""Plausibility of a resolved case: values after all overrides that are valid, but probably not meant.

Each check gives one finding, with the number of places and the worst of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.elements.bus.data import Bus
from cobre.elements.contract.data import Contract
from cobre.elements.hydro.data import Hydro
from cobre.elements.line.data import Line
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.thermal.data import Thermal
from cobre.inputs.findings import Report
from cobre.system import BlockSeries, Series, System

#: How many times the capacity of all plants a load may be before its unit is in doubt.
MUCH_LOAD = 10
PENALTIES = "penalties.json"
#: True in some stages.
Mask = NDArray[np.bool_]


class Pair(NamedTuple):
    """A value of an element that should not be below another, by stage."""

    owner: str
    high: Series
    low: Series


class Order(NamedTuple):
    """Two costs, the first of which should not be below the second; and where to change them."""

    high: str
    low: str
    file: str
    field: str


def check(system: System, report: Report) -> None:
    """Report what is doubtful, and what no solution would be worth."""
    for order, pairs in (
        (FILLING, _filling(system)),
        (STORAGE, _storage(system)),
        (DEFICIT, _deficit(system)),
        (VIOLATIONS, _violations(system)),
        (RESOURCES, _resources(system)),
        (UNSERVED, _unserved(system)),
    ):
        if message := _worst(system, order, pairs):
            report.warn("meaning", order.file, message, "change one of the costs", field=order.field)
    if message := _worst(system, CAPACITY, _initial_volumes(system)):
        remedy = "correct the volume, or the capacity: what does not fit would be spilled at once"
        report.error("meaning", CAPACITY.file, message, remedy, field=CAPACITY.field)
    _check_turbines(system, report)
    _check_loads(system, report)
    _check_inflows(system, report)
    _check_idle_elements(system, report)


FILLING = Order(
    "filling_target_violation_cost",
    "storage_violation_below_cost",
    PENALTIES,
    "hydro.filling_target_violation_cost",
)
STORAGE = Order(
    "storage_violation_below_cost",
    "the cost of the last deficit segment of its bus",
    PENALTIES,
    "hydro.storage_violation_below_cost",
)
DEFICIT = Order(
    "the cost of the last deficit segment of its bus",
    "its largest violation cost",
    PENALTIES,
    "bus.deficit_segments",
)
VIOLATIONS = Order(
    "its smallest violation cost",
    "the cost of the most expensive thermal plant at its bus",
    PENALTIES,
    "hydro",
)
RESOURCES = Order(
    "the cost of the cheapest thermal plant or deficit",
    "the largest cost of spillage, turbined or diverted water, curtailment or exchange",
    PENALTIES,
    "hydro",
)
UNSERVED = Order(
    "the cost of its first deficit segment",
    "the cost of its most expensive thermal plant, which is never used",
    PENALTIES,
    "bus.deficit_segments",
)
CAPACITY = Order("the capacity", "the initial volume", "initial_conditions.json", "storage")
TURBINES = Order("fpha_turbined_cost", "spillage_cost", PENALTIES, "hydro.fpha_turbined_cost")


def _worst(system: System, order: Order, pairs: Iterator[Pair], *, or_equal: bool = False) -> str:
    """The places of an inverted order in words, with the one that is furthest from right; empty if none."""
    count, worst, words = 0, -np.inf, ""
    for owner, high, low in pairs:
        wrong = (high <= low) if or_equal else (high < low)
        count += int(wrong.sum())
        if wrong.any():
            stage = int(np.argmax(np.where(wrong, low - high, -np.inf)))
            if low[stage] - high[stage] > worst:
                worst = low[stage] - high[stage]
                words = f"{owner} in stage {system.stages[stage].id}: {high[stage]:g} and {low[stage]:g}"
    relation = "not above" if or_equal else "below"
    return f"{order.high} is {relation} {order.low} in {count} cases, such as {words}" if count else ""


def _present(hydro: Hydro) -> Mask:
    return np.array([phase != "absent" for phase in hydro.phases])


def _only(values: Series, where: Mask, otherwise: float) -> Series:
    return np.where(where, values, otherwise)


def _filling(system: System) -> Iterator[Pair]:
    for hydro in system.of(Hydro):
        if hydro.filling is not None:
            costs = hydro.penalties
            yield Pair(f"hydro {hydro.id}", costs.filling_below_per_hm3, costs.storage_below_per_hm3)


def _last_deficit(system: System, bus: int) -> Series:
    found = next(one for one in system.of(Bus) if one.id == bus)
    return np.full(len(system.stages), found.deficit[-1].cost_per_mwh)


def _storage(system: System) -> Iterator[Pair]:
    for hydro in system.of(Hydro):
        low = _only(_last_deficit(system, hydro.bus), _present(hydro), -np.inf)
        yield Pair(f"hydro {hydro.id}", hydro.penalties.storage_below_per_hm3, low)


def largest_violation_cost(hydro: Hydro) -> Series:
    """By stage, the largest cost of the violations that are possible; -inf without any."""
    return _violation_costs(hydro)[0]


def _violation_costs(hydro: Hydro) -> tuple[Series, Series]:
    """By stage, the largest and the smallest cost of possible violations; -inf and inf without any."""
    costs, never = hydro.penalties, np.zeros(len(hydro.phases), bool)
    evaporates = never if hydro.evaporation is None else ~never
    possible = [
        (costs.turbined_below, hydro.min_turbined_m3s > 0),
        (costs.outflow_below, hydro.min_outflow_m3s > 0),
        (costs.outflow_above, np.isfinite(hydro.max_outflow_m3s)),
        (costs.generation_below_per_mwh, hydro.min_generation_mw > 0),
        (np.maximum(costs.evaporation_above, costs.evaporation_below), evaporates),
        (np.maximum(costs.withdrawal_above, costs.withdrawal_below), hydro.withdrawal_m3s != 0),
    ]
    here = _present(hydro)
    most = [_only(cost, where & here, -np.inf) for cost, where in possible]
    least = [_only(cost, where & here, np.inf) for cost, where in possible]
    return np.max(most, axis=0), np.min(least, axis=0)


def _deficit(system: System) -> Iterator[Pair]:
    for hydro in system.of(Hydro):
        yield Pair(f"hydro {hydro.id}", _last_deficit(system, hydro.bus), largest_violation_cost(hydro))


def _most_expensive(system: System, bus: int) -> Series:
    """By stage, the cost of the most expensive thermal plant at a bus that can generate; else -inf."""
    found = np.full(len(system.stages), -np.inf)
    for thermal in system.of(Thermal):
        if thermal.bus == bus:
            found = np.maximum(found, _extreme(thermal, -np.inf))
    return found


def _extreme(thermal: Thermal, without: float) -> Series:
    """By stage, the highest cost of blocks in which it can generate; the lowest if ``without`` is +inf."""
    pick = np.max if without < 0 else np.min
    return np.array(
        [
            pick(np.append(cost[most > 0], without))
            for cost, most in zip(thermal.cost_per_mwh, thermal.max_mw, strict=True)
        ]
    )


def _violations(system: System) -> Iterator[Pair]:
    for hydro in system.of(Hydro):
        yield Pair(f"hydro {hydro.id}", _violation_costs(hydro)[1], _most_expensive(system, hydro.bus))


def _unserved(system: System) -> Iterator[Pair]:
    for bus in system.of(Bus):
        first = np.full(len(system.stages), bus.deficit[0].cost_per_mwh)
        yield Pair(f"bus {bus.id}", first, _most_expensive(system, bus.id))


def _resources(system: System) -> Iterator[Pair]:
    stages = len(system.stages)
    cheapest = np.full(
        stages, min((s.cost_per_mwh for bus in system.of(Bus) for s in bus.deficit), default=np.inf)
    )
    for thermal in system.of(Thermal):
        cheapest = np.minimum(cheapest, _extreme(thermal, np.inf))
    for owner, costs in _regularisation(system):
        yield Pair(owner, cheapest, costs)


def _regularisation(system: System) -> Iterator[tuple[str, Series]]:
    for hydro in system.of(Hydro):
        costs = hydro.penalties
        planes = np.array([plane is not None for plane in hydro.planes])
        diverts = hydro.max_diversion_m3s > 0
        largest = np.maximum(costs.spillage, _only(costs.turbined, planes, 0.0))
        largest = np.maximum(largest, _only(costs.diversion, diverts, 0.0))
        yield f"hydro {hydro.id}", _only(largest, _present(hydro), 0.0)
    for source in system.of(NonControllableSource):
        cost = _only(source.curtailment_cost_per_mwh, source.max_generation_mw > 0, 0.0)
        yield f"non-controllable source {source.id}", cost
    for line in system.of(Line):
        usable = np.maximum(_largest(line.direct_mw), _largest(line.reverse_mw)) > 0
        yield f"line {line.id}", _only(line.exchange_cost_per_mwh, usable, 0.0)


def _initial_volumes(system: System) -> Iterator[Pair]:
    """The capacity and the initial volume of each plant in the first stage in which it is there."""
    for hydro in system.of(Hydro):
        first = np.cumsum(_present(hydro)) == 1
        capacity = _only(hydro.max_storage_hm3, first & _present(hydro), np.inf)
        yield Pair(f"hydro {hydro.id}", capacity, np.full(len(capacity), hydro.initial_hm3))


def _check_turbines(system: System, report: Report) -> None:
    """Report water that is better turbined below planes than spilled; to charge it nothing may be meant."""
    remedy = "raise fpha_turbined_cost above spillage_cost: else water is spilled through the turbines"
    for free, tell in ((False, report.error), (True, report.warn)):
        if message := _worst(system, TURBINES, _turbines(system, free=free), or_equal=True):
            tell("meaning", PENALTIES, message, remedy, field=TURBINES.field)


def _turbines(system: System, *, free: bool) -> Iterator[Pair]:
    """The costs of turbining, where it is free or where it is not, and of spilling."""
    for hydro in system.of(Hydro):
        planes = np.array([plane is not None for plane in hydro.planes])
        here = planes & ((hydro.penalties.turbined == 0) == free)
        low = _only(hydro.penalties.spillage, here, -np.inf)
        yield Pair(f"hydro {hydro.id}", hydro.penalties.turbined, low)


def _check_loads(system: System, report: Report) -> None:
    file, load = "scenarios/load_seasonal_stats.parquet", np.zeros(len(system.stages))
    for bus in system.of(Bus):
        load += bus.load_mean_mw
    if system.of(Bus) and not np.any(load > 0):
        report.warn("meaning", file, "there are no loads: all are 0", "give them, if there are any")
    capacity = np.zeros(len(system.stages))
    for hydro in system.of(Hydro):
        capacity += hydro.max_generation_mw
    for thermal in system.of(Thermal):
        capacity += _largest(thermal.max_mw)
    for source in system.of(NonControllableSource):
        capacity += source.max_generation_mw
    for contract in system.of(Contract):
        capacity += contract.max_mw if contract.imports else 0.0
    much = load / MUCH_LOAD > capacity
    if much.any():
        stage = int(np.argmax(load / MUCH_LOAD - capacity))
        message = (
            f"the load is more than {MUCH_LOAD} times what can be generated and imported in "
            f"{int(much.sum())} stages, such as stage {system.stages[stage].id}: {load[stage]:g} MW and "
            f"{capacity[stage]:g} MW"
        )
        report.warn("meaning", file, message, "check the units: loads are in MW", field="mean_mw")


def _largest(values: BlockSeries) -> Series:
    return np.array([block.max(initial=0.0) for block in values])


def _check_inflows(system: System, report: Report) -> None:
    """Report autoregressions whose inflows grow without limit: a year multiplies them by 1 or more."""
    growing = {hydro.id: _growth(hydro) for hydro in system.of(Hydro)}
    unstable = {number: growth for number, growth in growing.items() if growth >= 1}
    if unstable:
        worst = max(unstable, key=lambda number: unstable[number])
        message = (
            f"the autoregression of {len(unstable)} hydro plants is unstable, such as that of hydro {worst}: "
            f"past inflows count {unstable[worst]:.3g} times as much after all stages"
        )
        remedy = "check the coefficients; estimated ones may be too many for the history"
        file = "scenarios/inflow_ar_coefficients.parquet"
        report.warn("meaning", file, message, remedy, field="coefficient")


def _growth(hydro: Hydro) -> float:
    """By how much a stage multiplies a past inflow, on average: the spectral radius of all stages."""
    model = hydro.inflow
    product = np.eye(model.state_count)
    for psi, transition in zip(model.psi, model.transitions, strict=True):
        product = (transition.carried + np.outer(transition.share, psi)) @ product
    return float(np.abs(np.linalg.eigvals(product)).max(initial=0.0))


def _check_idle_elements(system: System, report: Report) -> None:
    """Report plants that can do nothing in any stage."""
    idle = [f"thermal {one.id}" for one in system.of(Thermal) if not _largest(one.max_mw).any()]
    idle += [
        f"hydro {one.id}"
        for one in system.of(Hydro)
        if not one.max_turbined_m3s.any() and not (one.max_storage_hm3 > one.min_storage_hm3).any()
    ]
    idle += [
        f"non-controllable source {one.id}"
        for one in system.of(NonControllableSource)
        if not one.max_generation_mw.any()
    ]
    idle += [
        f"line {one.id}"
        for one in system.of(Line)
        if not (_largest(one.direct_mw).any() or _largest(one.reverse_mw).any())
    ]
    if idle:
        message = f"no capacity in any stage: {len(idle)} in all, such as {idle[0]}"
        report.warn("meaning", "system", message, "give a capacity, or remove the element")
