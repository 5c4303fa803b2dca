"""What programs and notebooks call: load, validate, train, simulate, run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cobre import errors, results
from cobre.case import Case, load
from cobre.comm import choose, create_communicator, launched_rank
from cobre.errors import CaseError, Finding, InitializationFailed, InvalidProblem
from cobre.formatting import html_card, html_table
from cobre.sddp import Checkpoint, Event, Listener, Policy
from cobre.study._results import ProgressEvent, SimulationResult, TrainingResult
from cobre.study._running import Runner, RunResult, Where, output_folder
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
    """What is wrong with a case folder, and what is doubtful."""

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]

    @property
    def valid(self) -> bool:
        """Whether it can be used."""
        return not self.errors

    @property
    def layers_completed(self) -> int:
        """How many of the five layers are without errors: files, fields, references, dimensions, meaning."""
        kinds = {finding.kind for finding in self.errors}
        return next((i for i, layer in enumerate(LAYERS) if kinds & set(layer)), len(LAYERS))

    def _repr_html_(self) -> str:
        verdict = "The case can be used" if self.valid else "The case cannot be used as it stands"
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
        backend: by which workers communicate. ``"auto"``: with several workers tcp if
            ``COBRE_TCP_COORDINATOR`` is set, else shm; with one, that of the group which this process is a
            rank of, as under mpiexec, and otherwise none.
        num_workers: how many processes to start here; 1 starts none.
        threads: how many solve, on each worker.
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
    with _ranks(backend, num_workers, threads) as where:
        result = study.train(
            checkpoint=checkpoint,
            resume=resume,
            warm_start=None if warm_start is None else _policy(warm_start),
            listeners=(*listeners, *_listening(progress_callback, where)),
            **vars(where),
        )
    return TrainingResult(result)


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
    """Follow a policy on the scenarios of a case, and write the tables of it.

    Args:
        case: as for `train`.
        policy: what training gave; or its file, or the folder that a run has written.
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
    with _ranks(backend, num_workers, threads) as where:
        runner = Runner(
            study,
            output_folder(study.case, output),
            where,
            (*listeners, *_listening(progress_callback, where)),
        )
        return runner.simulate(known)


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
    study = Study.of(_loaded(case, config_overrides))
    with _ranks(backend, num_workers, threads) as where:
        listeners = (*listeners, *_listening(progress_callback, where))
        return Runner(study, output_folder(study.case, output), where, listeners).run(resume=resume)


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
def _ranks(backend: str, num_workers: int, threads: int) -> Iterator[Where]:
    """Who does the work."""
    Where(num_workers=num_workers, threads=threads).check_numbers()
    if num_workers > 1:
        yield Where(None, num_workers, _startable(backend), threads)
    elif (launched := launched_rank(backend)) is None:
        yield Where(threads=threads)
    else:
        with create_communicator(launched.backend) as comm:
            yield Where(comm=comm, threads=threads)


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


def _listening(callback: Callback | None, where: Where) -> tuple[Listener, ...]:
    if callback is None:
        return ()
    several = (where.comm is not None and where.comm.size > 1) or where.num_workers is not None
    worker = 0 if several else None

    def listen(event: Event) -> None:
        progress = ProgressEvent.of(event, worker)
        if progress is not None:
            callback(progress)

    return (listen,)
