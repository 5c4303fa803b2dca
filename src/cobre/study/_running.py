"""A whole run of a case: train, simulate, and write what comes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cobre import results
from cobre.case import Case
from cobre.comm import BackendCommunicator
from cobre.comm.launch import require_startable
from cobre.errors import InvalidProblem, OutputError, PolicyFileError
from cobre.formatting import html_card
from cobre.hydrothermal import SimulationTables
from cobre.results import TrainingLog, Writer
from cobre.sddp import (
    BoundStalling,
    Checkpoint,
    CheckpointWritten,
    Event,
    IterationFinished,
    Listener,
    Policy,
    SimulationStopping,
    Visit,
    require_the_same,
    saved_log,
)
from cobre.study._pictures import Choice, drawn
from cobre.study._results import SimulationResult, TrainingResult, training_log
from cobre.study._study import Study

if TYPE_CHECKING:
    from altair import LayerChart

#: The rules that end a training because there is no more to be had, and not because of a limit.
CONVERGED = (BoundStalling, SimulationStopping)
#: Where a case says what the engine calls otherwise.
NAMES = {
    "trajectories": "training.forward_passes",
    "seed": "training.tree_seed",
    "cuts": "training.cut_formulation",
    "selection": "training.cut_selection",
    "sampling": "training.scenario_source",
    "risk": "risk_measure",
}
#: After every how many iterations a run is saved, if the case does not say.
EVERY = 10


def output_folder(case: Case, output: str | os.PathLike[str] | None = None) -> Path:
    """Where a run of a case goes: a folder in that of the case, unless it is said where."""
    return case.folder / "output" if output is None else Path(output)


def checkpoint_in(folder: Path, case: Case) -> Path:
    """The checkpoint of a run of a case that goes to a folder: beside the policy."""
    return folder / case.config.policy.path / "checkpoint.cobre"


@dataclass(frozen=True)
class Where:
    """Who does the work: the ranks of a communicator, processes to be started, or this process alone."""

    comm: BackendCommunicator | None = None
    num_workers: int | None = None
    backend: str = "shm"
    threads: int = 1

    def check(self) -> None:
        """Refuse what cannot work, before anything is written.

        Raises:
            InvalidProblem: a number makes no sense.
            BackendError: ranks cannot be started so.
        """
        self.check_numbers()
        if self.num_workers is not None:
            require_startable(self.backend, self.num_workers)

    def check_numbers(self) -> None:
        """Refuse numbers that make no sense.

        Raises:
            InvalidProblem: one does not.
        """
        for name in ("num_workers", "threads"):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or number < 1):
                raise InvalidProblem([f"{name} is {number!r}; it must be a whole number, at least 1"])

    @property
    def speaks(self) -> bool:
        """Whether this process writes what is of the whole run."""
        return self.comm is None or self.comm.rank == 0

    @property
    def topology(self) -> results.Topology:
        """As manifests have it."""
        if self.comm is not None:
            known = self.comm.topology
            mpi = known.mpi
            return results.Topology(
                known.backend,
                known.size,
                self.threads,
                tuple(known.hosts),
                mpi_library=mpi.library if mpi else None,
                mpi_standard=f"MPI {mpi.standard}" if mpi else None,
                thread_level=mpi.thread_level.capitalize() if mpi else None,
            )
        if self.num_workers is not None:
            return results.Topology(self.backend, self.num_workers, self.threads)
        return results.Topology(threads=self.threads)


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run of a case left behind.

    Attributes:
        output_directory: where it is; `cobre.results.read` reads it.
        training: how training ended; None if the case has a policy already.
        simulation: what following the policy cost; None if the case wants none.
    """

    output_directory: Path
    training: TrainingResult | None
    simulation: SimulationResult | None

    def report(self, path: str | Path | None = None, *, title: str | None = None) -> Path:
        """Write a page about the run: one file, which any browser opens without a network.

        Args:
            path: where; ``report.html`` in the output folder unless given.
            title: above it; the name of the case unless given.

        Raises:
            ResultsError: the folder is no result any more.
            OutputError: the page cannot be written.
            MissingExtra: what draws is not installed: ``pip install 'cobre-parallel[report]'``.
        """
        from cobre.report import write  # noqa: PLC0415  it imports what only some have installed

        return write(self.output_directory, path, title=title)

    def plot(self, name: str = "convergence", **look: Choice) -> LayerChart:
        """Draw any figure of it: see `cobre.report.draw`.

        Args:
            name: of the figure.
            look: as for `cobre.report.draw`: ``hydro``, ``bus``, ``stage``, ``theme``, ``width``, ``height``.

        Raises:
            InvalidChoice: nothing is called so.
            ResultsError: the folder has not what the figure shows.
            MissingExtra: ``pip install 'cobre-parallel[report]'`` is what it takes.
        """
        return drawn(self.output_directory, name, look)

    def _repr_html_(self) -> str:
        parts = [part._repr_html_() for part in (self.training, self.simulation) if part is not None]
        return "".join(parts) or html_card("Run", {"written to": self.output_directory})


