"""The river network of a stage: which plants are present, and where water arrives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from cobre.elements.hydro.data import Hydro, Phase, arrival


class WaterNetwork:
    """The plants of a stage. Water that runs to an absent plant arrives at the next present one below.

    Args:
        hydros: all plants of the system.
        number: which stage.
    """

    def __init__(self, hydros: Sequence[Hydro], number: int) -> None:
        self.hydros = {hydro.id: hydro for hydro in hydros}
        self.number = number

    def phase(self, hydro: int) -> Phase:
        """The phase of a plant in this stage."""
        return self.hydros[hydro].phases[self.number]

    def is_present(self, hydro: int) -> bool:
        """True if a plant is being filled or operating."""
        return self.phase(hydro) != "absent"

    def is_operating(self, hydro: int) -> bool:
        """True if a plant has its turbines."""
        return self.phase(hydro) == "operating"

    def arrival(self, hydro: int | None) -> int | None:
        """Return the plant where water that runs to ``hydro`` arrives; None if it leaves the system."""
        return arrival(self.hydros, hydro, self.number)

    @cached_property
    def tributaries(self) -> dict[int, list[Hydro]]:
        """By plant, those whose natural inflow arrives there: its own, and absent ones above."""
        found: dict[int, list[Hydro]] = defaultdict(list)
        for hydro in self.hydros.values():
            lowest = self.arrival(hydro.id)
            if lowest is not None:
                found[lowest].append(hydro)
        return found
