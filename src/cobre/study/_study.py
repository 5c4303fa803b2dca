"""A case as a problem that the engine solves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from cobre.case import Case, load
from cobre.errors import CaseError, Finding, InvalidProblem
from cobre.hydrothermal import problem_of, risk_of
from cobre.lp import Floats
from cobre.sddp import (
    Checkpoint,
    ExecutionOptions,
    Listener,
    Method,
    MultistageProblem,
    Policy,
    Recorder,
    RiskMeasure,
    SimulationTask,
    StoppingRule,
    TrainedPolicy,
    TrainingTask,
    execute,
)
from cobre.study._scenarios import noise_of, sampling_of
from cobre.study._settings import selection_of, stop_of

ALONE = ExecutionOptions()
#: Names of a case for parts of the engine's method.
NAMES = {
    "trajectories": "training.forward_passes",
    "seed": "training.tree_seed",
    "cuts": "training.cut_formulation",
    "selection": "training.cut_selection",
    "sampling": "training.scenario_source",
    "risk": "risk_measure",
}


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

    def training(
        self,
        *,
        checkpoint: Checkpoint | str | Path | None = None,
        resume: str | Path | None = None,
        warm_start: Policy | str | Path | None = None,
    ) -> TrainingTask:
        """Check the training of the case; the arguments are those of `cobre.sddp.train`."""
        return TrainingTask.checked(
            self.problem,
            self.method,
            self.stop,
            checkpoint=checkpoint,
            resume=resume,
            warm_start=warm_start,
            names=NAMES,
        )

    def train(
        self, execution: ExecutionOptions = ALONE, *, listeners: Sequence[Listener] | Listener = ()
    ) -> TrainedPolicy:
        """Train a policy for the case."""
        return self.training().run(execution, listeners)

    def simulation(self, training: TrainingTask) -> SimulationTask:
        """Check the simulation of the policies that a training of the case gives."""
        method = self._simulation_method(training.method.cuts)
        if found := tuple(method.findings(self.problem)):
            raise InvalidProblem(found)
        return SimulationTask(self.problem, training.value_bounds, method)

    def simulation_of(self, policy: Policy) -> SimulationTask:
        """Check the simulation of a policy as the case asks for it.

        Raises:
            PolicyFileError: the policy is of another case.
        """
        method = self._simulation_method(policy.method["cuts"])
        return SimulationTask.checked(
            self.problem, policy, method.trajectories, method.seed, sampling=method.sampling
        )

    def simulate_streaming(
        self,
        policy: Policy,
        recorder: Recorder,
        execution: ExecutionOptions = ALONE,
        *,
        listeners: Sequence[Listener] | Listener = (),
    ) -> Floats:
        """Simulate a policy as the case asks for it, for a recorder; return the cost of each scenario."""
        task = self.simulation_of(policy)
        return execute(partial(task.stream, policy, recorder), execution, listeners)

    def _simulation_method(self, cuts: Literal["single", "multi"]) -> Method:
        config = self.case.config
        source = config.simulation.scenario_source or config.training.scenario_source
        sampling = sampling_of(self.case, source)
        return Method(self.scenarios, self.case.scenarios.seed, cuts=cuts, sampling=sampling)

    @property
    def scenarios(self) -> int:
        """Number of scenarios to simulate."""
        return self.case.config.simulation.num_scenarios
