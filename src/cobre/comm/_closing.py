"""Base class of communicators, regions and listeners, which hold resources until they are closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """Context manager that is closed at the end of its block."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
