"""How a backend presents itself to the rest of cobre.

A package of its own adds one by an entry point in the group ``cobre.comm`` that names a `Backend`
instance; ``examples/socket_backend`` is a complete one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from cobre.comm._base import BackendCommunicator
from cobre.errors import BackendNotAvailable, InitializationFailed


class Config(Protocol):
    """What a backend needs in order to start; knows which backend it is for."""

    @property
    def backend(self) -> str:
        """The backend's name."""


class LaunchedRank(NamedTuple):
    """The place of a process in the group that it was started as a part of."""

    backend: str
    rank: int
    size: int


ConfigT = TypeVar("ConfigT", bound=Config)


class Backend(ABC, Generic[ConfigT]):
    """One way for ranks to communicate. Importing it must not start anything."""

    #: The name users ask for.
    name: ClassVar[str]
    #: What it is, in a few words, for ``cobre comm info``.
    summary: ClassVar[str]

    def obstacle(self) -> BackendNotAvailable | None:
        """Say why it cannot run here and what would change that; None if it can."""
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
