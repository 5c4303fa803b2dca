"""A hydrothermal system as a multistage problem: one node per stage, water and past inflows as states."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.hydro.data import Hydro
from cobre.hydrothermal._noise import StageNoise
from cobre.hydrothermal._stage import stage_program
from cobre.lp import Floats
from cobre.sddp import EAVaR, Expectation, MultistageProblem, Node, RiskMeasure
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
                StageNoise.of(built, noise[number]),
                stage.discount,
            )
        )
    return MultistageProblem.linear(nodes, initial_state(system))


def _orders(system: System) -> dict[int, int]:
    """By hydro, how many past inflows are states."""
    return {
        hydro.id: max((len(lags) for lags in hydro.inflow.coefficients), default=0)
        for hydro in system.of(Hydro)
    }


def initial_state(system: System) -> dict[str, float]:
    """Return volumes and past inflows before the first stage: all states of the problem, by name."""
    orders = _orders(system)
    state = {f"storage:{hydro.id}": hydro.initial_hm3 for hydro in system.of(Hydro)}
    for hydro in system.of(Hydro):
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
