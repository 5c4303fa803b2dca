"""Registry of backends: their interface, and loading by name.

A backend is imported when it is asked for, so ``import cobre.comm`` needs no MPI. Other packages add theirs
by an entry point in the group ``cobre.comm`` that names a `Backend` instance; ``examples/socket_backend`` is
one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from cobre.comm.contract import BackendCommunicator
from cobre.errors import BackendNotAvailable, InitializationFailed, InvalidBackend

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILTIN = ("local", "shm", "tcp", "mpi")
ENTRY_POINT_GROUP = "cobre.comm"


class BackendConfig(Protocol):
    """Configuration of a backend."""

    @property
    def backend(self) -> str:
        """Name of the backend."""


class LaunchedRank(NamedTuple):
    """Rank of a process in the group that a launcher started it in."""

    backend: str
    rank: int
    size: int


ConfigT = TypeVar("ConfigT", bound=BackendConfig)


class Backend(ABC, Generic[ConfigT]):
    """Communication backend. Importing it must not start anything."""

    #: Name by which users select it.
    name: ClassVar[str]
    #: Short description for ``cobre comm info``.
    summary: ClassVar[str]

    def obstacle(self) -> BackendNotAvailable | None:
        """Return the reason and remedy if it cannot run here, else None."""
        return None

    @abstractmethod
    def configure(self, env: Mapping[str, str]) -> ConfigT:
        """Read the configuration from environment variables.

        Raises:
            MissingConfiguration: listing every variable that is absent or malformed.
        """

    @abstractmethod
    def connect(self, config: ConfigT) -> BackendCommunicator:
        """Join the group and return its communicator. A collective.

        Raises:
            InitializationFailed: the group could not be assembled.
        """

    @abstractmethod
    def launched_as(self, env: Mapping[str, str]) -> LaunchedRank | None:
        """Return the rank that this process was started as; None if it was started alone.

        Reads variables only: it neither connects nor needs what connecting needs. What is launched with
        `rank_environments`, or by a launcher of the backend's own, is a rank.

        Raises:
            MissingConfiguration: the process is a rank, but which one of how many is absent or malformed.
        """

    def rank_environments(self, size: int) -> AbstractContextManager[list[dict[str, str]]]:
        """Provide, per rank, the variables that make ``size`` processes of this machine a fresh group.

        A context manager, usually made by ``contextlib.contextmanager``: what the ranks need in order to
        meet lasts until it is left, when they have ended.

        Raises:
            InitializationFailed: the backend's ranks are not started this way.
        """
        raise InitializationFailed(
            self.name,
            "its ranks are started by a launcher of its own, not by cobre; run this command under it",
        )


@dataclass(frozen=True)
class BackendStatus:
    """Status of a backend on this machine."""

    name: str
    available: bool
    summary: str
    #: Reason why it is not available; else empty.
    reason: str
    #: Remedy if it is not available; else empty.
    remedy: str
    #: Distribution that provides it.
    origin: str


def load(name: str, source: str = "backend") -> Backend[Any]:
    """Return the backend called ``name``, able to run, and never another in its place.

    Raises:
        InvalidBackend: no backend has that name; ``source`` says who asked.
        BackendNotAvailable: it cannot run here.
    """
    try:
        return _usable(name, source)
    except BackendNotAvailable as exc:
        others = [other for other in backend_names() if other != name and _can_run(other)]
        raise BackendNotAvailable(exc.requested, exc.reason, exc.remedy, others) from exc.__cause__


def _usable(name: str, source: str = "backend") -> Backend[Any]:
    backend = find(name, source)
    if (obstacle := backend.obstacle()) is not None:
        raise obstacle
    return backend


def _can_run(name: str) -> bool:
    try:
        return bool(_usable(name))
    except BackendNotAvailable:
        return False


def available_backends() -> dict[str, BackendStatus]:
    """Return the status of every backend known here, built-in ones first.

    >>> available_backends()["local"].available
    True
    """
    return {name: _status(name) for name in backend_names()}


def backend_names() -> tuple[str, ...]:
    """Return the names of all backends that can be asked for, whether or not they can run."""
    return (*BUILTIN, *sorted(_added().keys() - set(BUILTIN)))


def _status(name: str) -> BackendStatus:
    origin = "cobre" if name in BUILTIN else _distribution(_added()[name][0])
    try:
        return BackendStatus(name, True, _usable(name).summary, "", "", origin)
    except BackendNotAvailable as exc:
        return BackendStatus(name, False, "", exc.reason, exc.remedy, origin)


def find(name: str, source: str = "backend") -> Backend[Any]:
    """Return the backend called ``name``, whether or not it can run here.

    Raises:
        InvalidBackend: no backend has that name; ``source`` says who asked.
        BackendNotAvailable: it cannot be imported.
    """
    if name in BUILTIN:
        module = f"cobre.comm.{name}"
        try:
            backend: Backend[Any] = import_module(module).BACKEND
        except ModuleNotFoundError as exc:
            if exc.name != module:
                raise BackendNotAvailable(name, str(exc), f"pip install 'cobre-parallel[{name}]'") from exc
            raise BackendNotAvailable(name, "this version of cobre does not contain it yet") from exc
        return backend
    offers = _added().get(name)
    if offers is None:
        raise InvalidBackend(name, ("auto", *backend_names()), source)
    packages = sorted({_distribution(offer) for offer in offers})
    if len(packages) > 1:
        raise BackendNotAvailable(
            name, f"several packages offer it ({', '.join(packages)})", "uninstall all but one"
        )
    try:
        loaded = offers[0].load()
    except Exception as exc:  # the import of another package may raise anything
        raise BackendNotAvailable(
            name, f"{type(exc).__name__}: {exc}", f"repair or reinstall {packages[0]}"
        ) from exc
    if not isinstance(loaded, Backend):
        raise BackendNotAvailable(
            name, f"{offers[0].value} is not a cobre.comm.Backend instance", f"report it to {packages[0]}"
        )
    return loaded


def _added() -> dict[str, list[EntryPoint]]:
    # A slow import, which ranks that name a built-in backend do not need.
    from importlib.metadata import entry_points  # noqa: PLC0415

    added: dict[str, list[EntryPoint]] = {}
    for found in entry_points(group=ENTRY_POINT_GROUP):
        added.setdefault(found.name, []).append(found)
    return added


def _distribution(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else "an unknown package"
