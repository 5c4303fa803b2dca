"""Functions for programs and notebooks: load, validate, train, simulate, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cobre import errors, results
from cobre.case import Case, load
from cobre.comm import TcpConfig, backend_to_start, create_communicator, names_group
from cobre.errors import CaseError, Finding, InvalidProblem
from cobre.formatting import html_card, html_table
from cobre.lp import NumberRange
from cobre.results import LayoutName
from cobre.sddp import Checkpoint, Event, ExecutionOptions, Listener, Policy, TrainingTask
from cobre.study._numerics import findings_on, ranges_of
from cobre.study._plan import RunPlan, output_folder
from cobre.study._results import ProgressEvent, RunResult, SimulationResult, TrainingResult
from cobre.study._running import run_plan
from cobre.study._study import Study
from cobre.study._validation import refusals

StrPath = str | os.PathLike[str]
Callback = Callable[[ProgressEvent], None]

#: The layers of validation, and the kinds of findings of each.
LAYERS = (
    ("missing_file", "unknown_file", "unreadable"),
    ("syntax", "schema"),
    ("reference", "duplicate"),
    ("dimension",),
    ("meaning", "unsupported"),
)


class CaseLoader:
    """Reads case folders."""

    @staticmethod
    def load(path: StrPath) -> Case:
        """Read a case folder.

        Raises:
            CaseError: it cannot be used; all that is wrong with it is listed.
            IOError: there is no such folder.
        """
        return _loaded(path, None)


@dataclass(frozen=True)
class ValidationResult:
    """Errors and warnings about a case folder.

    Attributes:
        errors: what must be changed before the case can be used.
        warnings: what should be looked at.
        numerics: ranges of the numbers in its linear programmes, if they were asked for.
    """

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    numerics: tuple[NumberRange, ...] = ()

    @property
    def valid(self) -> bool:
        """True if there are no errors."""
        return not self.errors

    @property
    def layers_completed(self) -> int:
        """Number of layers without errors, of five: files, fields, references, dimensions, meaning."""
        kinds = {finding.kind for finding in self.errors}
        return next((i for i, layer in enumerate(LAYERS) if kinds & set(layer)), len(LAYERS))

    def _repr_html_(self) -> str:
        verdict = "The case is valid" if self.valid else "The case is not valid"
        found = [("error", finding) for finding in self.errors]
        found += [("warning", finding) for finding in self.warnings]
        if not found:
            return html_card(verdict, {"errors": 0, "warnings": 0})
        rows = [(kind, one.file, one.entity, one.field, one.message, one.suggestion) for kind, one in found]
        return html_table(verdict, ("", "file", "entity", "field", "what is wrong", "what to do"), rows)


def validate(path: StrPath, *, output: StrPath | None = None, numerics: bool = False) -> ValidationResult:
    """Check a case folder without solving anything: all that `run` would refuse before it does.

    Args:
        path: the case folder.
        output: the folder of results, in which a policy or checkpoint is that the case goes on from;
            ``output`` in the case folder unless given.
        numerics: also build the linear programmes of a valid case, and report the ranges of their numbers,
            with a warning where they trouble the solver.

    Raises:
        IOError: there is no such folder.
    """
    try:
        case = _loaded(path, None)
    except CaseError as error:
        return ValidationResult(error.findings, error.warnings)
    refused, unless_resumed = refusals(case, output_folder(case, output))
    ranges = ranges_of(Study.of(case).problem) if numerics and not refused else ()
    return ValidationResult(tuple(refused), (*case.warnings, *unless_resumed, *findings_on(ranges)), ranges)


def train(  # noqa: PLR0913  most of them are for special occasions
    case: Case | StrPath,
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: Callback | None = None,
    backend: str = "auto",
    num_workers: int | None = None,
    *,
    threads: int | None = None,
    coordinator: str | None = None,
    rank: int | None = None,
    size: int | None = None,
    checkpoint: Checkpoint | StrPath | None = None,
    resume: StrPath | None = None,
    warm_start: Policy | TrainingResult | StrPath | None = None,
    listeners: Sequence[Listener] = (),
) -> TrainingResult:
    """Train a policy for a case. The result has the same bits whatever the backend, workers and threads.

    Args:
        case: as `CaseLoader.load` returns it, or its folder.
        config_overrides: settings in place of those in ``config.json``, by the same names:
            ``{"training": {"forward_passes": 20}}``.
        progress_callback: called after each iteration with an event of each worker, in rank order, in this
            process; of a group of ranks, in that of rank 0 alone.
        backend: communication backend. ``"auto"``: that of ``COBRE_COMM_BACKEND``; else the one of the group
            which this process was started in, as by mpiexec; else, of workers started here, shm.
        num_workers: worker processes to start. None: the ranks of the group which this process was started
            in, else this process alone; 1: likewise, whatever the backend.
        threads: solver threads of each worker; by default as `set_threads` or the scheduler says, else the
            CPUs of the machine, shared out among its workers.
        coordinator: host of rank 0 of a tcp group on several machines, as ``COBRE_TCP_COORDINATOR``; every
            rank makes the same call, with its own ``rank``. Rank 0 needs none.
        rank: number of this process in that group, as ``COBRE_TCP_RANK``.
        size: number of its ranks, as ``COBRE_TCP_SIZE``. Port, secret and so on come from the environment.
        checkpoint: where, and how often, to save the run.
        resume: a checkpoint to go on from, with any number of workers.
        warm_start: a policy, its file, or a folder of results, whose cuts to begin with.
        listeners: called with each of the engine's events, in this process.

    Raises:
        CaseError: the case cannot be used, or not with these settings; all that is wrong is listed.
        SolveError: a linear programme has no solution.
        PolicyFileError: a checkpoint cannot be used or written.
        WorkerError: a worker failed; its own error is the cause.
        BackendError: workers cannot be started so, or this process cannot join its group.
    """
    group = _group(coordinator, rank, size)

    def prepared() -> TrainingTask:
        study = Study.of(_loaded(case, config_overrides))
        mode = study.case.config.policy.mode
        if mode != "fresh" and resume is None and warm_start is None:
            remedy = "give resume or warm_start, or call cobre.run, which knows the folder"
            raise InvalidProblem([f"policy.mode is {mode!r}: {remedy}"])
        return study.training(
            checkpoint=checkpoint if isinstance(checkpoint, Checkpoint | None) else Path(checkpoint),
            resume=None if resume is None else Path(resume),
            warm_start=None if warm_start is None else _policy(warm_start),
        )

    with joined(ExecutionOptions(num_workers, backend, threads, group=group)) as execution:
        task = execution.together(prepared)
        return TrainingResult(
            task.run(execution, (*listeners, *_progress_listeners(progress_callback, execution)))
        )


def simulate(  # noqa: PLR0913, PLR0917
    case: Case | StrPath,
    policy: Policy | TrainingResult | StrPath,
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: Callback | None = None,
    backend: str = "auto",
    num_workers: int | None = None,
    *,
    threads: int | None = None,
    coordinator: str | None = None,
    rank: int | None = None,
    size: int | None = None,
    output: StrPath | None = None,
    layout: LayoutName = "scenarios",
    listeners: Sequence[Listener] = (),
) -> SimulationResult:
    """Simulate a policy on the scenarios of a case, and write the tables.

    Args:
        case: as for `train`.
        policy: the result of `train`, a policy, its file, or the folder that a run has written.
        config_overrides: as for `train`: ``{"simulation": {"num_scenarios": 500}}``.
        progress_callback: called now and then, where that of `train` is, with the scenarios done by all.
        backend: as for `train`.
        num_workers: as for `train`.
        threads: as for `train`.
        coordinator: as for `train`.
        rank: as for `train`.
        size: as for `train`.
        output: the folder to write to; ``output`` in the case folder unless given.
        layout: of the simulation's tables: ``"scenarios"``, a file per scenario and table as Cobre's readers
            want them, or ``"compact"``, a file per 16 scenarios.
        listeners: as for `train`.

    Raises:
        CaseError: the case cannot be used, or not with these settings; all that is wrong is listed.
        PolicyFileError: the policy cannot be read, or is of another case.
        OutputError: the tables cannot be written.
        WorkerError: a worker failed; its own error is the cause.
    """
    group = _group(coordinator, rank, size)
    with joined(ExecutionOptions(num_workers, backend, threads, group=group)) as execution:
        loaded = execution.together(lambda: _loaded(case, config_overrides))
        listening = (*listeners, *_progress_listeners(progress_callback, execution))
        with _writing_to(output_folder(loaded, output), execution) as folder:
            plan = execution.together(
                lambda: RunPlan.of_simulation(Study.of(loaded), folder, _policy(policy), layout=layout)
            )
            done = run_plan(plan, execution, listening)
    assert done.simulation is not None  # noqa: S101  the plan has one
    return done.simulation


def run(  # noqa: PLR0913
    case: Case | StrPath,
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: Callback | None = None,
    backend: str = "auto",
    num_workers: int | None = None,
    *,
    threads: int | None = None,
    coordinator: str | None = None,
    rank: int | None = None,
    size: int | None = None,
    output: StrPath | None = None,
    layout: LayoutName = "scenarios",
    resume: bool = False,
    listeners: Sequence[Listener] = (),
) -> RunResult:
    """Do all that a case asks for: train, simulate, and write everything to a folder.

    A case with neither is checked, and nothing is written.

    Args:
        case: as for `train`.
        config_overrides: as for `train`.
        progress_callback: as for `train`, and then as for `simulate`.
        backend: as for `train`.
        num_workers: as for `train`.
        threads: as for `train`.
        coordinator: as for `train`.
        rank: as for `train`.
        size: as for `train`.
        output: the folder to write to; ``output`` in the case folder unless given.
        layout: as for `simulate`.
        resume: go on from the folder's last checkpoint.
        listeners: as for `train`.

    Raises:
        CaseError: the case cannot be used, or not with these settings; all that is wrong is listed.
        SolveError: a linear programme has no solution.
        IOError: a file cannot be read or written.
        WorkerError: a worker failed; its own error is the cause.
        BackendError: workers cannot be started so, or this process cannot join its group.
    """
    group = _group(coordinator, rank, size)
    with joined(ExecutionOptions(num_workers, backend, threads, group=group)) as execution:
        loaded = execution.together(lambda: _loaded(case, config_overrides))
        listeners = (*listeners, *_progress_listeners(progress_callback, execution))
        return run_case(loaded, execution, output=output, layout=layout, resume=resume, listeners=listeners)


def run_case(  # noqa: PLR0913  those of `run`
    case: Case,
    execution: ExecutionOptions,
    *,
    output: StrPath | None = None,
    layout: LayoutName = "scenarios",
    resume: bool = False,
    listeners: Sequence[Listener] = (),
) -> RunResult:
    """Do what `cobre.run` does, on ranks that are `joined`. Rank 0's output folder is that of all."""
    if not (case.config.training.enabled or case.config.simulation.enabled):
        execution.together(lambda: Study.of(case).training())  # which checks all that a training would refuse
        return RunResult(output_folder(case, output), None, None)
    with _writing_to(output_folder(case, output), execution) as folder:
        plan = execution.together(
            lambda: RunPlan.of_run(Study.of(case), folder, resume=resume, layout=layout)
        )
        return run_plan(plan, execution, listeners)


