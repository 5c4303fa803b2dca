"""Every error that cobre raises on purpose.

```text
CobreError
├── CommError                  a collective or a region
│   ├── CollectiveFailed       it could not finish on this rank
│   ├── InvalidBufferSize      lengths do not fit together; nothing was sent
│   ├── InvalidRoot            no such rank
│   ├── InvalidCommunicator    it was closed, or a failure has finished it
│   └── AllocationFailed       no memory for a region
├── BackendError               choosing and starting a backend
│   ├── BackendNotAvailable    known, but it cannot run here
│   ├── InvalidBackend         no backend has that name
│   ├── InitializationFailed   it was configured, and could not start
│   └── MissingConfiguration   a setting is absent or malformed
├── WorkerError                a rank that was started here failed
├── MissingExtra               what an optional part of the package needs is not installed
├── ValidationError            what was given cannot be used
│   ├── InvalidProblem         a multistage problem is not well formed; lists all that was found
│   ├── CaseError              a case folder cannot be used; lists all that was found
│   └── InvalidChoice          no plant, bus, stage or figure is called so; lists those that come near
├── SolverError                solving went wrong
│   ├── SolveError             a linear programme has no solution, or the solver found none
│   └── BoundError             a cut or a bound is beyond what can be
└── IOError                    a file or a folder cannot be read or written
    ├── PolicyFileError        a policy file is damaged, foreign or of another problem
    ├── OutputError            results cannot be written
    └── ResultsError           a folder is no result, not a whole one, or damaged
```

Each error has fields for programs and says in words what happened and what to do next. All of them
survive pickling, because they travel between processes. An object of the wrong kind (a list where
an array is needed, a read-only result) is Python's own ``TypeError`` or ``ValueError``.
"""

import signal as signals
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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


class CobreError(Exception):
    """The base of all errors of this package."""

    @property
    def kind(self) -> str:
        """What went wrong, as one word for programs: the name of the class, unless a class knows better."""
        return type(self).__name__


class CommError(CobreError):
    """A collective or a shared region went wrong."""


class CollectiveFailed(CommError):
    """A collective could not finish on this rank.

    When a peer died, stayed silent or called something else, the communicator is finished; every
    later call says so with `InvalidCommunicator`. The one exception is a call refused because
    another thread was inside a collective: it never began, and the other thread's call goes on.
    """

    def __init__(self, operation: str, message: str, mpi_error_code: int = 0) -> None:
        super().__init__(operation, message, mpi_error_code)  # args are what pickle keeps
        self.operation = operation
        self.message = message
        self.mpi_error_code = mpi_error_code

    def __str__(self) -> str:
        code = f" (MPI error {self.mpi_error_code})" if self.mpi_error_code else ""
        return f"{self.operation}: {self.message}{code}"


class InvalidBufferSize(CommError):
    """Lengths do not fit together. Found before anything was sent; the communicator is as before.

    ``expected`` and ``actual`` count elements, or entries for ``counts`` and ``displs``.
    """

    def __init__(self, operation: str, expected: int, actual: int, detail: str = "") -> None:
        super().__init__(operation, expected, actual, detail)
        self.operation = operation
        self.expected = expected
        self.actual = actual
        self.detail = detail

    def __str__(self) -> str:
        detail = f"{self.detail}: " if self.detail else ""
        return f"{self.operation}: {detail}expected {self.expected}, got {self.actual}"


class InvalidRoot(CommError):
    """``root`` is not a rank of this communicator. Nothing was sent."""

    def __init__(self, root: int, size: int) -> None:
        super().__init__(root, size)
        self.root = root
        self.size = size

    def __str__(self) -> str:
        return f"broadcast: root {self.root} is not a rank; this communicator has ranks 0 to {self.size - 1}"


