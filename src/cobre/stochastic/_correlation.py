"""Correlated noise of several entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cobre.stochastic._linear import Floats, NotPositive, cholesky

#: How much a correlation matrix may differ from its transpose, as in the case format.
SYMMETRY = 1e-10


class Correlation:
    """Groups of entities with correlated noise; an entity in no group is independent of all.

    Args:
        groups: by name, which entities, by their positions in the noise, and their correlation matrix.

    Raises:
        ValueError: an entity is in two groups or twice in one, or a matrix is no correlation matrix: it is
            not square, not symmetric, not 1 on its diagonal, beyond 1, or its elements contradict each other.
            The message names the group and the pair.

    >>> together = Correlation({"north": ([0, 2], [[1.0, 0.6], [0.6, 1.0]])})
    >>> together.apply(np.array([[1.0, 5.0, 1.0]])).round(12).tolist()
    [[1.0, 5.0, 1.4]]
    """

    def __init__(self, groups: Mapping[str, tuple[Sequence[int], ArrayLike]]) -> None:
        self._factors: list[tuple[tuple[int, ...], Floats]] = []
        owner: dict[int, str] = {}
        for name, (positions, matrix) in groups.items():
            for position in positions:
                if position in owner:
                    raise ValueError(
                        f"entity {position} is in group {owner[position]!r} and again in {name!r};"
                        f" groups must be disjoint"
                    )
                owner[position] = name
            values = np.asarray(matrix, dtype=np.float64)
            self._factors.append((tuple(positions), _factor(name, positions, values)))

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of a group's entities."""
        return tuple(sorted(position for positions, _ in self._factors for position in positions))

    def apply(self, noise: Floats) -> Floats:
        """Return correlated noise made of independent noise; entities along the last axis."""
        result = noise.copy()
        for positions, factor in self._factors:
            total = noise[..., positions[:1]] * factor[:, 0]
            for j, position in enumerate(positions[1:], 1):
                total[..., j:] += noise[..., position, None] * factor[j:, j]
            result[..., positions] = total
        return result


def _factor(name: str, positions: Sequence[int], matrix: Floats) -> Floats:
    count = len(positions)
    if count == 0 or matrix.shape != (count, count):
        raise ValueError(
            f"group {name!r} has {count} entities and a matrix of shape {matrix.shape}; give one row and one"
            f" column for each entity, and at least one entity"
        )
    for wrong, words in (
        (~(np.abs(matrix - matrix.T) <= SYMMETRY), "is not symmetric"),
        ((matrix != 1.0) & np.eye(count, dtype=bool), "is not 1 on its diagonal"),
        (~(np.abs(matrix) <= 1.0), "has elements beyond 1"),
    ):
        if np.any(wrong):
            i, j = divmod(int(np.argmax(wrong)), count)
            raise ValueError(
                f"group {name!r}: the matrix {words}: {matrix[i, j]} for entities"
                f" {positions[i]} and {positions[j]}"
            )
    try:
        return cholesky(matrix)
    except NotPositive as error:
        row = error.row
        other = int(np.argmax(np.abs(matrix[row, :row])))
        raise ValueError(
            f"group {name!r}: the correlations contradict each other, first those of entity {positions[row]},"
            f" the strongest of which is {matrix[row, other]} with entity {positions[other]}; give a positive"
            f" semidefinite matrix"
        ) from None
