"""A run of a case on its ranks: train, save the policy, simulate, write the tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from cobre import results
from cobre.case import stochastic_files
from cobre.errors import CollectiveFailed, InvalidCommunicator, OutputError
from cobre.hydrothermal import SimulationTables
from cobre.results import ScenarioWriter
from cobre.sddp import (
    CheckpointWritten,
    Event,
    ExecutionOptions,
    IterationFinished,
    Listener,
    Policy,
    RankContext,
    SavedTraining,
    SimulationFinished,
    Visit,
    execute,
)
from cobre.study._plan import RunPlan
from cobre.study._results import RunResult, SimulationResult, TrainingResult, training_log
from cobre.study._study import Study


def run_plan(plan: RunPlan, execution: ExecutionOptions, listeners: Sequence[Listener] = ()) -> RunResult:
    """Run a plan on the ranks that the options describe. Workers are started once.

    Raises:
        OutputError: something cannot be written.
        SolveError: a linear programme has no solution.
        WorkerError: a worker failed.
    """
    execution.check()
    try:
        return execute(_RunTask(plan), execution, listeners, plan.facts)
    except BaseException as error:
        if execution.num_workers is not None:
            _note_lost_worker(plan, error)
        if (
            isinstance(error, KeyboardInterrupt)
            and plan.training is not None
            and plan.checkpoint_path.exists()
        ):
            error.add_note(
                f"What was finished is in {plan.checkpoint_path}: go on with run(..., resume=True)."
            )
        raise


@dataclass(frozen=True, eq=False)
class _RunTask:
    """A run that can be sent to workers."""

    plan: RunPlan

    def __call__(self, context: RankContext) -> RunResult:
        return Runner(self.plan, context).run()


class Runner:
    """One rank of a run. Every rank makes one and runs it; rank 0 writes what is of the whole run.

    Args:
        plan: of the run.
        context: of this rank.
    """

    def __init__(self, plan: RunPlan, context: RankContext) -> None:
        self._plan, self._context = plan, context
        self._study, self._writer = plan.study, plan.writer
        self._log: list[IterationFinished] = []

    def run(self) -> RunResult:
        """Train, then simulate, as far as the plan has it. A collective."""
        with self._noting_failure():
            trained = self._train()
            policy = self._plan.policy if trained is None else trained.policy
            simulated = None if policy is None else self._simulate(policy)
        if trained is not None and self._context.parent is not None:
            # The process that started this one can read the policy when it needs it.
            source = self._writer.policy_path
            trained = TrainingResult(replace(trained.engine, source=source, visited={}))
        return RunResult(self._writer.folder, trained, simulated)

    def _train(self) -> TrainingResult | None:
        task = self._plan.training
        if task is None:
            return None
        context = self._context
        if context.is_root:
            self._begin_training()
            context = replace(context, listeners=(*context.listeners, self._write_tables))
        context.await_root()
        trained = TrainingResult(task(context, self._log))
        if context.is_root:
            trained.policy.save(self._writer.policy_path)
            if task.keeps_states:
                self._writer.states(trained.policy.states, trained.engine.visited)
            converged = any(rule.converged for rule in trained.engine.stopped_by)
            self._writer.finish(training_log(self._log), trained.termination_reason, converged=converged)
        return trained

    def _begin_training(self) -> None:
        self._writer.begin(self._description())
        if self._study.case.config.exports.stochastic:
            self._writer.stochastic(stochastic_files(self._study.case))
        if not self._plan.keeps_files:
            for stale in (self._plan.checkpoint_path, self._writer.policy_path):
                stale.unlink(missing_ok=True)

    def _simulate(self, policy: Policy) -> SimulationResult | None:
        study, writer, task = self._study, self._writer, self._plan.simulation
        if task is None:
            return None
        writes = study.case.config.exports.simulation
        if self._context.is_root and writes:
            writer.begin_simulation(study.scenarios, self._topology, self._description())
        self._context.await_root()  # the policy is on disk, and the tables of an earlier run are gone
        begun, ended = time.monotonic(), list[SimulationFinished]()
        context = self._context
        if context.is_root:
            context = replace(context, listeners=(*context.listeners, partial(_keep_end, ended)))
        if writes:
            with writer.scenarios() as scenarios:
                totals = task.stream(policy, TableRecorder(scenarios, study), context)
            context.comm.barrier()  # all ranks have written theirs
        else:
            totals = task.stream(policy, _forget, context)
        if context.is_root and writes:
            writer.finish_simulation(ended[-1].ranks)
        return SimulationResult(writer.folder, totals, time.monotonic() - begun)

    def _write_tables(self, event: Event) -> None:
        """Write the tables of training whenever there is a checkpoint that they belong to."""
        if isinstance(event, CheckpointWritten):
            self._writer.training(training_log(self._log[: event.iteration]))

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """Write why the run has ended, if it ends badly."""
        try:
            yield
        except BaseException as error:
            if self._context.is_root:
                self._note_failure(error)
            raise

    def _note_failure(self, error: BaseException) -> None:
        log = training_log(self._log)
        # The parent knows which worker was lost and why, and ends the others by a signal.
        known_there = isinstance(error, CollectiveFailed | InvalidCommunicator | KeyboardInterrupt)
        if self._context.parent is None or not known_there:
            self._writer.fail(_reason(error, log.iterations), log)
        with suppress(OutputError):  # a full disk is what has failed, perhaps
            if log.iterations:
                self._writer.training(log)

    @property
    def _topology(self) -> results.RunTopology:
        """Ranks and hosts, as manifests have them."""
        known = self._context.comm.topology
        mpi = known.mpi
        return results.RunTopology(
            known.backend,
            known.size,
            self._context.threads,
            tuple(known.hosts),
            mpi_library=mpi.library if mpi else None,
            mpi_standard=f"MPI {mpi.standard}" if mpi else None,
            thread_level=mpi.thread_level.capitalize() if mpi else None,
        )

    def _description(self) -> results.RunDescription:
        case = self._study.case
        return results.RunDescription(
            case.system,
            self._study.problem.states,
            case.scenarios.seed,
            case.config.model_dump(mode="json", by_alias=True),
            self._topology,
            case.folder,
            case.stochastic.provenance,
        )


class TableRecorder:
    """Writes the tables of the scenarios that a rank simulates.

    Args:
        writer: of files.
        study: that is simulated.
    """

    def __init__(self, writer: ScenarioWriter, study: Study) -> None:
        self._writer = writer
        self._tables = SimulationTables(study.case.system, study.problem)

    def __call__(self, visits: Sequence[Visit]) -> None:
        """Write them."""
        self._writer.write(self._tables.tables(visits))


def _forget(visits: Sequence[Visit]) -> None:
    """Keep nothing: only the costs are wanted."""


def _keep_end(ended: list[SimulationFinished], event: Event) -> None:
    """Keep the event that says what solving took."""
    if isinstance(event, SimulationFinished):
        ended.append(event)


def _note_lost_worker(plan: RunPlan, error: BaseException) -> None:
    """Write why the run has ended, if no rank has: rank 0 is gone, or does not know which rank was lost."""
    saved = None
    if plan.training is not None and plan.checkpoint_path.exists():
        with suppress(Exception):  # the reason matters more than how far it came
            saved = training_log(SavedTraining.load(plan.checkpoint_path).history.log)
    plan.writer.fail(_reason(error, saved.iterations if saved else 0), saved)


def _reason(error: BaseException, iterations: int) -> str:
    if not isinstance(error, KeyboardInterrupt):
        return f"{type(error).__name__}: {error}"
    if iterations == 0:
        return "interrupted"
    return f"interrupted after {iterations} iterations of training; it can be resumed"
