"""The programme of one stage while the element kinds add to it, and the balances that they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np

from cobre.elements.builder import ProgramBuilder
from cobre.elements.hydro.data import Hydro
from cobre.elements.hydro.network import WaterNetwork
from cobre.lp import Floats
from cobre.system import Element, Stage, System


class BuildStep(IntEnum):
    """A step of building a stage's programme; ``STEPS`` of a kind's ``program.py`` has a function for some.

    Columns and rows are numbered in the order of steps, and in a step in that of ``KINDS`` in the registry. A
    balance comes after everything that contributes to it. Beyond that the order is free, but it may not
    change: warm-start bases, policy files and ``problem.fingerprint`` depend on it.
    """

    WATER = 1
    RESERVOIRS = 2
    GENERATION = 3
    TRADE = 4
    TRANSMISSION = 5
    BUSES = 6
    CONSTRAINTS = 7


class NoisePlace(NamedTuple):
    """A number of the programme that is ``offset + factor · x`` of a random ``x``.

    Attributes:
        target: a right-hand side or an upper bound.
        place: of which row or column.
        number: which of the element's random numbers ``x`` is, as its kind's ``noise.py`` has them.
        factor: see above.
        offset: see above.
    """

    target: Literal["rhs", "column_upper"]
    place: int
    number: int = 0
    factor: float = 1.0
    offset: float = 0.0


class Variable(NamedTuple):
    """A variable of generic constraints, as ``VARIABLES`` of a kind's ``program.py`` has it.

    Attributes:
        columns: returns the columns whose sum it is in a block, with their factors; none where it is 0.
        by_stage: whether it is of a whole stage, so that an expression may not name a block.
        constant: returns what it is besides its columns.
    """

    columns: Callable[[StageFrame, Any, int], Mapping[int, float]]
    by_stage: bool = False
    constant: Callable[[StageFrame, Any], float] = lambda _frame, _element: 0.0


class WaterBalances(defaultdict[tuple[int, int], dict[int, float]]):
    """By hydro and block, the columns that bring water to the reservoir or take it, in m³/s."""

    def __init__(self, network: WaterNetwork) -> None:
        super().__init__(dict)
        self.network = network

    def move(self, column: int, block: int, source: int, target: int | None) -> None:
        """Let a column take water from a plant, and bring it to another or out of the system."""
        for hydro, sign in ((source, -1.0), (self.network.arrival(target), 1.0)):
            if hydro is not None:
                flows = self[hydro, block]
                flows[column] = flows.get(column, 0.0) + sign


class StageFrame:
    """A stage of a system, and what has been added to its programme so far.

    Args:
        system: with all its elements.
        number: which of its stages.

    Attributes:
        stage: the stage itself.
        hours: of each block.
        hm3: the volume that 1 m³/s makes in each block.
        program: the columns and rows.
        incoming: state → column with its value before the stage.
        outgoing: state → column with its value after the stage.
        network: which hydro plants are present, and where water arrives.
        water: the water balance of each reservoir and block.
        power: by bus and block, the coefficients of columns in the power balance, in MW.
    """

    def __init__(self, system: System, number: int) -> None:
        self.system, self.number = system, number
        self.stage: Stage = system.stages[number]
        self.hours, self.hm3 = self.stage.hours, self.stage.hm3_per_m3s
        self.program = ProgramBuilder()
        self.incoming: dict[str, int] = {}
        self.outgoing: dict[str, int] = {}
        self.network = WaterNetwork(system.of(Hydro), number)
        self.water = WaterBalances(self.network)
        self.power: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        self._noise: dict[tuple[type[Any], int], list[NoisePlace]] = defaultdict(list)

    @property
    def blocks(self) -> range:
        """The numbers of the blocks."""
        return range(len(self.stage.blocks))

    @property
    def all_hours(self) -> float:
        """The length of the stage."""
        return float(np.sum(self.hours))

    def add_per_block(
        self, name: str, lower: float | Floats, upper: float | Floats, cost_per_hour: float | Floats = 0.0
    ) -> list[int]:
        """Add a column per block, called ``name:block``; return their numbers."""
        lowers, uppers, costs = (
            value if isinstance(value, np.ndarray) else [value] * len(self.stage.blocks)
            for value in (lower, upper, cost_per_hour)
        )
        return [
            self.program.add_column(
                f"{name}:{k}", cost=costs[k] * self.hours[k], lower=lowers[k], upper=uppers[k]
            )
            for k in self.blocks
        ]

    def periods(self, state: str) -> Iterator[tuple[str, list[int]]]:
        """Yield each period that has a balance of stored water or energy, with the period's blocks.

        That is each block of a chronological stage, and else the whole stage. A period is called as the
        column of what is stored at its end: the last as the state itself.
        """
        if not self.stage.chronological:
            yield state, list(self.blocks)
            return
        last = len(self.stage.blocks) - 1
        for k in self.blocks:
            yield (state if k == last else f"{state}:{k}"), [k]

    def add_noise(self, element: Element, place: NoisePlace) -> None:
        """Note a number of the programme that the noise of an element changes."""
        self._noise[type(element), element.id].append(place)

    def noise_of(self, element: Element) -> tuple[NoisePlace, ...]:
        """Return the numbers that the noise of an element changes, as they were added."""
        return tuple(self._noise[type(element), element.id])