class InvalidCommunicator(CommError):
    """The communicator or region is no longer usable: closed, or finished by a failure."""

    def __init__(self, message: str = "the communicator is no longer usable") -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class AllocationFailed(CommError):
    """There is no memory for a region of that size."""

    def __init__(self, requested_bytes: int, message: str) -> None:
        super().__init__(requested_bytes, message)
        self.requested_bytes = requested_bytes
        self.message = message

    def __str__(self) -> str:
        return f"cannot allocate a region of {self.requested_bytes:,} bytes: {self.message}"


class BackendError(CobreError):
    """No communicator could be made."""


class BackendNotAvailable(BackendError):
    """The backend exists but cannot run here. It is never replaced by another."""

    def __init__(self, requested: str, reason: str, remedy: str = "") -> None:
        super().__init__(requested, reason, remedy)
        self.requested = requested
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"backend {self.requested!r} cannot run here: {self.reason}{remedy}"


class InvalidBackend(BackendError):
    """No backend has that name. ``source`` is the variable or argument that asked for it."""

    def __init__(self, requested: str, available: Sequence[str], source: str = "backend") -> None:
        super().__init__(requested, tuple(available), source)
        self.requested = requested
        self.available = tuple(available)
        self.source = source

    def __str__(self) -> str:
        return f"{self.source}={self.requested!r} names no backend; choose one of {', '.join(self.available)}"


class InitializationFailed(BackendError):
    """The backend was configured, and could not start.

    Its kind is ``"IncompatibleSettings"`` where the program is set up in a way that rules it out.
    """

    def __init__(self, backend: str, message: str, kind: str = "InitializationFailed") -> None:
        super().__init__(backend, message, kind)
        self.backend = backend
        self.message = message

    @property
    def kind(self) -> str:
        """What went wrong, as one word for programs."""
        return str(self.args[2])

    def __str__(self) -> str:
        return f"backend {self.backend!r} could not start: {self.message}"


class ConfigurationProblem(NamedTuple):
    """One setting that is absent or malformed; ``actual`` is None when it is absent."""

    variable: str
    expected: str
    actual: str | None
    example: str

    def __str__(self) -> str:
        found = "is not set" if self.actual is None else f"is {self.actual!r}"
        return f"{self.variable} {found}; it should hold {self.expected}, for example {self.example}"


class MissingConfiguration(BackendError):
    """Settings are absent or malformed. All of them are listed, not only the first."""

    def __init__(self, backend: str, problems: Sequence[ConfigurationProblem]) -> None:
        super().__init__(backend, tuple(problems))
        self.backend = backend
        self.problems = tuple(problems)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the settings at fault, in the order of the reference table."""
        return tuple(problem.variable for problem in self.problems)

    def __str__(self) -> str:
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        return f"backend {self.backend!r} is not configured:{lines}"


class WorkerError(CobreError):
    """A rank that was started here failed: the first one, which the others may only have followed.

    Attributes:
        rank: which one.
        exit_code: what its process exited with; None if it did not exit by itself.
        inner: the exception that it raised, also as ``__cause__``, with its own traceback as a note;
            `TimeoutError` if it ran for too long; None if it left no word.
        signal: the number of the signal that killed it; None if none did.
    """

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

    def __str__(self) -> str:
        if self.signal is not None:
            known = {number.value: f"{number.name} (signal {number.value})" for number in signals.Signals}
            return f"rank {self.rank} was killed by {known.get(self.signal, f'signal {self.signal}')}"
        if isinstance(self.inner, TimeoutError) and self.exit_code is None:
            return f"rank {self.rank} {self.inner}"
        if isinstance(self.inner, SystemExit) or self.inner is None:
            return f"rank {self.rank} exited with code {self.exit_code}"
        return f"rank {self.rank} raised {type(self.inner).__name__}: {self.inner}"


class MissingExtra(CobreError):
    """An optional part of the package is asked for: ``what`` needs the ``extra``, which is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what = what
        self.extra = extra

    def __str__(self) -> str:
        return f"{self.what} need more than cobre alone: pip install 'cobre-parallel[{self.extra}]'"


class ValidationError(CobreError):
    """What was given cannot be used."""


