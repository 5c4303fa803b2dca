"""Functions for programs and notebooks: load, validate, train, simulate, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cobre import errors, results
from cobre.case import Case, load
from cobre.comm import choose, create_communicator, launched_rank
from cobre.errors import CaseError, Finding, InitializationFailed, InvalidProblem
from cobre.formatting import html_card, html_table
from cobre.sddp import Checkpoint, Event, ExecutionOptions, Listener, Policy
from cobre.study._plan import RunPlan, output_folder
from cobre.study._results import ProgressEvent, RunResult, SimulationResult, TrainingResult
from cobre.study._running import run_plan
from cobre.study._study import Study

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
    """Errors and warnings about a case folder."""

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]

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


def validate(path: StrPath) -> ValidationResult:
    """Check a case folder without solving anything.

    Raises:
        IOError: there is no such folder.
    """
    try:
        return ValidationResult((), _loaded(path, None).warnings)
    except CaseError as error:
        return ValidationResult(error.findings, error.warnings)


def train(  # noqa: PLR0913  most of them are for special occasions
    case: Case | StrPath,
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: Callback | None = None,
    backend: str = "auto",
    num_workers: int = 1,
    *,
    threads: int = 1,
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
        progress_callback: called after each iteration, in this process.
        backend: communication backend of the workers. ``"auto"``: with several workers tcp if
            ``COBRE_TCP_COORDINATOR`` is set, else shm; with one, that of the group which this process is a
            rank of, as under mpiexec, and otherwise none.
        num_workers: worker processes to start; 1 runs in this process.
        threads: solver threads of each worker.
        checkpoint: where, and how often, to save the run.
        resume: a checkpoint to go on from, with any number of workers.
        warm_start: a policy, its file, or a folder of results, whose cuts to begin with.
        listeners: called with each of the engine's events, in this process.

    Raises:
        CaseError: the case cannot be used, or not with these settings; all that is wrong is listed.
        SolveError: a linear programme has no solution.
        PolicyFileError: a checkpoint cannot be used or written.
        WorkerError: a worker failed; its own error is the cause.
        BackendError: workers cannot be started so.
    """
    study = Study.of(_loaded(case, config_overrides))
    mode = study.case.config.policy.mode
    if mode != "fresh" and resume is None and warm_start is None:
        words = (
            f"policy.mode is {mode!r}: give resume or warm_start, or call cobre.run, which knows the folder"
        )
        raise InvalidProblem([words])
    with _resolved(ExecutionOptions(num_workers, backend, threads)) as execution:
        execution.check()
        start = None if warm_start is None else _policy(warm_start)
        saving = checkpoint if isinstance(checkpoint, Checkpoint | None) else Path(checkpoint)
        going_on = None if resume is None else Path(resume)
        task = study.training(checkpoint=saving, resume=going_on, warm_start=start)
        return TrainingResult(
            task.run(execution, (*listeners, *_progress_listeners(progress_callback, execution)))
        )


def simulate(  # noqa: PLR0913, PLR0917
    case: Case | StrPath,
    policy: Policy | TrainingResult | StrPath,
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: Callback | None = None,
    backend: str = "auto",
    num_workers: int = 1,
    *,
    threads: int = 1,
    output: StrPath | None = None,
    listeners: Sequence[Listener] = (),
) -> SimulationResult:
    """Simulate a policy on the scenarios of a case, and write the tables.

    Args:
        case: as for `train`.
        policy: the result of `train`, a policy, its file, or the folder that a run has written.
        config_overrides: as for `train`: ``{"simulation": {"num_scenarios": 500}}``.
        progress_callback: called now and then, in this process.
        backend: as for `train`.
        num_workers: as for `train`.
        threads: as for `train`.
        output: the folder to write to; ``output`` in the case folder unless given.
        listeners: as for `train`.

    Raises:
        CaseError: the case cannot be used, or not with these settings; all that is wrong is listed.
        PolicyFileError: the policy cannot be read, or is of another case.
        OutputError: the tables cannot be written.
        WorkerError: a worker failed; its own error is the cause.
    """
    study = Study.of(_loaded(case, config_overrides))
    known = _policy(policy)
    with _resolved(ExecutionOptions(num_workers, backend, threads)) as execution:
        plan = RunPlan.of_simulation(study, output_folder(study.case, output), known)
        done = run_plan(plan, execution, (*listeners, *_progress_listeners(progress_callback, execution)))
    assert done.simulation is not None  # noqa: S101  the plan has one
    return done.simulation


