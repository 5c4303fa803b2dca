"""The tree of all errors that cobre raises.

```text
CobreError
├── CommError                  collectives and regions
│   ├── CollectiveFailed       a collective could not finish on this rank
│   ├── InvalidBufferSize      lengths are inconsistent; nothing was sent
│   ├── InvalidRoot            no such rank
│   ├── InvalidCommunicator    closed, or unusable after a failure
│   └── AllocationFailed       no memory for a region
├── BackendError               choosing and starting a backend
│   ├── BackendNotAvailable    known, but it cannot run here
│   ├── InvalidBackend         no backend has that name
│   ├── InitializationFailed   configured, but it could not start
│   └── MissingConfiguration   a setting is missing or malformed
├── WorkerError                a worker process failed
├── MissingExtra               optional dependencies are not installed
├── ValidationError            invalid input
│   ├── InvalidProblem         invalid multistage problem; lists all findings
│   ├── CaseError              invalid case folder; lists all findings
│   └── InvalidChoice          unknown name of a plant, bus, stage or figure; lists similar names
├── SolverError                numerical failure
│   ├── SolveError             a linear programme has no solution, or the solver found none
│   └── BoundError             a cut or a bound violates a known bound
└── IOError                    a file or folder cannot be read or written
    ├── PolicyFileError        a policy file is damaged, or belongs to another problem
    ├── OutputError            results cannot be written
    └── ResultsError           results are missing, incomplete or damaged
```

Each error has words that say what happened and what to do next, and for programs the four fields of a
structured error: ``kind``, ``message``, ``context`` and ``suggestion``. All of them
survive pickling, because they travel between processes. An argument of the wrong type (a list where an array
is needed, a read-only array) raises Python's own ``TypeError`` or ``ValueError``.
"""

import signal as signals
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

__all__ = [
    "AllocationFailed",
    "BackendError",
    "BackendNotAvailable",
    "BoundError",
    "CaseError",
    "CobreError",
    "CollectiveFailed",
    "CommError",
    "ConfigurationProblem",
    "Finding",
    "IOError",
    "InitializationFailed",
    "InvalidBackend",
    "InvalidBufferSize",
    "InvalidChoice",
    "InvalidCommunicator",
    "InvalidProblem",
    "InvalidRoot",
    "MissingConfiguration",
    "MissingExtra",
    "OutputError",
    "PolicyFileError",
    "ResultsError",
    "SolveError",
    "SolverError",
    "ValidationError",
    "WorkerError",
]


#: Names that the registry of kinds gives to fields of errors, where they differ, by kind.
CONTEXT_NAMES = {
    "CheckpointFailed": {"path": "checkpoint_path", "reason": "detail"},
    "IncompatibleSettings": {
        "requested": "requested_value",
        "available": "available_backends",
        "source": "setting",
    },
    "InvalidEnum": {"what": "field", "given": "value", "known": "allowed_values"},
    "MissingFile": {"path": "file", "reason": "detail"},
    "MpiError": {"mpi_error_code": "error_code"},
    "OutputCorrupted": {"path": "file", "reason": "detail"},
    "SolverFailure": {"status": "solver_status", "node": "stage", "realization": "opening"},
}

#: Kinds of findings in that registry.
FINDING_KINDS = {
    "missing_file": "MissingFile",
    "unknown_file": "SchemaViolation",
    "unreadable": "ParseError",
    "syntax": "ParseError",
    "schema": "SchemaViolation",
    "reference": "MissingReference",
    "duplicate": "DuplicateId",
    "dimension": "CoverageMismatch",
    "meaning": "PhysicalConstraint",
    "unsupported": "IncompatibleSettings",
}


