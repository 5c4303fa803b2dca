"""The whole of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cobre.system._entities import Bus, Contract, Hydro, Line, Pumping, Source, Thermal
from cobre.system._future import Future
from cobre.system._generic import GenericConstraint
from cobre.system._stages import Stage


@dataclass(frozen=True, eq=False)
class System:
    """Stages and entities, each kind sorted by id."""

    stages: tuple[Stage, ...]
    buses: tuple[Bus, ...]
    lines: tuple[Line, ...] = ()
    hydros: tuple[Hydro, ...] = ()
    thermals: tuple[Thermal, ...] = ()
    sources: tuple[Source, ...] = ()
    pumping: tuple[Pumping, ...] = ()
    contracts: tuple[Contract, ...] = ()
    constraints: tuple[GenericConstraint, ...] = ()
    #: The method for inflows that the model makes negative: "none", "penalty", "truncation" or
    #: "truncation_with_penalty".
    negative_inflows: str = "penalty"
    #: None if nothing comes after the last stage.
    future: Future | None = None

    def arrival(self, hydro: int | None, stage: int) -> int | None:
        """Return where water that runs to a plant arrives: there, or at the next below that is not absent."""
        while hydro is not None and self._hydros[hydro].phases[stage] == "absent":
            hydro = self._hydros[hydro].downstream
        return hydro

    @cached_property
    def _hydros(self) -> dict[int, Hydro]:
        return {hydro.id: hydro for hydro in self.hydros}