def run(  # noqa: PLR0913
    case: Case | StrPath,
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: Callback | None = None,
    backend: str = "auto",
    num_workers: int = 1,
    *,
    threads: int = 1,
    output: StrPath | None = None,
    resume: bool = False,
    listeners: Sequence[Listener] = (),
) -> RunResult:
    """Do all that a case asks for: train, simulate, and write everything to a folder.

    Args:
        case: as for `train`.
        config_overrides: as for `train`.
        progress_callback: as for `train`, and then as for `simulate`.
        backend: as for `train`.
        num_workers: as for `train`.
        threads: as for `train`.
        output: the folder to write to; ``output`` in the case folder unless given.
        resume: go on from the folder's last checkpoint.
        listeners: as for `train`.

    Raises:
        CaseError: the case cannot be used, or not with these settings; all that is wrong is listed.
        SolveError: a linear programme has no solution.
        IOError: a file cannot be read or written.
        WorkerError: a worker failed; its own error is the cause.
        BackendError: workers cannot be started so.
    """
    return run_case(
        _loaded(case, config_overrides),
        ExecutionOptions(num_workers, backend, threads),
        progress_callback,
        output=output,
        resume=resume,
        listeners=listeners,
    )


def run_case(  # noqa: PLR0913
    case: Case,
    execution: ExecutionOptions,
    progress_callback: Callback | None = None,
    *,
    output: StrPath | None = None,
    resume: bool = False,
    listeners: Sequence[Listener] = (),
) -> RunResult:
    """Do what `cobre.run` does, with all execution options. One worker: this process, or its group."""
    study = Study.of(case)
    with _resolved(execution) as resolved:
        plan = RunPlan.of_run(study, output_folder(case, output), resume=resume)
        return run_plan(plan, resolved, (*listeners, *_progress_listeners(progress_callback, resolved)))


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


@contextmanager
def _resolved(asked: ExecutionOptions) -> Iterator[ExecutionOptions]:
    """Execution options for the engine: several workers, the ranks of this process's group, or neither."""
    asked.check_numbers()
    if asked.num_workers is not None and asked.num_workers > 1:
        yield replace(asked, backend=_startable(asked.backend))
    elif (launched := launched_rank(asked.backend)) is None:
        yield replace(asked, num_workers=None)
    else:
        with create_communicator(launched.backend) as comm:
            yield replace(asked, num_workers=None, comm=comm)


def _startable(backend: str) -> str:
    """The backend of workers that are started here."""
    if backend == "auto" and choose(os.environ).backend == "mpi":
        reason = (
            "this process was started as a rank by MPI already, and cannot start workers of its own; leave "
            "num_workers (--workers) at 1 to use the ranks that there are"
        )
        raise InitializationFailed("mpi", reason, kind="IncompatibleSettings")
    if backend != "auto":
        return backend
    return "tcp" if "COBRE_TCP_COORDINATOR" in os.environ else "shm"


def _progress_listeners(callback: Callback | None, execution: ExecutionOptions) -> tuple[Listener, ...]:
    if callback is None:
        return ()
    comm = execution.comm
    several = execution.num_workers is not None or (comm is not None and comm.size > 1)
    worker = 0 if several else None

    def listen(event: Event) -> None:
        progress = ProgressEvent.of(event, worker)
        if progress is not None:
            callback(progress)

    return (listen,)
