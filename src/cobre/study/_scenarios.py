"""The noise of a case: openings of training, and scenarios along trajectories."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.case import RESIDUALS, Case, Scenarios, ScenarioSource, chosen_windows, usable_windows
from cobre.elements.hydro.data import Hydro
from cobre.elements.noise import Trajectories, random_elements
from cobre.elements.registry import collect, part
from cobre.hydrothermal import StageNoise
from cobre.lp import Floats
from cobre.sddp import Draw, InSample, MultistageProblem, Sample, Sampling
from cobre.sddp.sampling import TRAINING
from cobre.stochastic import (
    Correlation,
    openings,
    out_of_sample,
    uniforms,
)
from cobre.system import System

#: What case files call the noise of each kind with something random about it.
CLASSES: dict[str, Any] = collect("noise", "CLASS")
Indices = NDArray[np.intp]
#: What the order of years is drawn with: the last coordinate, as in `cobre.stochastic.openings`.
_YEARS = 256 + 7


def noise_of(case: Case) -> tuple[Floats, ...]:
    """Return the standard normal noise of each stage's openings: those given, or drawn."""
    system, scenarios = case.system, case.scenarios
    columns = _columns(system, scenarios)
    if scenarios.openings is not None:
        return tuple(scenarios.openings[stage.id][:, columns] for stage in system.stages)
    counts = [stage.openings for stage in system.stages]
    dimension, together = len(scenarios.entities), correlations_of(system, scenarios)
    methods = ["saa" if method == RESIDUALS else method for method in scenarios.methods]
    drawn = openings(scenarios.seed, range(len(counts)), counts, dimension, together, methods=methods)
    noise = [own[:, columns] for own in drawn]
    if RESIDUALS in scenarios.methods:
        past = _residuals(case)
        for stage, method in enumerate(scenarios.methods):
            if method == RESIDUALS:
                noise[stage] = _of_the_past(scenarios.seed, stage, noise[stage], past[:, stage])
    return tuple(noise)


def _residuals(case: Case) -> Floats:
    """The noise that would have made the inflows of each year: years by stages by hydros."""
    models = [hydro.inflow for hydro in case.system.of(Hydro)]
    order = max((model.order for model in models), default=0)
    years = usable_windows(
        chosen_windows(dict(case.scenarios.windows), case.config.training.scenario_source), order
    )
    result = np.zeros((len(years), len(case.system.stages), len(models)))
    for year, window in enumerate(years.values()):
        observed = np.concatenate([window.before_m3s[:order][::-1], window.inflows_m3s])
        for hydro, model in enumerate(models):
            for stage in np.flatnonzero(model.scale_m3s).tolist():
                left = observed[order + stage, hydro] - model.base_m3s[stage]
                for lag, psi in enumerate(model.coefficients[stage], 1):
                    left -= psi * observed[order + stage - lag, hydro]
                result[year, stage, hydro] = left / model.scale_m3s[stage]
    return result


def _of_the_past(seed: int, stage: int, noise: Floats, past: Floats) -> Floats:
    """Openings that have the inflows of different years; as many as there are years, at most."""
    order = np.argsort(uniforms(seed, stage, np.arange(len(past)), 0, _YEARS)[:, 0], kind="stable")
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


def sampling_of(case: Case, source: ScenarioSource | None) -> Sampling:
    """Return what a case's source of scenarios, for training or simulation, stands for.

    Without one, trajectories follow the openings.
    """
    if source is None or all(getattr(source, name).scheme == "in_sample" for name in CLASSES.values()):
        return InSample()
    return FromSource(case, source)