class SolverError(CobreError):
    """Solving went wrong."""


class IOError(CobreError):  # noqa: A001  the name that the public interface gives it
    """A file or a folder cannot be used: ``path`` says which, ``reason`` why and what to do."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class InvalidProblem(ValidationError):
    """A problem, or how it is to be solved, is not well formed. ``findings`` has all that is wrong."""

    def __init__(self, findings: Sequence[str]) -> None:
        super().__init__(tuple(findings))
        self.findings = tuple(findings)

    def __str__(self) -> str:
        count = len(self.findings)
        lines = "".join(f"\n  - {finding}" for finding in self.findings)
        return f"this cannot be solved as it stands; {count} finding{'s'[: count != 1]}:{lines}"


class SolveError(SolverError):
    """A linear programme has no solution, or the solver found none.

    Attributes:
        status: ``"infeasible"``, ``"unbounded"``, ``"inaccurate"`` (called optimal, and no proof of it),
            or what else the solver said.
        node: the name of the node whose programme it is.
        realization: the number of its realisation; None if it was none of the node's own.
        state: the incoming state, by name.
        saved: the file to which the programme was saved, in MPS format; None if it could not be.
    """

    def __init__(
        self,
        status: str,
        node: str,
        realization: int | None,
        state: Mapping[str, float],
        saved: str | None = None,
    ) -> None:
        super().__init__(status, node, realization, dict(state), saved)
        self.status = status
        self.node = node
        self.realization = realization
        self.state = dict(state)
        self.saved = saved

    def __str__(self) -> str:
        which = "" if self.realization is None else f", realisation {self.realization}"
        state = ", ".join(f"{name} = {value:.6g}" for name, value in self.state.items())
        saved = f" The programme is in {self.saved}." if self.saved else ""
        return (
            f"node {self.node!r}{which}, arriving with {state or 'no states'}: "
            f"{_SOLVE_ADVICE.get(self.status, f'the solver ended with {self.status!r}. {_NUMERICS}')}{saved}"
        )


_NUMERICS = (
    "All attempts failed: from a clean basis, with other scaling, with presolve, by an interior point. The "
    "usual cause is numbers of very different sizes; choose units in which they lie between 1e-3 and 1e6."
)
_SOLVE_ADVICE = {
    "infeasible": (
        "the programme is infeasible. Every node must have a solution for every state that the nodes before "
        "it can leave behind (relatively complete recourse). Add a slack column with a high cost to the rows "
        "that can be missed, or bounds to the states that lead here."
    ),
    "inaccurate": (
        "what the solver calls optimal is not: its values and duals do not prove each other. " + _NUMERICS
    ),
    "unbounded": (
        "the programme is unbounded. A cost has the wrong sign or a column lacks a bound; if the "
        "problem has a value bound, check that too."
    ),
}


class BoundError(SolverError):
    """A cut or a bound is beyond what can be: nothing that is learnt from here on could be relied on.

    A cut, or the problem's value bound, claims more than what follows is worth at a state that was visited;
    or the bound was better before, although cuts were only added since.

    Attributes:
        iteration: in which it was noticed.
        node: the name of the node whose cut or value bound it is; ``"root"`` for the bound of training.
        claimed: what the cut or the earlier bound says.
        found: the value, computed anew.
        saved: the file to which a programme was saved, in MPS format: the node's, with its cuts, or the first
            node's; None if it could not be.
        cut: the number of the cut at its node; None for a bound.
        born: the iteration that made the cut, 0 if it came with a policy to start from; None for a bound.
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

    def __str__(self) -> str:
        if self.cut is not None:
            who = f"cut {self.cut} of node {self.node!r}"
        else:
            who = "the bound so far" if self.node == "root" else f"the value bound of node {self.node!r}"
        what = f"{who} says {self.claimed:.8g} where what follows is worth {self.found:.8g}"
        saved = f" The programme is in {self.saved}." if self.saved else ""
        return f"in iteration {self.iteration}, {what}. {self._advice()}{saved}"

    def _advice(self) -> str:
        if self.cut is None and self.node != "root":
            return "Give the problem a value_bound that no value can be better than."
        if self.born == 0:
            return (
                "The cut came with the policy that training started from, which is of another problem or "
                "damaged. Start without it."
            )
        when = f"in iteration {self.born}" if self.born else "in an earlier iteration"
        return (
            f"A programme was solved wrongly {when}. Resume from a checkpoint of before, or start again, in "
            "units in which numbers lie between 1e-3 and 1e6: very different sizes are the usual cause."
        )


