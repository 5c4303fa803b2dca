"""A case as a problem that the engine solves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from cobre.case import Case, load, noise_of
from cobre.errors import InvalidProblem
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
from cobre.study._scenarios import sampling_of
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
    "depth": "policy_graph.max_horizon_length",
}


@dataclass(frozen=True, eq=False)
class Study:
    """A case as a multistage problem, with the settings of its ``config.json``.

    Attributes:
        case: what it was made from.
        problem: one node per stage, called by the stage's id.
        risk: the risk measure of what follows the root and each node: that of the following stage.
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
        training, problem = case.config.training, problem_of(case.system, noise_of(case))
        return cls(
            case,
            problem,
            risk_of(case.system, problem),
            stop_of(training),
            {
                "trajectories": training.forward_passes,
                "seed": case.scenarios.seed,
                "cuts": training.cut_formulation or "single",
                "selection": selection_of(training.cut_selection),
                "sampling": sampling_of(case, training.scenario_source),
                "depth": case.system.graph.horizon,
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
        task = TrainingTask.checked(
            self.problem,
            self.method,
            self.stop,
            checkpoint=checkpoint,
            resume=resume,
            warm_start=warm_start,
            names=NAMES,
        )
        return replace(task, keeps_states=self.case.config.exports.states)

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
        return SimulationTask(self.problem, method)

    def simulation_of(self, policy: Policy) -> SimulationTask:
        """Check the simulation of a policy as the case asks for it.

        Raises:
            PolicyFileError: the policy is of another case.
        """
        method = self._simulation_method(policy.method["cuts"])
        return SimulationTask.checked(
            self.problem,
            policy,
            method.trajectories,
            method.seed,
            sampling=method.sampling,
            depth=method.depth,
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
        work = partial(task.stream, policy, recorder)
        return execute(work, execution, listeners, partial(task.facts, policy))

    def _simulation_method(self, cuts: Literal["single", "multi"]) -> Method:
        config = self.case.config
        source = config.simulation.scenario_source or config.training.scenario_source
        sampling = sampling_of(self.case, source, simulates=True)
        seed, depth = self.case.scenarios.seed, self.case.system.graph.horizon
        return Method(self.scenarios, seed, cuts=cuts, sampling=sampling, depth=depth)

    @property
    def scenarios(self) -> int:
        """Number of scenarios to simulate."""
        return self.case.config.simulation.num_scenarios
