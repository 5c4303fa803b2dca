"""The resolved system: stages, and the elements of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from cobre.system._future import Future
from cobre.system._graph import PolicyGraph
from cobre.system._stages import Stage


class Element(Protocol):
    """An element of a system: it has an id and a name."""

    @property
    def id(self) -> int:
        """As in the case; unique within a kind."""

    @property
    def name(self) -> str:
        """As in the case."""


AnyElement = TypeVar("AnyElement", bound=Element)


@dataclass(frozen=True, eq=False)
class System:
    """A hydrothermal system: its stages and elements.

    Attributes:
        stages: in the order of time.
        elements: by their class, sorted by id; `of` reads them with their type.
        negative_inflows: the treatment of negative inflows: ``"none"``, ``"penalty"``,
            ``"truncation"`` or ``"truncation_with_penalty"``.
        future: the value of the final state; None if it has none.
        transitions: which stages follow which; None if they follow one another.
    """

    stages: tuple[Stage, ...]
    elements: Mapping[type[Any], tuple[Any, ...]] = field(default_factory=dict)
    negative_inflows: str = "penalty"
    future: Future | None = None
    transitions: PolicyGraph | None = None

    @cached_property
    def graph(self) -> PolicyGraph:
        """The stages that follow each stage."""
        return self.transitions or PolicyGraph.chain(len(self.stages))

    @property
    def noise_numbers(self) -> list[int]:
        """By stage, the number that its noise is drawn with: the same where stages share it."""
        own = (stage.noise_number for stage in self.stages)
        return [place if number is None else number for place, number in enumerate(own)]

    def of(self, kind: type[AnyElement]) -> tuple[AnyElement, ...]:
        """Return all elements of a kind, sorted by id; none if the system has none."""
        return self.elements.get(kind, ())
