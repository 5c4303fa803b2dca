"""Random availability of non-controllable sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cobre.elements.noise import Floats, IndependentTrajectories, by_block, varies
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.system import System

CLASS = "ncs"


def is_random(source: NonControllableSource) -> bool:
    """True if the availability of a source varies in some stage."""
    return varies(source.std)


def available(source: NonControllableSource, stage: int, eta: ArrayLike) -> Floats:
    """Return what a source can generate in each realisation and block, in MW.

    It is ``max_generation · (mean + std · η) · factor``, the bracket kept from 0 to 1.

    >>> series = np.array([1.0])
    >>> factors = (np.array([1.0, 0.8]),)
    >>> wind = NonControllableSource(1, "wind", 1, 50 * series, series / 2, series / 4, factors, series)
    >>> available(wind, 0, [0.0, 1.0, 9.0, -9.0]).tolist()
    [[25.0, 20.0], [37.5, 30.0], [50.0, 40.0], [0.0, 0.0]]
    """
    return _of_shares(
        source, stage, source.mean[stage] + source.std[stage] * np.asarray(eta, dtype=np.float64)
    )


def _of_shares(source: NonControllableSource, stage: int, shares: Floats) -> Floats:
    return by_block(source.max_generation_mw[stage] * np.clip(shares, 0.0, 1.0), source.factors[stage])


def numbers(_system: System, source: NonControllableSource, stage: int, eta: Floats) -> Floats:
    """Return what is available in MW: realisations by blocks."""
    return available(source, stage, eta)


def trajectories(
    _system: System, sources: Sequence[NonControllableSource], _count: int
) -> IndependentTrajectories:
    """Return availabilities along trajectories; given ones are shares of the capacity."""
    return IndependentTrajectories(sources, available, _of_shares)
