"""From a case to a trained policy: the only path that there is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cobre import sddp
from cobre.case import Case, load
from cobre.case._config import CutSelection, Training
from cobre.case._noise import Scenarios
from cobre.hydrothermal import problem_of, risk_of
from cobre.lp._program import Floats
from cobre.sddp import MultistageProblem, RiskMeasure, Selection, StoppingRule
from cobre.stochastic import Correlation, openings
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
    def load(cls, folder: str | Path) -> Study:
        """Read a case folder.

        Raises:
            CaseError: it cannot be used; everything that is wrong with it is listed.
        """
        return cls.of(load(folder))

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


def noise_of(system: System, scenarios: Scenarios) -> tuple[Floats, ...]:
    """Return the standard normal noise of each stage's openings: those given, or drawn."""
    if scenarios.openings is not None:
        return tuple(np.ascontiguousarray(scenarios.openings[stage.id]) for stage in system.stages)
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
    return openings(scenarios.seed, range(len(counts)), counts, dimension, correlations)


def stop_of(training: Training) -> StoppingRule:
    """Return the case's stopping rules as one."""
    rules: list[StoppingRule] = []
    for rule in training.stopping_rules:
        match rule.type:
            case "iteration_limit":
                rules.append(sddp.IterationLimit(rule.limit))
            case "time_limit":
                rules.append(sddp.TimeLimit(rule.seconds))
            case "bound_stalling":
                rules.append(sddp.BoundStalling(rule.iterations, rule.tolerance))
            case "simulation":
                rules.append(
                    sddp.SimulationStopping(
                        rule.replications, rule.period, rule.bound_window, rule.distance_tol, rule.bound_tol
                    )
                )
    return sddp.AnyOf(tuple(rules)) if training.stopping_mode == "any" else sddp.AllOf(tuple(rules))


def selection_of(given: CutSelection) -> Selection | None:
    """Return the case's cut selection."""
    if not given.enabled:
        return None
    every = given.check_frequency or 5
    if given.method == "domination":
        threshold = given.domination_epsilon
        return sddp.Domination(every, 1e-9 if threshold is None else threshold)
    if given.method == "lml1":
        return sddp.LimitedMemoryLevel1(every, given.memory_window or 20)
    return sddp.Level1(every)