class PolicyFileError(IOError):
    """A file is not a policy that can be used here: ``path`` says which file, ``reason`` why."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or doubtful, in a case folder.

    Attributes:
        kind: what sort of thing: ``"missing_file"``, ``"unknown_file"``, ``"unreadable"``, ``"syntax"``,
            ``"schema"``, ``"reference"``, ``"duplicate"``, ``"dimension"``, ``"meaning"`` or
            ``"unsupported"``.
        file: relative to the folder, with forward slashes; empty for the folder itself.
        entity: of which plant, bus, stage, ...; empty if it is of none.
        field: where in the file, as in ``hydros[3].reservoir.min_storage_hm3``, or the column; may be empty.
        value: what stands there, if that is a number, a truth or some text.
        message: what is wrong with it.
        suggestion: what to do about it; may be empty.
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
    """A case folder cannot be used. ``findings`` has all that is wrong with it, not only the first.

    ``warnings`` are doubtful, no more; ``folder`` is the folder as it was given.
    """

    def __init__(
        self, findings: Sequence[Finding], folder: str = "the case", warnings: Sequence[Finding] = ()
    ) -> None:
        super().__init__(tuple(findings), folder, tuple(warnings))
        self.findings = tuple(findings)
        self.folder = folder
        self.warnings = tuple(warnings)

    def __str__(self) -> str:
        count = len(self.findings)
        lines = [f"{self.folder} cannot be used as it stands; {count} finding{'s'[: count != 1]}:"]
        for file in dict.fromkeys(finding.file for finding in self.findings):
            if file:
                lines.append(f"  {file}")
            indent = "    " if file else "  "
            lines += [f"{indent}- {finding}" for finding in self.findings if finding.file == file]
        return "\n".join(lines)


class InvalidChoice(ValidationError):
    """``given`` is no ``what`` that there is; ``known`` are all of them."""

    def __init__(self, what: str, given: str, known: Sequence[str]) -> None:
        super().__init__(what, given, tuple(known))
        self.what = what
        self.given = given
        self.known = tuple(known)

    def __str__(self) -> str:
        import difflib  # noqa: PLC0415  every rank imports this file, and none asks for names

        near = difflib.get_close_matches(self.given.lower(), [name.lower() for name in self.known], 5, 0.5)
        meant = [name for name in self.known if name.lower() in near]
        if meant:
            return f"{self.given!r} is no {self.what}; did you mean {' or '.join(meant)}?"
        few = ", ".join(self.known[:8]) + (", ..." if len(self.known) > 8 else "")
        return f"{self.given!r} is no {self.what}; there are: {few or 'none'}"


class OutputError(IOError):
    """A file or folder of results cannot be written: ``path`` says which, ``reason`` why."""

    def __str__(self) -> str:
        return (
            f"{self.path} cannot be written: {self.reason}. Make room, check who may write there, or choose "
            "another output folder; what is finished stays, and its manifest says how far the run came"
        )


class ResultsError(IOError):
    """A folder cannot be read as results.

    ``path`` says which file or folder, ``status`` whether it is ``"missing"``, ``"incomplete"`` (the run is
    under way, failed or was killed) or ``"damaged"``, and ``reason`` tells the rest.
    """

    def __init__(self, path: str, status: str, reason: str) -> None:
        super().__init__(path, reason)
        self.args = (path, status, reason)
        self.status = status
