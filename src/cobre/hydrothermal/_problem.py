"""A hydrothermal system as a multistage problem: one node per stage, water and past inflows as states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.hydrothermal._frame import Affine, Frame
from cobre.hydrothermal._stage import stage_program
from cobre.lp import Noise
from cobre.lp._noise import Place
from cobre.lp._program import Floats
from cobre.sddp import EAVaR, Expectation, MultistageProblem, Node, RiskMeasure
from cobre.stochastic import available, inflow_noise, load, noise_places
from cobre.system import System


def problem_of(system: System, noise: Sequence[Floats]) -> MultistageProblem:
    """Return the problem whose realisations have the given standard normal noise.

    Args:
        system: what there is.
        noise: per stage, realisations by elements, in the order of `cobre.stochastic.noise_places`.
    """
    orders = _orders(system)
    nodes = []
    for number, stage in enumerate(system.stages):
        built = stage_program(system, number, orders)
        nodes.append(
            Node(
                str(stage.id),
                built.rows.program(),
                built.incoming,
                built.outgoing,
                noise_of(built, noise[number]),
                stage.discount,
            )
        )
    return MultistageProblem.linear(nodes, initial_state(system))


def _orders(system: System) -> dict[int, int]:
    """By hydro, how many past inflows are states."""
    return {
        hydro.id: max((len(lags) for lags in hydro.inflow.coefficients), default=0) for hydro in system.hydros
    }


def initial_state(system: System) -> dict[str, float]:
    """Return volumes and past inflows before the first stage: all states of the problem, by name."""
    orders = _orders(system)
    state = {f"storage:{hydro.id}": hydro.initial_hm3 for hydro in system.hydros}
    for hydro in system.hydros:
        for lag in range(1, orders[hydro.id] + 1):
            known = hydro.inflow.past_m3s
            state[f"inflow:{hydro.id}:{lag}"] = known[lag - 1] if lag <= len(known) else 0.0
    return state


def risk_of(system: System) -> dict[str, RiskMeasure]:
    """Return how what follows each stage is measured."""
    measures: dict[str, RiskMeasure] = {}
    for stage in system.stages:
        weight, level = stage.risk
        measures[str(stage.id)] = EAVaR(1 - weight, level) if weight > 0 and level < 1 else Expectation()
    return measures


def noise_of(built: Frame, eta: Floats) -> Noise:
    """Return the realisations of a stage's programme for standard normal noise."""
    system, stage = built.system, built.number
    who = noise_places(system)
    values: dict[Place, Floats] = {}

    def put(target: str, places: Sequence[Affine], numbers: Floats) -> None:
        for place in places:  # what runs past an absent plant is added to the inflow of another
            known = values.get((target, place.place))
            added = place.offset + place.factor * numbers
            values[target, place.place] = added if known is None else known + added

    at = 0
    for i in who.hydros:
        hydro = system.hydros[i]
        lags = hydro.inflow.past_m3s if stage == 0 and len(hydro.inflow.coefficients[0]) else None
        added = inflow_noise(hydro.inflow, stage, eta[:, at], system.negative_inflows, lags)
        put("rhs", built.inflows[hydro.id], hydro.inflow.base_m3s[stage] + added)
        at += 1
    for i in who.buses:
        bus = system.buses[i]
        loads = load(bus, stage, eta[:, at])
        for k, place in enumerate(built.loads[bus.id]):
            values["rhs", place.place] = loads[:, k]
        at += 1
    for i in who.sources:
        source = system.sources[i]
        limits = available(source, stage, eta[:, at])
        for k, place in enumerate(built.availabilities[source.id]):
            values["column_upper", place.place] = limits[:, k]
        for k, row in built.available[source.id].items():
            values["rhs", row] = limits[:, k]
        at += 1
    table = np.column_stack(list(values.values())) if values else np.empty((len(eta), 0))
    return Noise.from_table(list(values), table)