class FromSource(Sampling):
    """Trajectories whose inflows, loads and availabilities may each have a source of its own.

    - ``in_sample``: an opening of each stage, the same one for all that are sampled so.
    - ``out_of_sample``: fresh noise, a function of the seed, the iteration, the trajectory and the step.
    - ``external``: the case's scenarios, one after the other, and from the first one again.
    - ``historical``: the years of the history, likewise. Inflows are those of the year in all stages; the
      past that the first of them are compared with is the case's.

    Args:
        case: with what the source asks for.
        source: the schemes.
    """

    def __init__(self, case: Case, source: ScenarioSource) -> None:
        self._system, self._source = case.system, source
        self._seed = None if source.seed is None else abs(source.seed)
        self._openings = noise_of(case)
        self._dimension = len(case.scenarios.entities)
        self._columns = _columns(case.system, case.scenarios)
        self._together = correlations_of(case.system, case.scenarios)
        self._given = _given(case, source)
        self._elements = random_elements(case.system)

    @property
    def natural_count(self) -> int | None:
        """The number of scenarios or years that are given, if some are."""
        return max(map(len, self._given.values()), default=None)

    def sample(self, problem: MultistageProblem, draw: Draw) -> Sample:
        """Return the ways of the trajectories that ``draw`` asks for."""
        ways = InSample().sample(problem, draw)
        rows, numbers = np.zeros_like(ways.rows), np.zeros_like(ways.rows)
        tables: dict[int, list[Floats]] = {}
        walks: dict[str, Trajectories] = {
            kind: part(kind, "noise").trajectories(self._system, elements, draw.count)
            for kind, elements in self._elements.items()
        }
        for step, node, here in _visits(ways):
            noise = problem.nodes[node].noise
            assert isinstance(noise, StageNoise)  # noqa: S101 - see findings
            eta = self._eta(draw, step, node, here, ways.rows[step, here])
            given = self._turns(draw, node, here)
            known = tables.setdefault(node, [])
            rows[step, here] = sum(map(len, known)) + np.arange(len(here))
            numbers[step, here] = len(noise) + draw.first + here
            own = self._numbers(walks, node, here, eta, given)
            known.append(noise.table_of(own, len(here)))
        stacked = {node: np.concatenate(parts) for node, parts in tables.items()}
        return Sample(ways.nodes, rows, stacked, numbers)

    def _eta(self, draw: Draw, step: int, node: int, here: Indices, rows: Indices) -> Floats:
        """Standard normal noise of a step, trajectories by elements: openings, or fresh."""
        eta = self._openings[node][rows]
        schemes = [getattr(self._source, CLASSES[kind]).scheme for kind in self._elements]
        if "out_of_sample" in schemes:
            seed = draw.seed if self._seed is None else self._seed
            together = [self._together[node]]
            (fresh,) = out_of_sample(
                seed,
                draw.first + here,
                [step],
                self._dimension,
                together,
                iteration=draw.iteration,
                purpose=draw.purpose,
            )
            counts = [len(elements) for elements in self._elements.values()]
            is_fresh = np.repeat([scheme == "out_of_sample" for scheme in schemes], counts)
            eta = np.where(is_fresh, fresh[:, self._columns], eta)
        return eta

    def _turns(self, draw: Draw, node: int, here: Indices) -> dict[str, Floats]:
        """The given values whose turn it is in a stage, by kind: trajectories by elements."""
        before = (draw.iteration - 1) * draw.total if draw.purpose == TRAINING else 0
        turns = before + draw.first + here
        return {kind: values[turns % len(values), node] for kind, values in self._given.items()}

    def _numbers(
        self,
        walks: dict[str, Trajectories],
        node: int,
        here: Indices,
        eta: Floats,
        given: dict[str, Floats],
    ) -> list[Floats]:
        """The numbers of each random element, trajectories by numbers."""
        found: list[Floats] = []
        for kind, walk in walks.items():
            own, eta = np.split(eta, [len(self._elements[kind])], axis=1)
            found += walk.step(node, here, own, given.get(kind))
        return found

    def findings(self, problem: MultistageProblem) -> list[str]:
        """Return what is wrong with the problem: whether it is another case's."""
        stages = len(self._system.stages)
        made = len(problem.nodes) == stages and all(
            isinstance(node.noise, StageNoise) for node in problem.nodes
        )
        return [] if made else ["sampling: it is of a case, and the problem was not made of that case"]

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types; of given values, their digest."""
        digests = {
            CLASSES[kind]: hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
            for kind, values in self._given.items()
        }
        schemes = {name: getattr(self._source, name).scheme for name in CLASSES.values()}
        return {"type": "case", "schemes": schemes, "seed": self._seed, "given": digests}


def _visits(ways: Sample) -> Iterator[tuple[int, int, Indices]]:
    """Each node of each step, and the trajectories that are there."""
    for step, nodes in enumerate(ways.nodes):
        for node in np.unique(nodes[nodes >= 0]).tolist():
            yield step, node, np.flatnonzero(nodes == node)


def _columns(system: System, scenarios: Scenarios) -> list[int]:
    """The columns of a problem's elements in the case's noise, which also has sources that do not vary."""
    position = {(entity.type, entity.id): i for i, entity in enumerate(scenarios.entities)}
    return [
        position[CLASSES[kind], element.id]
        for kind, elements in random_elements(system).items()
        for element in elements
    ]


def _given(case: Case, source: ScenarioSource) -> dict[str, Floats]:
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
