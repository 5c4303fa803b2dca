"""Standard normal noise of a case's openings, and the values that trajectories are given instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cobre.case._scenarios import Scenarios
from cobre.case._windows import RESIDUALS, chosen_windows, usable_windows
from cobre.elements import collect
from cobre.elements.hydro.data import Hydro, Inflow
from cobre.elements.noise import Floats, random_elements
from cobre.inputs.config import ScenarioSource
from cobre.stochastic import Correlation, openings, uniforms
from cobre.system import System

if TYPE_CHECKING:
    from cobre.case._case import Case

#: What case files call the noise of each kind with something random about it.
CLASSES: dict[str, Any] = collect("noise", "CLASS")
#: What the order of years is drawn with: the last coordinate, as in `cobre.stochastic.openings`.
_YEARS = 256 + 7


def noise_of(case: Case) -> tuple[Floats, ...]:
    """Return the standard normal noise of each stage's openings: those given, or drawn."""
    columns = noise_columns(case.system, case.scenarios)
    return tuple(noise[:, columns] for noise in openings_of(case))


def openings_of(case: Case) -> tuple[Floats, ...]:
    """Return the openings of each stage, a column for each entity with noise: those given, or drawn."""
    system, scenarios = case.system, case.scenarios
    if scenarios.openings is not None:
        return tuple(scenarios.openings[stage.id] for stage in system.stages)
    counts = [stage.openings for stage in system.stages]
    dimension, together = len(scenarios.entities), correlations_of(system, scenarios)
    methods = ["saa" if method == RESIDUALS else method for method in scenarios.methods]
    numbers = system.noise_numbers
    drawn = list(openings(scenarios.seed, numbers, counts, dimension, together, methods=methods))
    if RESIDUALS in scenarios.methods:
        past = _residuals(case)
        for stage, method in enumerate(scenarios.methods):
            if method == RESIDUALS:
                drawn[stage] = _of_the_past(scenarios.seed, numbers[stage], drawn[stage], past[:, stage])
    return tuple(drawn)


def _residuals(case: Case) -> Floats:
    """The noise that would have made the inflows of each year: years by stages by hydros."""
    models = [hydro.inflow for hydro in case.system.of(Hydro)]
    order = max((model.order for model in models), default=0)
    years = usable_windows(
        chosen_windows(dict(case.scenarios.windows), case.config.training.scenario_source), order
    )
    result = np.zeros((len(years), len(case.system.stages), len(models)))
    for year, window in enumerate(years.values()):
        for hydro, model in enumerate(models):
            past = model.initial_m3s.copy()
            past[: model.order] = window.before_m3s[: model.order, hydro]
            result[year, :, hydro] = _noise_behind(model, past, window.inflows_m3s[:, hydro])
    return result


def _noise_behind(model: Inflow, past: Floats, inflows: Floats) -> Floats:
    """The noise that makes a model's inflows those of each stage, after a past; 0 where it has none."""
    noise = np.zeros(len(inflows))
    for stage, inflow in enumerate(inflows):
        if model.scale_m3s[stage] > 0:
            left = inflow - model.base_m3s[stage]
            for psi, lag in zip(model.coefficients[stage], past, strict=False):
                left -= psi * lag
            noise[stage] = left / model.scale_m3s[stage]
        transition = model.transitions[stage]
        past = transition.carried @ past + transition.share * inflow
    return noise


def _of_the_past(seed: int, number: int, noise: Floats, past: Floats) -> Floats:
    """Openings that have the inflows of different years; as many as there are years, at most."""
    order = np.argsort(uniforms(seed, number, np.arange(len(past)), 0, _YEARS)[:, 0], kind="stable")
    result = noise[: len(past)].copy()
    result[:, : past.shape[1]] = past[order[: len(result)]]
    return result


def correlations_of(system: System, scenarios: Scenarios) -> list[Correlation | None]:
    """Return how the noise of each stage goes together; stages with the same groups share it."""
    if scenarios.correlation is None:
        return [None] * len(system.stages)
    position = {entity: i for i, entity in enumerate(scenarios.entities)}
    made: dict[tuple[int, ...], Correlation] = {}
    result: list[Correlation | None] = []
    for stage in system.stages:
        groups = scenarios.correlation.by_stage.get(stage.id, ())
        key = tuple(id(group.matrix) for group in groups)
        if key not in made:
            made[key] = Correlation(
                {group.name: ([position[one] for one in group.entities], group.matrix) for group in groups}
            )
        result.append(made[key])
    return result


def noise_columns(system: System, scenarios: Scenarios) -> list[int]:
    """The columns of a problem's elements in the case's noise, which also has sources that do not vary."""
    position = {(entity.type, entity.id): i for i, entity in enumerate(scenarios.entities)}
    return [
        position[CLASSES[kind], element.id]
        for kind, elements in random_elements(system).items()
        for element in elements
    ]


def given_values(case: Case, source: ScenarioSource) -> dict[str, Floats]:
    """By kind, the values that trajectories take turns with: scenarios by stages by elements with noise."""
    found: dict[str, Floats] = {}
    for kind, elements in random_elements(case.system).items():
        scheme = getattr(source, CLASSES[kind]).scheme
        if scheme == "historical":
            years = chosen_windows(dict(case.scenarios.windows), source)
            found[kind] = np.stack([window.inflows_m3s for window in years.values()])
        elif scheme == "external" and elements:
            given = case.scenarios.external[CLASSES[kind]]
            columns = [given.entities.index(element.id) for element in elements]
            count = max(map(len, given.values.values()))
            stages = [given.values[stage.id][:, columns] for stage in case.system.stages]
            # A stage with fewer scenarios than another begins again with its first.
            found[kind] = np.stack([values[np.arange(count) % len(values)] for values in stages], axis=1)
    return found