class CobreError(Exception):
    """Base class of all errors of this package."""

    _KIND: ClassVar[str] = "MpiError"
    #: Between what happened and what to do, in the words of the whole error.
    _JOINT: ClassVar[str] = "; "

    #: True if rank 0 of the group has the same error, or one that includes it, and reports it.
    reported_by_root: bool = False

    @property
    def kind(self) -> str:
        """Kind of error, of the registry that all implementations of Cobre share."""
        return self._KIND

    @property
    def message(self) -> str:
        """Description of what happened, in words."""
        return self._what()

    @property
    def context(self) -> dict[str, Any]:
        """Place and cause: the fields, named as the registry names them, and the ``"class"``."""
        names = CONTEXT_NAMES.get(self.kind, {})
        fields = {
            names.get(name, name): value
            for name, value in vars(self).items()
            if name != "reported_by_root" and not name.startswith("_")
        }
        return {"class": type(self).__name__, **fields}

    @property
    def suggestion(self) -> str | None:
        """The remedy; None if the message says it, or nothing is known."""
        return self._remedy() or None

    def record(self) -> dict[str, Any]:
        """Return the four fields."""
        return {
            "kind": self.kind,
            "message": self.message,
            "context": self.context,
            "suggestion": self.suggestion,
        }

    def __str__(self) -> str:
        what, remedy = self._what(), self._remedy()
        return f"{what}{self._JOINT}{remedy}" if remedy else what

    def _what(self) -> str:
        return super().__str__()

    def _remedy(self) -> str:
        return ""


class CommError(CobreError):
    """Failure of a collective or a shared region."""


class CollectiveFailed(CommError):
    """A collective could not finish on this rank.

    After a peer died, stayed silent or called a different collective, the communicator is unusable, and every
    later call raises `InvalidCommunicator`. The one exception is a call refused because another thread was
    inside a collective: it never began, and the other thread's call continues.
    """

    def __init__(self, operation: str, message: str, mpi_error_code: int = 0) -> None:
        super().__init__(operation, message, mpi_error_code)  # args are what pickle keeps
        self.operation = operation
        self.mpi_error_code = mpi_error_code

    def _what(self) -> str:
        return str(self.args[1])

    def __str__(self) -> str:
        code = f" (MPI error {self.mpi_error_code})" if self.mpi_error_code else ""
        return f"{self.operation}: {self.message}{code}"


class InvalidBufferSize(CommError):
    """Inconsistent buffer lengths. Nothing was sent, and the communicator stays usable.

    ``expected`` and ``actual`` count elements, or entries for ``counts`` and ``displs``.
    """

    def __init__(self, operation: str, expected: int, actual: int, detail: str = "") -> None:
        super().__init__(operation, expected, actual, detail)
        self.operation = operation
        self.expected = expected
        self.actual = actual
        self.detail = detail

    def _what(self) -> str:
        detail = f"{self.detail}: " if self.detail else ""
        return f"{self.operation}: {detail}expected {self.expected}, got {self.actual}"


class InvalidRoot(CommError):
    """``root`` is not a rank of this communicator. Nothing was sent."""

    def __init__(self, root: int, size: int) -> None:
        super().__init__(root, size)
        self.root = root
        self.size = size

    def _what(self) -> str:
        return f"broadcast: root {self.root} is not a rank"

    def _remedy(self) -> str:
        return f"this communicator has ranks 0 to {self.size - 1}"


class InvalidCommunicator(CommError):
    """The communicator or region is unusable: it was closed, or a collective failed."""

    def __init__(self, message: str = "the communicator is no longer usable") -> None:
        super().__init__(message)

    def _what(self) -> str:
        return str(self.args[0])


class AllocationFailed(CommError):
    """Not enough memory for a region."""

    def __init__(self, requested_bytes: int, message: str) -> None:
        super().__init__(requested_bytes, message)
        self.requested_bytes = requested_bytes

    def _what(self) -> str:
        return str(self.args[1])

    def __str__(self) -> str:
        return f"cannot allocate a region of {self.requested_bytes:,} bytes: {self.message}"


class BackendError(CobreError):
    """No communicator could be created."""

    _KIND = "IncompatibleSettings"


