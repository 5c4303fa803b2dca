"""Generic constraints as resolved data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Term:
    """A coefficient times a variable: ``hydro_storage``, ``thermal_generation``, ...

    Attributes:
        coefficient: of the variable.
        variable: its kind.
        entity: the id of what it belongs to.
        block: the number of the block; None for that of the constraint's row.
    """

    coefficient: float
    variable: str
    entity: int
    block: int | None = None


@dataclass(frozen=True, eq=False)
class GenericConstraint:
    """A linear constraint over variables: ``Σ terms sense bound``, where and when there is a bound.

    Attributes:
        id: as in the case.
        name: as in the case.
        terms: of the sum.
        sense: of the comparison.
        bounds: per stage, one for each block; NaN where the constraint is not in force.
        slack_cost: per unit of violation; None if it must hold.
    """

    id: int
    name: str
    terms: tuple[Term, ...]
    sense: Literal["<=", ">=", "=="]
    bounds: tuple[NDArray[np.float64], ...]
    slack_cost: float | None
