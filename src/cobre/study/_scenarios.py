"""What happens on trajectories, and the openings that cuts are made of, as a case wants them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cobre.case import RESIDUALS, Case, Scenarios, ScenarioSource, chosen_windows, usable_windows
from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.noise import TRUNCATING, available, load, noise_places
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.hydrothermal import Numbers, StageNoise
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

Kind = Literal["inflow", "load", "ncs"]
KINDS: tuple[Kind, ...] = ("inflow", "load", "ncs")
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
    order = max((len(lags) for model in models for lags in model.coefficients), default=0)
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
    if source is None or all(getattr(source, kind).scheme == "in_sample" for kind in KINDS):
        return InSample()
    return FromSource(case, source)


class FromSource(Sampling):
    """Trajectories whose inflows, loads and winds may each come from somewhere else.

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

    @property
    def natural_count(self) -> int | None:
        """How many scenarios or years are given, if some are."""
        return max(map(len, self._given.values()), default=None)

    def sample(self, problem: MultistageProblem, draw: Draw) -> Sample:
        """Return the ways of the trajectories that ``draw`` asks for."""
        ways = InSample().sample(problem, draw)
        rows, numbers = np.zeros_like(ways.rows), np.zeros_like(ways.rows)
        tables: dict[int, list[Floats]] = {}
        inflows = _Inflows(self._system, draw.count)
        for step, node, here in _visits(ways):
            noise = problem.nodes[node].noise
            assert isinstance(noise, StageNoise)  # noqa: S101 - see findings
            eta = self._eta(draw, step, node, here, ways.rows[step, here])
            given = self._turns(draw, node, here)
            known = tables.setdefault(node, [])
            rows[step, here] = sum(map(len, known)) + np.arange(len(here))
            numbers[step, here] = len(noise) + draw.first + here
            known.append(noise.table_of(self._numbers(inflows, node, here, eta, given)))
        stacked = {node: np.concatenate(parts) for node, parts in tables.items()}
        return Sample(ways.nodes, rows, stacked, numbers)

    def _eta(self, draw: Draw, step: int, node: int, here: Indices, rows: Indices) -> Floats:
        """Standard normal noise of a step, trajectories by elements: openings, or fresh."""
        eta = self._openings[node][rows]
        schemes = [getattr(self._source, kind).scheme for kind in KINDS]
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
            who = noise_places(self._system)
            is_fresh = np.repeat([scheme == "out_of_sample" for scheme in schemes], [len(one) for one in who])
            eta = np.where(is_fresh, fresh[:, self._columns], eta)
        return eta

    def _turns(self, draw: Draw, node: int, here: Indices) -> dict[Kind, Floats]:
        """The given values whose turn it is in a stage, trajectories by entities."""
        before = (draw.iteration - 1) * draw.total if draw.purpose == TRAINING else 0
        turns = before + draw.first + here
        return {kind: values[turns % len(values), node] for kind, values in self._given.items()}

    def _numbers(
        self, inflows: _Inflows, node: int, here: Indices, eta: Floats, given: dict[Kind, Floats]
    ) -> Numbers:
        system, who = self._system, noise_places(self._system)
        hydros, buses = len(who.hydros), len(who.hydros) + len(who.buses)
        loads = tuple(
            np.maximum(given["load"][:, j], 0.0)[:, None] * system.of(Bus)[i].load_factors[node]
            if "load" in given
            else load(system.of(Bus)[i], node, eta[:, hydros + j])
            for j, i in enumerate(who.buses)
        )
        winds = tuple(
            (
                system.of(NonControllableSource)[i].max_generation_mw[node]
                * np.clip(given["ncs"][:, j], 0.0, 1.0)
            )[:, None]
            * system.of(NonControllableSource)[i].factors[node]
            if "ncs" in given
            else available(system.of(NonControllableSource)[i], node, eta[:, buses + j])
            for j, i in enumerate(who.sources)
        )
        return Numbers(inflows.step(node, here, eta[:, :hydros], given.get("inflow")), loads, winds)

    def findings(self, problem: MultistageProblem) -> list[str]:
        """Tell whether the problem is another case's."""
        stages = len(self._system.stages)
        made = len(problem.nodes) == stages and all(
            isinstance(node.noise, StageNoise) for node in problem.nodes
        )
        return [] if made else ["sampling: it is of a case, and the problem was not made of that case"]

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types; of given values, their digest."""
        digests = {
            kind: hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
            for kind, values in self._given.items()
        }
        schemes = {kind: getattr(self._source, kind).scheme for kind in KINDS}
        return {"type": "case", "schemes": schemes, "seed": self._seed, "given": digests}


class _Inflows:
    """Inflows along trajectories, which are known before anything is decided."""

    def __init__(self, system: System, count: int) -> None:
        models = [hydro.inflow for hydro in system.of(Hydro)]
        self._truncates = system.negative_inflows in TRUNCATING
        self._base = np.array([model.base_m3s for model in models]).reshape(len(models), -1)
        self._scale = np.array([model.scale_m3s for model in models]).reshape(len(models), -1)
        order = max((len(lags) for model in models for lags in model.coefficients), default=0)
        self._psi = np.zeros((len(system.stages), order, len(models)))
        self._past = np.zeros((count, order, len(models)))
        for hydro, model in enumerate(models):
            for stage, lags in enumerate(model.coefficients):
                self._psi[stage, : len(lags), hydro] = lags
            known = model.past_m3s[:order]
            self._past[:, : len(known), hydro] = known

    def step(self, stage: int, here: Indices, eta: Floats, given: Floats | None) -> Floats:
        """Return inflows without what lags add, trajectories by hydros: of noise, or to meet given ones."""
        past = self._past[here]
        lagged = np.zeros_like(eta)
        for lag, psi in enumerate(self._psi[stage]):
            lagged += psi * past[:, lag]
        if given is None:
            own = self._base[:, stage] + self._scale[:, stage] * eta
            own = np.maximum(own, -lagged) if self._truncates else own
        else:
            own = (np.maximum(given, 0.0) if self._truncates else given) - lagged
        self._past[here, 1:] = past[:, :-1]
        self._past[here, :1] = (own + lagged)[:, None]
        return own


def _visits(ways: Sample) -> Iterator[tuple[int, int, Indices]]:
    """Each node of each step, and the trajectories that are there."""
    for step, nodes in enumerate(ways.nodes):
        for node in np.unique(nodes[nodes >= 0]).tolist():
            yield step, node, np.flatnonzero(nodes == node)


def _columns(system: System, scenarios: Scenarios) -> list[int]:
    """Where the elements of a problem's noise are in the case's, which also has sources that do not vary."""
    who = noise_places(system)
    position = {(entity.type, entity.id): i for i, entity in enumerate(scenarios.entities)}
    return [
        *(position["inflow", system.of(Hydro)[i].id] for i in who.hydros),
        *(position["load", system.of(Bus)[i].id] for i in who.buses),
        *(position["ncs", system.of(NonControllableSource)[i].id] for i in who.sources),
    ]


def _given(case: Case, source: ScenarioSource) -> dict[Kind, Floats]:
    """By class, the values that trajectories take turns with: scenarios by stages by entities with noise."""
    system, who = case.system, noise_places(case.system)
    ids: dict[Kind, list[int]] = {
        "inflow": [system.of(Hydro)[i].id for i in who.hydros],
        "load": [system.of(Bus)[i].id for i in who.buses],
        "ncs": [system.of(NonControllableSource)[i].id for i in who.sources],
    }
    found: dict[Kind, Floats] = {}
    for kind in KINDS:
        scheme = getattr(source, kind).scheme
        if scheme == "historical":
            years = chosen_windows(dict(case.scenarios.windows), source)
            found[kind] = np.stack([window.inflows_m3s for window in years.values()])
        elif scheme == "external" and ids[kind]:
            given = case.scenarios.external[kind]
            columns = [given.entities.index(entity) for entity in ids[kind]]
            count = max(map(len, given.values.values()))
            stages = [given.values[stage.id][:, columns] for stage in system.stages]
            # A stage with fewer scenarios than another begins again with its first.
            found[kind] = np.stack([values[np.arange(count) % len(values)] for values in stages], axis=1)
    return found
