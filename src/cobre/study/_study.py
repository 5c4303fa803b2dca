"""A case as a problem that the engine solves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cobre import sddp
from cobre.case import Case, load
from cobre.case._noise import Scenarios
from cobre.hydrothermal import problem_of, risk_of
from cobre.lp._program import Floats
from cobre.sddp import MultistageProblem, Policy, Recorder, RiskMeasure, StoppingRule
from cobre.stochastic import Correlation, openings
from cobre.study._settings import selection_of, stop_of
from cobre.system import System


@dataclass(frozen=True, eq=False)
class Study:
    """A case as a multistage problem, with the settings of its ``config.json``.

    Attributes:
        case: what it was made from.
        problem: one node per stage, called by the stage's id.
        risk: how what follows each stage is measured.
        stop: when training has done enough.
        settings: the other arguments of `cobre.sddp.train` that the case decides.
    """

    case: Case
    problem: MultistageProblem
    risk: dict[str, RiskMeasure]
    stop: StoppingRule
    settings: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path, settings: Mapping[str, Any] | None = None) -> Study:
        """Read a case folder; ``settings`` take the place of those in its ``config.json``.

        Raises:
            CaseError: it cannot be used; everything that is wrong with it is listed.
        """
        return cls.of(load(folder, settings))

    @classmethod
    def of(cls, case: Case) -> Study:
        """Make a study of a case."""
        training = case.config.training
        return cls(
            case,
            problem_of(case.system, noise_of(case.system, case.scenarios)),
            risk_of(case.system),
            stop_of(training),
            {
                "trajectories": training.forward_passes,
                "seed": case.scenarios.seed,
                "cuts": training.cut_formulation or "single",
                "selection": selection_of(training.cut_selection),
            },
        )

    def train(self, **run: Any) -> sddp.TrainingResult:
        """Train; ``run`` are further arguments of `cobre.sddp.train`, workers and listeners for instance."""
        return sddp.train(self.problem, self.stop, risk=self.risk, **self.settings, **run)

    def follow(self, policy: Policy, recorder: Recorder, **run: Any) -> Floats:
        """Simulate as the case says, all of it for a recorder; return the cost of each scenario.

        ``run`` are further arguments of `cobre.sddp.follow`.
        """
        seed = self.case.scenarios.seed
        return sddp.follow(self.problem, policy, recorder, self.scenarios, seed=seed, **run)

    @property
    def scenarios(self) -> int:
        """How many scenarios the case wants to be simulated."""
        return self.case.config.simulation.num_scenarios


def noise_of(system: System, scenarios: Scenarios) -> tuple[Floats, ...]:
    """Return the standard normal noise of each stage's openings: those given, or drawn."""
    if scenarios.openings is not None:
        given, used = scenarios.openings, _used(system, scenarios)
        return tuple(np.ascontiguousarray(given[stage.id][:, used]) for stage in system.stages)
    dimension = len(scenarios.entities)
    position = {entity: i for i, entity in enumerate(scenarios.entities)}
    correlations = None
    if scenarios.correlation is not None:
        groups = scenarios.correlation.by_stage
        correlations = [
            Correlation(
                {
                    group.name: ([position[entity] for entity in group.entities], group.matrix)
                    for group in groups.get(stage.id, ())
                }
            )
            for stage in system.stages
        ]
    counts = [stage.openings for stage in system.stages]
    used = _used(system, scenarios)
    drawn = openings(scenarios.seed, range(len(counts)), counts, dimension, correlations)
    return tuple(np.ascontiguousarray(noise[:, used]) for noise in drawn)


def _used(system: System, scenarios: Scenarios) -> list[int]:
    """Return which elements of the noise do something: those of a source that never varies are there too."""
    certain = {source.id for source in system.sources if not np.any(source.std > 0)}
    return [
        i for i, entity in enumerate(scenarios.entities) if entity.type != "ncs" or entity.id not in certain
    ]
