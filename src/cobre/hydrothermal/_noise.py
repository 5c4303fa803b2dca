"""Realisations of a stage's programme, from the noise of the system's random elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.frame import NoisePlace, StageFrame
from cobre.elements.noise import numbers_of, random_elements
from cobre.lp import Floats, Noise, Place


class StageNoise(Noise):
    """The realisations of a stage, with the places of each random element to make others from.

    Attributes:
        random: by random element, the numbers of the programme that its noise changes.
    """

    random: tuple[tuple[NoisePlace, ...], ...]

    @classmethod
    def of(cls, frame: StageFrame, eta: Floats) -> StageNoise:
        """Of standard normal noise, realisations by elements."""
        kinds = random_elements(frame.system).values()
        random = tuple(frame.noise_of(element) for elements in kinds for element in elements)
        values = _values(random, numbers_of(frame.system, frame.number, eta))
        noise = cls.from_table(list(values), _table(values, len(eta)))
        noise.random = random
        return noise

    def table_of(self, numbers: Sequence[Floats], rows: int) -> Floats:
        """Return rows for the node's table.

        Args:
            numbers: for each random element, rows by its numbers.
            rows: how many there are.
        """
        return _table(_values(self.random, numbers), rows)


def _values(random: Sequence[Sequence[NoisePlace]], numbers: Sequence[Floats]) -> dict[Place, Floats]:
    """The values of each place in each realisation."""
    return {
        (place.target, place.place): place.offset + place.factor * own[:, place.number]
        for places, own in zip(random, numbers, strict=True)
        for place in places
    }


def _table(values: dict[Place, Floats], rows: int) -> Floats:
    return np.column_stack(list(values.values())) if values else np.empty((rows, 0))
