"""The noise of a case: openings of training, and scenarios along trajectories."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.case import (
    CLASSES,
    Case,
    ScenarioSource,
    correlations_of,
    given_values,
    noise_columns,
    noise_of,
)
from cobre.elements.hydro.data import Hydro
from cobre.elements.noise import Trajectories, random_elements
from cobre.elements.registry import part
from cobre.hydrothermal import StageNoise
from cobre.lp import Floats
from cobre.sddp import Draw, InSample, MultistageProblem, Sample, Sampling
from cobre.sddp.sampling import TRAINING
from cobre.stochastic import out_of_sample, uniforms
from cobre.system import System

Indices = NDArray[np.intp]
#: The purpose of draws among given scenarios, plus that of the run: the last coordinate of random numbers.
_CHOICE = 8


def sampling_of(case: Case, source: ScenarioSource | None, *, simulates: bool = False) -> Sampling:
    """Return what a case's source of scenarios, for training or simulation, stands for.

    Without one, trajectories follow the openings. In a simulation they may not be those of the problem
    itself, which are relaxed where only a trajectory knows how much water an inflow lacks.
    """
    source = source or ScenarioSource()
    if not _in_sample(source) or (simulates and _relaxes_inflows(case.system)):
        return FromSource(case, source)
    return InSample()


def _in_sample(source: ScenarioSource) -> bool:
    return all(getattr(source, name).scheme == "in_sample" for name in CLASSES.values())


def _relaxes_inflows(system: System) -> bool:
    """True if realisations may add more water to an inflow than it lacks: only trajectories know its lags."""
    return system.negative_inflows != "none" and any(
        hydro.inflow.is_negative_by_state(stage)
        for hydro in system.of(Hydro)
        for stage in range(len(system.stages))
    )


class FromSource(Sampling):
    """Trajectories whose inflows, loads and availabilities may each have a source of its own.

    - ``in_sample``: an opening of each stage, the same one for all that are sampled so.
    - ``out_of_sample``: fresh noise, a function of the seed, the iteration, the trajectory and the step.
    - ``external``: a scenario of the case, the same one for all that are sampled so: drawn with
      replacement, or one after the other, and from the first one again. A trajectory that comes back to an
      earlier stage has another scenario from there on: the next one, or one that is drawn.
    - ``historical``: a year of the history, likewise. Inflows are those of the year in all stages; the
      past that the first of them are compared with is the case's.

    Args:
        case: with what the source asks for.
        source: the schemes.
    """

    def __init__(self, case: Case, source: ScenarioSource) -> None:
        self._system, self._source = case.system, source
        self._seed = None if source.seed is None else abs(source.seed)
        self._openings, self._noise_numbers = noise_of(case), case.system.noise_numbers
        self._dimension = len(case.scenarios.entities)
        self._columns = noise_columns(case.system, case.scenarios)
        self._together = correlations_of(case.system, case.scenarios)
        self._given = given_values(case, source)
        self._elements = random_elements(case.system)

    @property
    def natural_count(self) -> int | None:
        """The number of scenarios or years that are given, if some are and take turns."""
        takes_turns = self._source.selection_mode == "sequential"
        return max(map(len, self._given.values()), default=None) if takes_turns else None

    def sample(self, problem: MultistageProblem, draw: Draw) -> Sample:
        """Return the ways of the trajectories that ``draw`` asks for."""
        ways, in_sample = InSample().sample(problem, draw), _in_sample(self._source)
        rows, numbers = np.zeros_like(ways.rows), np.zeros_like(ways.rows)
        tables: dict[int, list[Floats]] = {}
        walks: dict[str, Trajectories] = {
            kind: part(kind, "noise").trajectories(self._system, elements, draw.count)
            for kind, elements in self._elements.items()
        }
        cycles, last = np.zeros((2, draw.count), np.int64)
        for step, node, here in _visits(ways):
            if step:
                cycles[here] += node <= last[here]
            last[here] = node
            noise = problem.nodes[node].noise
            assert isinstance(noise, StageNoise)  # noqa: S101 - see findings
            eta = self._eta(draw, step, node, here, ways.rows[step, here])
            given = self._chosen(draw, node, here, cycles[here])
            known = tables.setdefault(node, [])
            rows[step, here] = sum(map(len, known)) + np.arange(len(here))
            numbers[step, here] = ways.rows[step, here] if in_sample else len(noise) + draw.first + here
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
                [step - node + self._noise_numbers[node]],
                self._dimension,
                together,
                iteration=draw.iteration,
                purpose=draw.purpose,
            )
            counts = [len(elements) for elements in self._elements.values()]
            is_fresh = np.repeat([scheme == "out_of_sample" for scheme in schemes], counts)
            eta = np.where(is_fresh, fresh[:, self._columns], eta)
        return eta

    def _chosen(self, draw: Draw, node: int, here: Indices, cycles: Indices) -> dict[str, Floats]:
        """The given values of a stage, by kind: trajectories by elements.

        ``cycles`` is how often each trajectory has come back to an earlier stage.
        """
        trajectories = draw.first + here
        if self._source.selection_mode == "sequential":
            before = (draw.iteration - 1) * draw.total if draw.purpose == TRAINING else 0
            turns = before + trajectories + cycles
            return {kind: values[turns % len(values), node] for kind, values in self._given.items()}
        seed = draw.seed if self._seed is None else self._seed
        u = uniforms(seed, draw.iteration, trajectories, cycles, _CHOICE + draw.purpose)[:, 0]
        found = {}
        for kind, values in self._given.items():
            number = np.minimum((u * len(values)).astype(np.int64), len(values) - 1)
            found[kind] = values[number, node]
        return found

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
        return {
            "type": "case",
            "schemes": schemes,
            "seed": self._seed,
            "selection": self._source.selection_mode,
            "given": digests,
        }


def _visits(ways: Sample) -> Iterator[tuple[int, int, Indices]]:
    """Each node of each step, and the trajectories that are there."""
    for step, nodes in enumerate(ways.nodes):
        for node in np.unique(nodes[nodes >= 0]).tolist():
            yield step, node, np.flatnonzero(nodes == node)
