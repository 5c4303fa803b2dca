"""Random loads of buses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cobre.elements.bus.data import Bus
from cobre.elements.noise import Floats, IndependentTrajectories, by_block, varies
from cobre.system import System

CLASS = "load"


def is_random(bus: Bus) -> bool:
    """True if the load of a bus varies in some stage."""
    return varies(bus.load_std_mw)


def load(bus: Bus, stage: int, eta: ArrayLike) -> Floats:
    """Return the load of a bus in each realisation and block: ``(mean + std · η) · factor``, not below 0.

    A bus whose load is certain in all stages keeps its sign: its negative load is a source.

    >>> series = np.array([100.0])
    >>> city = Bus(1, "city", (), series, series, series / 2, (np.array([1.0, 0.5]),))
    >>> load(city, 0, [0.0, 1.0, -4.0]).tolist()
    [[100.0, 50.0], [150.0, 75.0], [0.0, 0.0]]
    """
    total = bus.load_mean_mw[stage] + bus.load_std_mw[stage] * np.asarray(eta, dtype=np.float64)
    if is_random(bus):
        total = np.maximum(total, 0.0)
    return by_block(total, bus.load_factors[stage])


def numbers(_system: System, bus: Bus, stage: int, eta: Floats) -> Floats:
    """Return the load in MW: realisations by blocks."""
    return load(bus, stage, eta)


def _given_load(bus: Bus, stage: int, values: Floats) -> Floats:
    return by_block(np.maximum(values, 0.0), bus.load_factors[stage])


def trajectories(_system: System, buses: Sequence[Bus], _count: int) -> IndependentTrajectories:
    """Return loads along trajectories; given ones are in MW before the factors of blocks."""
    return IndependentTrajectories(buses, load, _given_load)
