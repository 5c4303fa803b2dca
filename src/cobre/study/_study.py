"""A case as a problem that the engine solves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobre import sddp
from cobre.case import Case, load
from cobre.errors import CaseError, Finding
from cobre.hydrothermal import problem_of, risk_of
from cobre.lp import Floats
from cobre.sddp import Method, MultistageProblem, Policy, Recorder, RiskMeasure, StoppingRule
from cobre.study._scenarios import noise_of, sampling_of
from cobre.study._settings import selection_of, stop_of


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
        """Make a study of a case.

        Raises:
            CaseError: inflows with a memory were to be truncated, which would depend on the state.
        """
        training = case.config.training
        try:
            problem = problem_of(case.system, noise_of(case))
        except NotImplementedError as error:
            field, method = "modeling.inflow_non_negativity.method", case.system.negative_inflows
            finding = Finding("unsupported", "config.json", "", field, method, str(error))
            raise CaseError([finding], str(case.folder), case.warnings) from error
        return cls(
            case,
            problem,
            risk_of(case.system),
            stop_of(training),
            {
                "trajectories": training.forward_passes,
                "seed": case.scenarios.seed,
                "cuts": training.cut_formulation or "single",
                "selection": selection_of(training.cut_selection),
                "sampling": sampling_of(case, training.scenario_source),
            },
        )

    @property
    def method(self) -> Method:
        """All that decides the bits of a training, beside the problem."""
        return Method(risk=self.risk, **self.settings)

    def train(self, **run: Any) -> sddp.TrainingResult:
        """Train; ``run`` are further arguments of `cobre.sddp.train`, workers and listeners for instance."""
        return sddp.train(self.problem, self.stop, risk=self.risk, **self.settings, **run)

    def follow(self, policy: Policy, recorder: Recorder, **run: Any) -> Floats:
        """Simulate as the case says, all of it for a recorder; return the cost of each scenario.

        ``run`` are further arguments of `cobre.sddp.follow`.
        """
        config, seed = self.case.config, self.case.scenarios.seed
        source = config.simulation.scenario_source or config.training.scenario_source
        run = {"sampling": sampling_of(self.case, source), **run}
        return sddp.follow(self.problem, policy, recorder, self.scenarios, seed=seed, **run)

    @property
    def scenarios(self) -> int:
        """How many scenarios the case wants to be simulated."""
        return self.case.config.simulation.num_scenarios
