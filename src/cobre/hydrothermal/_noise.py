"""From what is random in a system to the realisations of a stage's programme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.noise import NoisePlaces, available, inflow_noise, load, noise_places
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.hydrothermal._frame import Affine, Frame
from cobre.lp import Floats, Noise, Place
from cobre.system import System


class Numbers(NamedTuple):
    """What is random in a stage, in the order of `cobre.stochastic.noise_places`.

    Attributes:
        inflows: realisations by hydros, in m³/s, without what lags add.
        loads: of each bus, realisations by blocks, in MW.
        available: of each source, likewise.
    """

    inflows: Floats
    loads: tuple[Floats, ...]
    available: tuple[Floats, ...]


class RandomPlaces(NamedTuple):
    """Where a stage's programme takes its random numbers, as `Frame` says, and who has them."""

    who: NoisePlaces
    inflows: tuple[Sequence[Affine], ...]
    loads: tuple[Sequence[Affine], ...]
    availabilities: tuple[Sequence[Affine], ...]
    available: tuple[Mapping[int, int], ...]

    @staticmethod
    def of(built: Frame) -> RandomPlaces:
        """Of a stage's programme."""
        who, system = noise_places(built.system), built.system
        return RandomPlaces(
            who,
            tuple(built.inflows[system.of(Hydro)[i].id] for i in who.hydros),
            tuple(built.loads[system.of(Bus)[i].id] for i in who.buses),
            tuple(built.availabilities[system.of(NonControllableSource)[i].id] for i in who.sources),
            tuple(built.available[system.of(NonControllableSource)[i].id] for i in who.sources),
        )

    def values(self, numbers: Numbers) -> dict[Place, Floats]:
        """What each place holds in each realisation."""
        values: dict[Place, Floats] = {}
        for places, inflow in zip(self.inflows, numbers.inflows.T, strict=True):
            for place in places:
                values["rhs", place.place] = place.offset + place.factor * inflow
        for places, loads in zip(self.loads, numbers.loads, strict=True):
            for k, place in enumerate(places):
                values["rhs", place.place] = loads[:, k]
        for places, rows, limits in zip(self.availabilities, self.available, numbers.available, strict=True):
            for k, place in enumerate(places):
                values["column_upper", place.place] = limits[:, k]
            for k, row in rows.items():
                values["rhs", row] = limits[:, k]
        return values


class StageNoise(Noise):
    """The realisations of a stage, which can tell how other inflows, loads and winds would look."""

    random: RandomPlaces

    @classmethod
    def of(cls, built: Frame, eta: Floats) -> StageNoise:
        """Of standard normal noise, realisations by elements."""
        random = RandomPlaces.of(built)
        values = random.values(numbers_of(built.system, built.number, eta))
        noise = cls.from_table(list(values), _table(values, len(eta)))
        noise.random = random
        return noise

    def table_of(self, numbers: Numbers) -> Floats:
        """Return rows for the node's table, one for each realisation of the numbers."""
        return _table(self.random.values(numbers), len(numbers.inflows))


def numbers_of(system: System, stage: int, eta: Floats) -> Numbers:
    """Return what standard normal noise makes of a stage."""
    who = noise_places(system)
    columns = iter(eta.T)
    inflows = np.empty((len(eta), len(who.hydros)))
    for place, (i, own) in enumerate(zip(who.hydros, columns, strict=False)):
        inflow = system.of(Hydro)[i].inflow
        lags = inflow.past_m3s if stage == 0 and len(inflow.coefficients[0]) else None
        added = inflow_noise(inflow, stage, own, system.negative_inflows, lags)
        inflows[:, place] = inflow.base_m3s[stage] + added
    return Numbers(
        inflows,
        tuple(load(system.of(Bus)[i], stage, next(columns)) for i in who.buses),
        tuple(available(system.of(NonControllableSource)[i], stage, next(columns)) for i in who.sources),
    )


def _table(values: dict[Place, Floats], rows: int) -> Floats:
    return np.column_stack(list(values.values())) if values else np.empty((rows, 0))
