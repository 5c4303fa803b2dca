"""The plan of a run: what the ranks will do. Everything that can be refused is refused before it exists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from cobre.case import Case
from cobre.errors import InvalidProblem, PolicyFileError
from cobre.results import LAYOUTS, LayoutName, Writer
from cobre.sddp import Checkpoint, Policy, SavedTraining, SimulationTask, TrainingTask
from cobre.study._study import Study

#: Iterations from one checkpoint to the next, if the case does not say.
CHECKPOINT_INTERVAL = 10


def output_folder(case: Case, output: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of a run's results: ``output`` in the case folder unless given."""
    return case.folder / "output" if output is None else Path(output)


def checkpoint_in(folder: Path, case: Case) -> Path:
    """Return the path of a run's checkpoint: beside the policy."""
    return folder / case.config.policy.path / "checkpoint.cobre"


@dataclass(frozen=True, eq=False)
class RunPlan:
    """A checked run of a case. It is pickled once, and sent to workers.

    Attributes:
        study: the case and its problem.
        writer: of the results.
        training: the training; None if there is none.
        simulation: the simulation; None if there is none.
        policy: the policy to simulate, if it is not trained here.
    """

    study: Study
    writer: Writer
    training: TrainingTask | None = None
    simulation: SimulationTask | None = None
    policy: Policy | None = None

    @classmethod
    def of_run(
        cls, study: Study, output: str | Path, *, resume: bool = False, layout: LayoutName = "scenarios"
    ) -> Self:
        """Plan all that a case asks for.

        Raises:
            InvalidProblem: the problem cannot be solved as it stands.
            PolicyFileError: a checkpoint or policy is missing or of another case; or there is a checkpoint of
                a run that was not finished, and it is not to be resumed.
        """
        config, plan = study.case.config, cls(study, _writer(study, output, layout))
        if not config.training.enabled:
            policy = plan._known_policy("training.enabled is false")
            return replace(plan, policy=policy, simulation=plan._simulation_of(policy))._in_whole_files()
        training = plan._training(resume or config.policy.mode == "resume")
        simulation = study.simulation(training) if config.simulation.enabled else None
        return replace(plan, training=training, simulation=simulation)._in_whole_files()

    @classmethod
    def of_simulation(
        cls, study: Study, output: str | Path, policy: Policy, *, layout: LayoutName = "scenarios"
    ) -> Self:
        """Plan the simulation of a policy."""
        writer = _writer(study, output, layout)
        return cls(study, writer, None, study.simulation_of(policy), policy)._in_whole_files()

    def _in_whole_files(self) -> Self:
        """Let the scenarios of one file be simulated by one rank."""
        if self.simulation is None:
            return self
        each = LAYOUTS[self.writer.layout].scenarios_per_file
        return replace(self, simulation=replace(self.simulation, together=each))

    def facts(self) -> dict[str, Any]:
        """Return what decides the bits of results, by the user's names and in JSON's types."""
        config = self.study.case.config.model_dump(mode="json", by_alias=True)
        return {
            **_flat(config),
            "problem": self.study.problem.fingerprint,
            **(self.training.facts() if self.training else {}),
            "simulation.scenario_source": self.simulation.method.sampling.spec() if self.simulation else None,
            "policy": self.policy.digest if self.policy else None,
            "layout": self.writer.layout,
        }

    @property
    def checkpoint_path(self) -> Path:
        """Path of the checkpoint."""
        return checkpoint_in(self.writer.folder, self.study.case)

    @property
    def keeps_files(self) -> bool:
        """True if the training goes on from a checkpoint or policy, which must not be removed."""
        return self.training is not None and self.training.start is not None

    def _training(self, resume: bool) -> TrainingTask:
        path, mode, start = self.checkpoint_path, self.study.case.config.policy.mode, None
        if resume and not path.exists():
            reason = "there is no such checkpoint to go on from; run without resuming"
            raise PolicyFileError(str(path), reason)
        if not resume:
            self._refuse_to_lose_a_run()
            start = self._existing_policy("policy.mode is 'warm_start'") if mode == "warm_start" else None
        task = self.study.training(resume=path if resume else None, warm_start=start)
        return replace(task, checkpoint=self._checkpoint())  # its folder is made when the run begins

    def _simulation_of(self, policy: Policy) -> SimulationTask | None:
        return self.study.simulation_of(policy) if self.study.case.config.simulation.enabled else None

    def _known_policy(self, reason: str) -> Policy:
        path = self._existing_policy(reason)
        policy = Policy.load(path)
        if words := policy.fits(self.study.problem):
            raise PolicyFileError(str(path), words)
        return policy

    def _existing_policy(self, reason: str) -> Path:
        path = self.writer.policy_path
        if not path.exists():
            raise PolicyFileError(str(path), f"there is no such file, and config.json needs it: {reason}")
        return path

    def _refuse_to_lose_a_run(self) -> None:
        """Refuse to overwrite the checkpoint of a run that was interrupted and could be resumed."""
        path = self.checkpoint_path
        if self.writer.training_ended or not path.exists():
            return
        saved = SavedTraining.load(path).policy
        if saved.fingerprint != self.study.problem.fingerprint:
            return  # nobody can go on with it
        reason = (
            f"it has {saved.iterations} iterations of a run that was not finished; go on with it "
            "(cobre run --resume), remove the file to begin anew, or choose another output folder"
        )
        raise PolicyFileError(str(path), reason)

    def _checkpoint(self) -> Checkpoint | None:
        asked = self.study.case.config.policy.checkpointing
        if asked.enabled is False:
            return None
        return Checkpoint(self.checkpoint_path, asked.interval_iterations or CHECKPOINT_INTERVAL)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names, as messages have them."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def _writer(study: Study, output: str | Path, layout: LayoutName) -> Writer:
    if layout not in LAYOUTS:
        raise InvalidProblem([f"layout is {layout!r}; it must be one of {', '.join(map(repr, LAYOUTS))}"])
    config = study.case.config
    return Writer(output, config.exports.compression or "zstd", config.policy.path, layout)
