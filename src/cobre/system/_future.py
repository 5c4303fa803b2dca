"""The value of what follows the last stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Future:
    """Cuts of another study on the cost that follows the last stage.

    Attributes:
        least: a lower bound of that cost, whatever the final state.
        states: of what the cuts are functions: ``storage:3``, ``inflow:3:1``, ...
        cuts: a row for each: its value where all states are 0, and its slopes.
        families: what each cut is about: 0 for the cost itself, i for that of outcome i.
        mixtures: weights of the outcomes 1, 2, ..., a row for each mixture; the most expensive one counts.
    """

    least: float
    states: tuple[str, ...]
    cuts: NDArray[np.float64]
    families: NDArray[np.int32]
    mixtures: NDArray[np.float64]
