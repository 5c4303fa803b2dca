"""Random elements of a system, and the numbers that standard normal noise makes of them.

A kind with something random about it has a module ``noise.py``:

``CLASS``         what case files call its noise: ``inflow``, ``load``, ``ncs``
``is_random``     whether an element has noise
``numbers``       an element's random numbers in a stage, from noise: realisations by numbers
``trajectories``  likewise along trajectories, of which each may have values of its own
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.elements.registry import collect, elements_of, part
from cobre.system import System

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Trajectories(Protocol):
    """The random numbers of a kind's elements along trajectories, stage by stage."""

    def step(self, stage: int, here: Indices, eta: Floats, given: Floats | None) -> list[Floats]:
        """Return the numbers of each element in a stage: trajectories by numbers.

        Args:
            stage: the next one.
            here: which of the trajectories pass it.
            eta: their noise, trajectories by elements.
            given: their values in place of noise, likewise; None to take the noise.
        """


class IndependentTrajectories:
    """Trajectories of elements whose numbers depend on noise or given values of the same stage alone.

    Args:
        elements: with noise.
        of_noise: returns an element's numbers of noise.
        of_values: returns an element's numbers of given values.
    """

    def __init__(
        self,
        elements: Sequence[Any],
        of_noise: Callable[[Any, int, Floats], Floats],
        of_values: Callable[[Any, int, Floats], Floats],
    ) -> None:
        self._elements, self._of_noise, self._of_values = elements, of_noise, of_values

    def step(self, stage: int, _here: Indices, eta: Floats, given: Floats | None) -> list[Floats]:
        """Return the numbers of each element in a stage."""
        of, source = (self._of_noise, eta) if given is None else (self._of_values, given)
        return [of(element, stage, source[:, j]) for j, element in enumerate(self._elements)]


def random_elements(system: System) -> dict[str, tuple[Any, ...]]:
    """Return the elements with noise, by kind.

    Kinds, and elements in a kind by id, are in the order of ``noise_openings.parquet``.
    """
    return {
        kind: tuple(element for element in elements_of(system, kind) if is_random(element))
        for kind, is_random in collect("noise", "is_random").items()
    }


def numbers_of(system: System, stage: int, eta: Floats) -> list[Floats]:
    """Return what standard normal noise makes of a stage: for each random element, realisations by numbers.

    Args:
        system: with the elements.
        stage: which one, from 0 on.
        eta: realisations by random elements, in the order of `random_elements`.
    """
    columns = iter(eta.T)
    return [
        part(kind, "noise").numbers(system, element, stage, next(columns))
        for kind, elements in random_elements(system).items()
        for element in elements
    ]


def by_block(total: Floats, factors: Floats) -> Floats:
    """Return a table of realisations by blocks."""
    table: Floats = total[:, None] * factors
    return table


def varies(std: Floats) -> bool:
    """True if a standard deviation is positive in some stage."""
    return bool(np.any(std > 0))
