"""What all parts of a stage's programme share while it is built."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cobre.elements.hydro.data import Hydro, Phase, arrival
from cobre.hydrothermal._rows import Rows
from cobre.lp import Floats
from cobre.system import Stage, System


class Affine(NamedTuple):
    """A right-hand side, or a column's upper bound, that is ``offset + factor · x`` of a random x."""

    place: int
    factor: float
    offset: float = 0.0


class Frame:
    """A stage of a system, and what has been added to its programme so far.

    Args:
        system: what there is.
        number: which of its stages.
        orders: by hydro, how many past inflows are states.

    Attributes:
        hydros: by id.
        rows: columns and rows; `Rows.program` makes arrays of them.
        incoming: state → column.
        outgoing: state → column.
        inflows: by hydro, the right-hand sides that its inflow without lags, in m³/s, changes.
        loads: by bus, the right-hand sides that its load in MW changes.
        availabilities: by source, the upper bounds that its availability in MW changes.
        available: by source and block, the right-hand sides that its availability in MW changes.
        power: by bus and block, what columns do to its balance, in MW.
        water: by hydro and block, what columns do to its reservoir, in m³/s.
    """

    def __init__(self, system: System, number: int, orders: dict[int, int]) -> None:
        self.system, self.number, self.orders = system, number, orders
        self.stage: Stage = system.stages[number]
        self.hours, self.hm3 = self.stage.hours, self.stage.hm3_per_m3s
        self.hydros = {hydro.id: hydro for hydro in system.of(Hydro)}
        self.rows = Rows()
        self.incoming: dict[str, int] = {}
        self.outgoing: dict[str, int] = {}
        self.inflows: dict[int, list[Affine]] = defaultdict(list)
        self.loads: dict[int, list[Affine]] = {}
        self.availabilities: dict[int, list[Affine]] = {}
        self.available: dict[int, dict[int, int]] = defaultdict(dict)
        self.power: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        self.water: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)

    def phase(self, hydro: int) -> Phase:
        """What a hydro plant is in this stage."""
        return self.hydros[hydro].phases[self.number]

    def arrival(self, hydro: int | None) -> int | None:
        """Where water that runs to a plant arrives in this stage."""
        return arrival(self.hydros, hydro, self.number)

    @cached_property
    def tributaries(self) -> dict[int, list[Hydro]]:
        """By hydro, those whose inflow arrives there: its own, and absent ones above."""
        found: dict[int, list[Hydro]] = defaultdict(list)
        for hydro in self.system.of(Hydro):
            lowest = self.arrival(hydro.id)
            if lowest is not None:
                found[lowest].append(hydro)
        return found

    def move(self, column: int, k: int, source: int, target: int | None) -> None:
        """Let a column take water from a plant, and bring it to another or out of the system."""
        for hydro, sign in ((source, -1.0), (self.arrival(target), 1.0)):
            if hydro is not None:
                flows = self.water[hydro, k]
                flows[column] = flows.get(column, 0.0) + sign

    @property
    def blocks(self) -> range:
        """The numbers of the blocks."""
        return range(len(self.stage.blocks))

    @property
    def all_hours(self) -> float:
        """How long the stage is."""
        return float(np.sum(self.hours))

    def by_block(
        self, name: str, lower: float | Floats, upper: float | Floats, cost_per_hour: float | Floats = 0.0
    ) -> list[int]:
        """Add a column per block; return their numbers."""
        lowers, uppers, costs = (
            value if isinstance(value, np.ndarray) else [value] * len(self.stage.blocks)
            for value in (lower, upper, cost_per_hour)
        )
        return [
            self.rows.column(f"{name}:{k}", cost=costs[k] * self.hours[k], lower=lowers[k], upper=uppers[k])
            for k in self.blocks
        ]

    def periods(self, state: str) -> Iterator[tuple[str, list[int]]]:
        """The name of the volume after each period that has a balance, and the period's blocks."""
        if not self.stage.chronological:
            yield state, list(self.blocks)
            return
        last = len(self.stage.blocks) - 1
        for k in self.blocks:
            yield (state if k == last else f"{state}:{k}"), [k]
