"""What comes after the last stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Future:
    """What comes after the last stage costs at least what cuts say that another study has found.

    Attributes:
        least: what it costs at least, whatever is left.
        states: of what the cuts are functions: ``storage:3``, ``inflow:3:1``, ...
        cuts: a row for each: its value where all states are 0, and its slopes.
        families: what each cut is about: 0 for the cost itself, i for that of outcome i.
        mixtures: a row for each way to weigh the outcomes 1, 2, ..., of which the dearest counts.
    """

    least: float
    states: tuple[str, ...]
    cuts: NDArray[np.float64]
    families: NDArray[np.int32]
    mixtures: NDArray[np.float64]