def _loaded(case: Case | StrPath, settings: Mapping[str, Any] | None) -> Case:
    if settings is not None and not isinstance(settings, Mapping):
        raise InvalidProblem([f"config_overrides is {settings!r}; give a dictionary, as config.json has it"])
    if isinstance(case, Case):
        return case.with_settings(settings or {})
    if not Path(case).is_dir():
        raise errors.IOError(os.fspath(case), "there is no such folder; name the one that holds config.json")
    return load(case, settings)


def _policy(given: Policy | TrainingResult | StrPath) -> Policy:
    if isinstance(given, Policy):
        return given
    if isinstance(given, TrainingResult):
        return given.policy
    return Policy.load(results.read(given).policy_path if Path(given).is_dir() else os.fspath(given))


def _group(coordinator: str | None, rank: int | None, size: int | None) -> TcpConfig | None:
    """The tcp group that arguments describe; what they leave out comes from the environment."""
    given = {
        "COBRE_TCP_COORDINATOR": coordinator,
        "COBRE_TCP_RANK": rank,
        "COBRE_TCP_SIZE": size,
    }
    variables = {name: str(value) for name, value in given.items() if value is not None}
    return TcpConfig.from_env({**os.environ, **variables}) if variables else None


@contextmanager
def joined(asked: ExecutionOptions) -> Iterator[ExecutionOptions]:
    """Execution options for the engine: workers to start, or the ranks of the group of this process.

    Raises:
        BackendError: workers cannot be started so, or this process cannot join its group.
    """
    asked.check_numbers()
    if asked.num_workers is not None and asked.num_workers > 1:
        asked.check()
        yield asked
        return
    kind = asked.group or (None if asked.backend == "auto" else asked.backend)
    one_worker = asked.num_workers == 1 and asked.group is None and kind != "local"
    if one_worker and not names_group(os.environ):
        backend_to_start(asked.backend)  # refuses a name that is none
        kind = "local"  # one worker is this process, whatever the backend of several would be
    with create_communicator(kind) as comm:
        yield replace(asked, num_workers=None, group=None, comm=comm)


@contextmanager
def _writing_to(own: Path, execution: ExecutionOptions) -> Iterator[Path]:
    """Rank 0's output folder on all ranks, for this run alone: rank 0 holds its lock. A collective."""
    shared = Path(execution.from_root(str(own.absolute())))
    is_root = execution.comm is None or execution.comm.rank == 0
    folder = own if is_root else shared
    with ExitStack() as held:
        lock = results.exclusive_output(folder) if is_root else nullcontext()
        execution.together(lambda: held.enter_context(lock))
        yield folder


def _progress_listeners(callback: Callback | None, execution: ExecutionOptions) -> tuple[Listener, ...]:
    if callback is None:
        return ()
    comm = execution.comm
    several = execution.num_workers is not None or (comm is not None and comm.size > 1)

    def listen(event: Event) -> None:
        for progress in ProgressEvent.all_of(event, several=several):
            callback(progress)

    return (listen,)