class BackendNotAvailable(BackendError):
    """The backend exists but cannot run here. It is never replaced by another one.

    ``available`` lists those that can.
    """

    def __init__(self, requested: str, reason: str, remedy: str = "", available: Sequence[str] = ()) -> None:
        super().__init__(requested, reason, remedy, tuple(available))
        self.requested = requested
        self.reason = reason
        self.remedy = remedy
        self.available = tuple(available)

    def _what(self) -> str:
        return f"backend {self.requested!r} cannot run here: {self.reason}"

    def _remedy(self) -> str:
        return self.remedy


class InvalidBackend(BackendError):
    """Unknown backend. ``source`` is the variable or argument that named it."""

    def __init__(self, requested: str, available: Sequence[str], source: str = "backend") -> None:
        super().__init__(requested, tuple(available), source)
        self.requested = requested
        self.available = tuple(available)
        self.source = source

    def _what(self) -> str:
        return f"{self.source}={self.requested!r} is not a backend"

    def _remedy(self) -> str:
        return f"choose one of {', '.join(self.available)}"


class InitializationFailed(BackendError):
    """The backend is configured, but it could not start.

    Its kind is ``"IncompatibleSettings"`` where settings of the program rule the backend out. Where ranks do
    not agree, ``details`` has who said what: ``{"differences": {"seed": {"1": [0, 2], "7": [1]}}}``.
    """

    def __init__(
        self,
        backend: str,
        message: str,
        kind: str = "MpiError",
        details: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(backend, message, kind, dict(details))
        self.backend = backend
        self.details = dict(details)

    @property
    def kind(self) -> str:
        """Kind of error in the registry."""
        return str(self.args[2])

    def _what(self) -> str:
        return str(self.args[1])

    def __str__(self) -> str:
        return f"backend {self.backend!r} could not start: {self.message}"


class ConfigurationProblem(NamedTuple):
    """Setting that is missing or malformed; ``actual`` is None if it is missing."""

    variable: str
    expected: str
    actual: str | None
    example: str

    def __str__(self) -> str:
        found = "is not set" if self.actual is None else f"is {self.actual!r}"
        return f"{self.variable} {found}; it should hold {self.expected}, for example {self.example}"


class MissingConfiguration(BackendError):
    """Settings of a backend are missing or malformed; all of them are listed."""

    def __init__(self, backend: str, problems: Sequence[ConfigurationProblem]) -> None:
        super().__init__(backend, tuple(problems))
        self.backend = backend
        self.problems = tuple(problems)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of these settings, in the order of the reference table."""
        return tuple(problem.variable for problem in self.problems)

    @property
    def context(self) -> dict[str, Any]:
        """The backend, the variables and what is wrong with each."""
        return {
            **super().context,
            "requested_value": self.backend,
            "missing_variables": self.variables,
        }

    @property
    def suggestion(self) -> str | None:
        """The remedy."""
        wanted = (f"{problem.variable} (for example {problem.example})" for problem in self.problems)
        return f"set {', '.join(wanted)}"

    def _what(self) -> str:
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        return f"backend {self.backend!r} is not configured:{lines}"


class WorkerError(CobreError):
    """Failure of a rank that was started here. If several failed, it is the first one.

    Attributes:
        rank: number of the rank.
        exit_code: exit code of its process; None if it was killed.
        inner: the exception that it raised, also as ``__cause__``, with its own traceback as a note;
            `TimeoutError` if it ran for too long; None if it reported none.
        signal: number of the signal that killed it; None if none did.
    """

    _KIND = "WorkerFailed"

    def __init__(
        self,
        rank: int,
        exit_code: int | None = None,
        inner: BaseException | None = None,
        signal: int | None = None,
    ) -> None:
        super().__init__(rank, exit_code, inner, signal)
        self.rank = rank
        self.exit_code = exit_code
        self.inner = inner
        self.signal = signal
        self.__cause__ = inner

    @property
    def context(self) -> dict[str, Any]:
        """The rank, how it ended, and the four fields of its own error if it is one of cobre."""
        inner = self.inner
        told = (
            inner.record() if isinstance(inner, CobreError) else inner and f"{type(inner).__name__}: {inner}"
        )
        return {**super().context, "inner": told}

    @property
    def suggestion(self) -> str | None:
        """The remedy."""
        return self.inner.suggestion if isinstance(self.inner, CobreError) else None

    def _what(self) -> str:
        if self.signal is not None:
            known = {number.value: f"{number.name} (signal {number.value})" for number in signals.Signals}
            return f"rank {self.rank} was killed by {known.get(self.signal, f'signal {self.signal}')}"
        if isinstance(self.inner, TimeoutError) and self.exit_code is None:
            return f"rank {self.rank} {self.inner}"
        if isinstance(self.inner, SystemExit) or self.inner is None:
            return f"rank {self.rank} exited with code {self.exit_code}"
        return f"rank {self.rank} raised {type(self.inner).__name__}: {self.inner}"


class MissingExtra(CobreError):
    """``what`` needs optional dependencies, those of ``extra``, which are not installed."""

    _KIND = "IncompatibleSettings"
    _JOINT = ": "

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what = what
        self.extra = extra

    def _what(self) -> str:
        return f"dependencies of {self.what} are missing"

    def _remedy(self) -> str:
        return f"pip install 'cobre-parallel[{self.extra}]'"


class ValidationError(CobreError):
    """Invalid input."""

    _KIND = "SchemaViolation"


class SolverError(CobreError):
    """Numerical failure: a programme without a solution, or an invalid bound."""

    _KIND = "SolverFailure"
    _JOINT = ". "
    #: MPS file with the programme; None if there is none.
    saved: str | None

    def __str__(self) -> str:
        saved = f" The programme was saved to {self.saved}." if self.saved else ""
        return super().__str__() + saved


class IOError(CobreError):  # noqa: A001  the name that the public interface gives it
    """File or folder ``path`` cannot be used; ``reason`` says why and what to do."""

    _KIND = "MissingFile"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def _what(self) -> str:
        return f"{self.path}: {self.reason}"


class InvalidProblem(ValidationError):
    """Invalid problem or options of the solution method. ``findings`` lists everything that is wrong."""

    def __init__(self, findings: Sequence[str]) -> None:
        super().__init__(tuple(findings))
        self.findings = tuple(findings)

    def _what(self) -> str:
        count = len(self.findings)
        lines = "".join(f"\n  - {finding}" for finding in self.findings)
        return f"the problem is not valid; {count} finding{'s'[: count != 1]}:{lines}"


class SolveError(SolverError):
    """A linear programme has no solution, or the solver found none.

    Attributes:
        status: ``"infeasible"``, ``"unbounded"``, ``"inaccurate"`` (reported as optimal, but not
            verified), or another status of the solver.
        node: name of its node.
        realization: number of the realisation; None if it was not one of the node's own.
        state: incoming state by name.
        saved: MPS file with the programme; None if it could not be written.
        rank: that of the worker, or rank of a launcher, that solved it; None if there was only one.
    """

    def __init__(  # noqa: PLR0913, PLR0917  these are its fields
        self,
        status: str,
        node: str,
        realization: int | None,
        state: Mapping[str, float],
        saved: str | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__(status, node, realization, dict(state), saved, rank)
        self.status = status
        self.node = node
        self.realization = realization
        self.state = dict(state)
        self.saved = saved
        self.rank = rank

    def _what(self) -> str:
        which = "" if self.realization is None else f", realisation {self.realization}"
        state = ", ".join(f"{name} = {value:.6g}" for name, value in self.state.items())
        worker = "" if self.rank is None else f"rank {self.rank}: "
        return f"{worker}node {self.node!r}{which}, incoming state {state or 'empty'}: {self._words[0]}"

    def _remedy(self) -> str:
        return self._words[1]

    @property
    def _words(self) -> tuple[str, str]:
        return _SOLVE_WORDS.get(self.status, (f"the solver ended with {self.status!r}", _NUMERICS))


_NUMERICS = (
    "All attempts failed: from a clean basis, with other scaling, with presolve, with an interior point. The "
    "usual cause is a wide range of coefficients; choose units in which they lie between 1e-3 and 1e6."
)
#: What happened, and what to do.
_SOLVE_WORDS = {
    "infeasible": (
        "the programme is infeasible",
        "Every node must be feasible for every state that previous nodes can "
        "reach (relatively complete recourse). Add a slack column with a high cost to rows that may be "
        "violated, or tighten the bounds of the states.",
    ),
    "inaccurate": (
        "the solver reports an optimum, but primal and dual solutions do not verify it",
        _NUMERICS,
    ),
    "unbounded": (
        "the programme is unbounded",
        "A cost has the wrong sign or a column lacks a bound; if the problem has a value bound, check it "
        "too.",
    ),
}


class BoundError(SolverError):
    """A cut or a bound violates a known bound; later results would be invalid.

    A cut, or the problem's value bound, exceeds the future cost at a visited state; or the bound got worse
    although cuts were only added.

    Attributes:
        iteration: iteration in which it was detected.
        node: name of the node of the cut or value bound; ``"root"`` for the bound of training.
        claimed: value of the cut or of the earlier bound.
        found: recomputed value.
        saved: MPS file with the programme of the node and its cuts, or of the first node; None if it could
            not be written.
        cut: number of the cut at its node; None for a bound.
        born: iteration that generated the cut, 0 for a cut of the warm-start policy; None for a bound.
    """

    def __init__(  # noqa: PLR0913, PLR0917  these are its fields
        self,
        iteration: int,
        node: str,
        claimed: float,
        found: float,
        saved: str | None = None,
        cut: int | None = None,
        born: int | None = None,
    ) -> None:
        super().__init__(iteration, node, claimed, found, saved, cut, born)
        self.iteration = iteration
        self.node = node
        self.claimed = claimed
        self.found = found
        self.saved = saved
        self.cut = cut
        self.born = born

    def _what(self) -> str:
        if self.cut is not None:
            subject = f"cut {self.cut} of node {self.node!r}"
        else:
            subject = (
                "the previous bound" if self.node == "root" else f"the value bound of node {self.node!r}"
            )
        claim = f"{subject} is {self.claimed:.8g}, but the recomputed value is {self.found:.8g}"
        return f"in iteration {self.iteration}, {claim}"

    def _remedy(self) -> str:
        if self.cut is None and self.node != "root":
            return "Give the problem a valid value_bound."
        if self.born == 0:
            return (
                "The cut came with the warm-start policy, which belongs to another problem or risk measure, "
                "or is damaged. Start without it."
            )
        when = f"in iteration {self.born}" if self.born else "in an earlier iteration"
        return (
            f"A programme was solved inaccurately {when}. Resume from an earlier checkpoint, or start again "
            "in units with coefficients between 1e-3 and 1e6: a wide range of them is the usual cause."
        )


class PolicyFileError(IOError):
    """File ``path`` is not a policy that can be used here; ``reason`` says why."""

    _KIND = "CheckpointFailed"


@dataclass(frozen=True)
class Finding:
    """Error or warning about a case folder.

    Attributes:
        kind: kind of finding: ``"missing_file"``, ``"unknown_file"``, ``"unreadable"``, ``"syntax"``,
            ``"schema"``, ``"reference"``, ``"duplicate"``, ``"dimension"``, ``"meaning"`` or
            ``"unsupported"``.
        file: relative to the folder, with forward slashes; empty for the folder itself.
        entity: plant, bus, stage, ...; may be empty.
        field: place in the file, as in ``hydros[3].reservoir.min_storage_hm3``, or the column; may be empty.
        value: value found there, if it is a number, a boolean or text.
        message: description of the problem.
        suggestion: remedy; may be empty.
    """

    kind: str
    file: str
    entity: str
    field: str
    value: str | float | bool | None
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.entity, self.field) if part)
        what = f"{where}: {self.message}" if where else self.message
        return f"{what}; {self.suggestion}" if self.suggestion else what


class CaseError(ValidationError):
    """Invalid case folder. ``findings`` lists all errors, not only the first.

    ``warnings`` lists the warnings; ``folder`` is the folder as given.
    """

    def __init__(
        self, findings: Sequence[Finding], folder: str = "the case", warnings: Sequence[Finding] = ()
    ) -> None:
        super().__init__(tuple(findings), folder, tuple(warnings))
        self.findings = tuple(findings)
        self.folder = folder
        self.warnings = tuple(warnings)

    @property
    def kind(self) -> str:
        """Kind of the first finding in the registry."""
        return FINDING_KINDS[self.findings[0].kind] if self.findings else self._KIND

    @property
    def context(self) -> dict[str, Any]:
        """The place of the first finding, and all findings and warnings."""
        found = super().context
        for first in self.findings[:1]:
            found |= {"file": first.file, "entity_id": first.entity, "field": first.field}
        return found

    @property
    def suggestion(self) -> str | None:
        """The remedy."""
        return next((finding.suggestion for finding in self.findings), "") or None

    def _what(self) -> str:
        count = len(self.findings)
        lines = [f"{self.folder} is not valid; {count} finding{'s'[: count != 1]}:"]
        for file in dict.fromkeys(finding.file for finding in self.findings):
            if file:
                lines.append(f"  {file}")
            indent = "    " if file else "  "
            lines += [f"{indent}- {finding}" for finding in self.findings if finding.file == file]
        return "\n".join(lines)


class InvalidChoice(ValidationError):
    """``given`` is not the name of any ``what``; ``known`` lists the valid names."""

    _KIND = "InvalidEnum"

    def __init__(self, what: str, given: str, known: Sequence[str]) -> None:
        super().__init__(what, given, tuple(known))
        self.what = what
        self.given = given
        self.known = tuple(known)

    def _what(self) -> str:
        return f"unknown {self.what} {self.given!r}"

    def _remedy(self) -> str:
        import difflib  # noqa: PLC0415  every rank imports this file, few need it

        near = difflib.get_close_matches(self.given.lower(), [name.lower() for name in self.known], 5, 0.5)
        meant = [name for name in self.known if name.lower() in near]
        if meant:
            return f"did you mean {' or '.join(meant)}?"
        few = ", ".join(self.known[:8]) + (", ..." if len(self.known) > 8 else "")
        return f"choose one of: {few or 'none'}"


class OutputError(IOError):
    """File or folder ``path`` of results cannot be written; ``reason`` says why.

    ``remedy`` says what to do where the usual advice does not help.
    """

    _KIND = "OutputCorrupted"
    _JOINT = ". "

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(path, reason)
        self.args = (path, reason, remedy)
        self.remedy = remedy

    def _what(self) -> str:
        return f"{self.path} cannot be written: {self.reason}"

    def _remedy(self) -> str:
        return self.remedy or (
            "Free disk space, check permissions, or choose another output folder; finished results are kept, "
            "and the manifest has the state of the run"
        )


class ResultsError(IOError):
    """A folder cannot be read as results.

    ``path`` is the file or folder, ``status`` is ``"missing"``, ``"incomplete"`` (the run has not finished,
    failed or was killed) or ``"damaged"``, and ``reason`` gives the details.
    """

    def __init__(self, path: str, status: str, reason: str) -> None:
        super().__init__(path, reason)
        self.args = (path, status, reason)
        self.status = status

    @property
    def kind(self) -> str:
        """Kind of error in the registry."""
        return "OutputCorrupted" if self.status == "damaged" else "OutputNotFound"
