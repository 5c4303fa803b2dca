"""Negative inflows of models with lags: how far below 0 they can be, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cobre.case._inflow_bounds import bounds_on
from cobre.case._openings import given_values, noise_of
from cobre.case._plausibility import largest_violation_cost
from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.hydro.inflow_bounds import lag_bounds
from cobre.elements.hydro.noise import TRUNCATING
from cobre.formatting import count
from cobre.inputs.config import ScenarioSource
from cobre.inputs.findings import Report
from cobre.stochastic import MOST_NORMAL
from cobre.system import Series, System

if TYPE_CHECKING:
    from cobre.case._case import Case


def with_bounds(case: Case, report: Report) -> System:
    """Return the system of a case with the bounds of its lags; report inflows below 0 by them."""
    system = case.system
    hydros = system.of(Hydro)
    if system.negative_inflows == "none" or not any(hydro.inflow.order for hydro in hydros):
        return system
    noise, source = noise_of(case), case.config.training.scenario_source or ScenarioSource()
    given = given_values(case, source).get("hydro")
    bounded = []
    for place, hydro in enumerate(hydros):
        bounds = bounds_on(
            system.graph,
            partial(
                lag_bounds,
                truncates=system.negative_inflows in TRUNCATING,
                fresh=_most_noise(case) if source.inflow.scheme == "out_of_sample" else 0.0,
            ),
            hydro.inflow,
            [eta[:, place] for eta in noise],
            None if given is None else given[:, :, place],
        )
        bounded.append(replace(hydro, inflow=replace(hydro.inflow, bounds=bounds)))
    system = replace(system, elements={**system.elements, Hydro: tuple(bounded)})
    _check(system, report)
    return system


def _most_noise(case: Case) -> float:
    """The largest distance of fresh noise from 0: correlated, it is a sum whose squared weights sum to 1."""
    correlation = case.scenarios.correlation
    groups = [group for stage in correlation.by_stage.values() for group in stage] if correlation else []
    return MOST_NORMAL * float(np.sqrt(max((len(group.entities) for group in groups), default=1)))


class _Place(NamedTuple):
    """An inflow that its lags can make negative; the cost of water there, and what it may save."""

    shortfall_m3s: float
    hydro: int
    stage: int
    cost: float
    worth: float


def _check(system: System, report: Report) -> None:
    """Report inflows to which programmes add water that they do not lack, if it is worth its cost."""
    places = [place for place in _by_state(system) if place.cost < place.worth]
    if not places:
        return
    worst = max(places, key=lambda place: place.shortfall_m3s)
    plants = count(len({place.hydro for place in places}), "hydro plant")
    stages = count(len({place.stage for place in places}), "stage")
    cost, advice = "costs nothing", "; a method with a penalty brings them closer"
    if worst.cost:
        cost = f"costs {worst.cost:g} $/(m³/s·h) and may save {worst.worth:.6g}"
        advice = "; a penalty_cost above what water saves brings them together"
    message = (
        f"inflows with lags can become negative, of {plants} in {stages}, such as that of "
        f"hydro {worst.hydro} in stage {worst.stage}: {_down_to(worst.shortfall_m3s)}. Cuts allow "
        f"as much water in all states, which {cost}: the lower bound is valid, but may be low. "
        "A simulation adds no more than what lacks"
    )
    remedy = "compare the lower bound with simulated costs" + advice
    field = "modeling.inflow_non_negativity.method"
    report.warn("meaning", "config.json", message, remedy, field=field, value=system.negative_inflows)


def _down_to(shortfall_m3s: float) -> str:
    return f"down to {-shortfall_m3s:.4g} m³/s" if np.isfinite(shortfall_m3s) else "how far is not known"


def _by_state(system: System) -> Iterator[_Place]:
    """Yield the inflows of which only the state tells how much water they lack."""
    free, worth = system.negative_inflows == "truncation", _worth_of_water(system)
    for hydro in system.of(Hydro):
        for t, stage in enumerate(system.stages):
            if hydro.inflow.is_negative_by_state(t):
                cost, bounds = 0.0 if free else float(hydro.penalties.negative_inflow[t]), hydro.inflow.bounds
                shortfall = np.inf if bounds is None else float(bounds.shortfall_m3s[t])
                yield _Place(shortfall, hydro.id, stage.id, cost, float(worth[hydro.id][t]))


def _worth_of_water(system: System) -> dict[int, Series]:
    """By plant and stage, the most that a m³/s saves in an hour: deficit by all turbines, or a violation."""
    hydros = {hydro.id: hydro for hydro in system.of(Hydro)}
    last = {bus.id: bus.deficit[-1].cost_per_mwh for bus in system.of(Bus)}
    found = {}
    for hydro in hydros.values():
        path = [hydro]
        while path[-1].downstream is not None:
            path.append(hydros[path[-1].downstream])
        saved = np.sum([last[plant.bus] * _most_power(plant) for plant in path], axis=0)
        found[hydro.id] = np.max([saved, *(largest_violation_cost(plant) for plant in path)], axis=0)
    return found


def _most_power(hydro: Hydro) -> Series:
    """By stage, the most MW that a m³/s makes."""
    steepest = [0.0 if planes is None else planes.mw_per_m3s_turbined.max() for planes in hydro.planes]
    return np.maximum(hydro.mw_per_m3s, steepest)