@dataclass(frozen=True, eq=False)
class TableRecorder:
    """Writes the tables of the scenarios that a rank simulates."""

    writer: Writer
    study: Study

    @cached_property
    def _outcomes(self) -> SimulationTables:
        return SimulationTables(self.study.case.system, self.study.problem)

    def __call__(self, visits: Sequence[Visit]) -> None:
        """Write them."""
        self.writer.scenarios(self._outcomes.tables(visits))

    def __getstate__(self) -> dict[str, object]:
        return {"writer": self.writer, "study": self.study}  # what is made of these is made again there


class Runner:
    """Runs a study and writes to a folder. Every rank makes one and calls the same methods.

    Args:
        study: what to run.
        output: the folder.
        where: who does the work.
        listeners: called with each event.
    """

    def __init__(
        self, study: Study, output: str | Path, where: Where, listeners: Sequence[Listener] = ()
    ) -> None:
        config = study.case.config
        self._study, self._where, self._listeners = study, where, tuple(listeners)
        self._writer = Writer(output, config.exports.compression or "zstd", config.policy.path)
        self.folder = self._writer.folder
        self.checkpoint_path = checkpoint_in(self.folder, study.case)
        self._log = TrainingLog()

    def run(self, *, resume: bool = False) -> RunResult:
        """Do all that the case asks for. What can be refused is refused before anything is written.

        Args:
            resume: go on from the last checkpoint in the folder instead of beginning anew.

        Raises:
            PolicyFileError: there is no checkpoint to go on from, or it belongs to another case; or there is
                one of a run that was not finished, and it is not to be resumed.
            OutputError: something cannot be written.
            SolveError: a linear programme has no solution.
            WorkerError: a worker failed.
        """
        config = self._study.case.config
        self._where.check()
        self._study.problem.check()
        resume = resume or config.policy.mode == "resume"
        start = self._policy_to_begin_with(resume)
        self._meet()  # nobody changes anything while another may still refuse it
        with self._noting_failure():
            trained = self._train(resume, start) if config.training.enabled else None
        policy = start if trained is None else trained.policy
        simulated = self.simulate(policy) if config.simulation.enabled and policy else None
        return RunResult(self.folder, trained, simulated)

    def simulate(self, policy: Policy) -> SimulationResult:
        """Follow a policy, and write the tables of it."""
        self._where.check()
        with self._noting_failure():
            return self._simulate(policy)

    def _simulate(self, policy: Policy) -> SimulationResult:
        study, writer, write = self._study, self._writer, self._study.case.config.exports.simulation
        if self._where.speaks and write:
            writer.begin_simulation(study.scenarios, self._where.topology, self._described())
        self._meet()
        begun = time.monotonic()
        recorder = TableRecorder(writer, study) if write else _forget
        totals = study.follow(policy, recorder, listeners=self._listeners, **vars(self._where))
        if self._where.speaks and write:
            writer.finish_simulation()
        return SimulationResult(self.folder, totals, time.monotonic() - begun)

    def _train(self, resume: bool, start: Policy | None) -> TrainingResult:
        if self._where.speaks:
            self._writer.begin(self._described())
            if not resume and start is None:
                for stale in (self.checkpoint_path, self._writer.policy_path):
                    stale.unlink(missing_ok=True)
        self._meet()
        self._log = training_log(saved_log(self.checkpoint_path) if resume else ())
        result = self._study.train(
            checkpoint=self._checkpoint(),
            resume=self.checkpoint_path if resume else None,
            warm_start=start,
            listeners=(*self._listeners, self._keep),
            **vars(self._where),
        )
        trained = TrainingResult(result)
        if self._where.speaks:
            result.policy.save(self._writer.policy_path)
            converged = any(isinstance(rule, CONVERGED) for rule in result.stopped_by)
            self._writer.finish(training_log(result.log), trained.termination_reason, converged=converged)
        return trained

    def _policy_to_begin_with(self, resume: bool) -> Policy | None:
        """The policy that is built upon, or simulated; None if training begins anew or is resumed."""
        config = self._study.case.config
        if not config.training.enabled:
            return self._known_policy("training.enabled is false")
        if resume:
            self._require_checkpoint()
            return None
        self._refuse_to_lose_a_run()
        if config.policy.mode == "warm_start":
            return self._known_policy("policy.mode is 'warm_start'")
        return None

    def _known_policy(self, reason: str) -> Policy:
        path = self._writer.policy_path
        if not path.exists():
            raise PolicyFileError(str(path), f"there is no such file, and config.json needs it: {reason}")
        policy = Policy.load(path)
        if words := policy.fits(self._study.problem):
            raise PolicyFileError(str(path), words)
        return policy

    def _require_checkpoint(self) -> None:
        if not self.checkpoint_path.exists():
            reason = "there is no such checkpoint to go on from; run without resuming"
            raise PolicyFileError(str(self.checkpoint_path), reason)
        saved = Policy.load(self.checkpoint_path)
        require_the_same(self.checkpoint_path, saved, self._study.problem, self._study.method, NAMES)

    def _refuse_to_lose_a_run(self) -> None:
        """A run that was interrupted can be gone on with; who begins anew should know."""
        path = self.checkpoint_path
        if self._writer.training_ended or not path.exists():
            return
        saved = Policy.load(path)
        if saved.fingerprint != self._study.problem.fingerprint:
            return  # nobody can go on with it
        count = saved.iterations
        reason = (
            f"it has {count} iterations of a run that was not finished; go on with it (cobre run --resume), "
            "remove the file to begin anew, or choose another output folder"
        )
        raise PolicyFileError(str(path), reason)

    def _meet(self) -> None:
        """Wait until rank 0 has made the folders and removed what was there before."""
        if self._where.comm is not None:
            self._where.comm.barrier()

    def _checkpoint(self) -> Checkpoint | None:
        asked = self._study.case.config.policy.checkpointing
        if asked.enabled is False:
            return None
        return Checkpoint(self.checkpoint_path, asked.interval_iterations or EVERY)

    def _keep(self, event: Event) -> None:
        """Write the tables of training whenever there is a checkpoint that they belong to."""
        if isinstance(event, IterationFinished):
            self._log.add(event)
        if isinstance(event, CheckpointWritten):
            self._writer.training(self._log)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """Write down why what is under way has ended, if it ends badly."""
        try:
            yield
        except BaseException as error:
            if self._where.speaks:
                self._note_failure(error)
            raise

    def _note_failure(self, error: BaseException) -> None:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, KeyboardInterrupt):
            done = self._log.iterations
            reason = (
                f"interrupted after {done} iterations of training; it can be resumed"
                if done
                else "interrupted"
            )
        self._writer.fail(reason, self._log)
        with suppress(OutputError):  # a full disk is what has failed, perhaps
            if self._log.iterations:
                self._writer.training(self._log)

    def _described(self) -> results.Run:
        case = self._study.case
        return results.Run(
            case.system,
            self._study.problem.states,
            case.scenarios.seed,
            case.config.model_dump(mode="json", by_alias=True),
            self._where.topology,
            case.folder,
        )


def _forget(visits: Sequence[Visit]) -> None:
    """Keep nothing: only the costs are wanted."""
