"""The realisations of a stage's random numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from cobre.lp._program import Floats, LinearProgram, bound_findings

#: The numbers of a programme that a realisation can change: "rhs" is both bounds of a row, "fix" both of a
#: column. Their order is that of `native/core/lp`.
TARGETS = ("rhs", "row_lower", "row_upper", "fix", "column_lower", "column_upper", "cost", "coefficient")

#: A target and its row, its column, or for a coefficient both.
Place = tuple[str, int | tuple[int, int]]

#: A sum of probabilities may differ from 1 by this much.
PROBABILITY_TOLERANCE = 1e-9


class Noise:
    """Finitely many realisations of some numbers of a `LinearProgram`.

    Each argument but the first maps a place to its values, one per realisation: the values at position k of
    all of them happen together.

    Args:
        probabilities: of the realisations; equal unless given.
        rhs: row → both of its bounds.
        row_lower: row → lower bound.
        row_upper: row → upper bound.
        fix: column → both of its bounds.
        column_lower: column → lower bound.
        column_upper: column → upper bound.
        cost: column → cost.
        coefficient: (row, column) → matrix entry.

    Attributes:
        places: what changes, as pairs of a target, ``"rhs"`` for instance, and its row, column or both.
        table: the values, one row per realisation and one column per place.
        probabilities: one per realisation.

    Raises:
        ValueError: the arguments have different numbers of realisations.

    >>> noise = Noise(rhs={0: [10, 20]}, cost={3: [1.5, 1.0]})
    >>> noise.places
    (('rhs', 0), ('cost', 3))
    >>> noise.table
    array([[10. ,  1.5],
           [20. ,  1. ]])
    >>> noise.probabilities
    array([0.5, 0.5])
    """

    places: tuple[Place, ...]
    table: Floats
    probabilities: Floats

    def __init__(  # noqa: PLR0913  one for each kind of number
        self,
        probabilities: ArrayLike | None = None,
        *,
        rhs: Mapping[int, ArrayLike] | None = None,
        row_lower: Mapping[int, ArrayLike] | None = None,
        row_upper: Mapping[int, ArrayLike] | None = None,
        fix: Mapping[int, ArrayLike] | None = None,
        column_lower: Mapping[int, ArrayLike] | None = None,
        column_upper: Mapping[int, ArrayLike] | None = None,
        cost: Mapping[int, ArrayLike] | None = None,
        coefficient: Mapping[tuple[int, int], ArrayLike] | None = None,
    ) -> None:
        given = (rhs, row_lower, row_upper, fix, column_lower, column_upper, cost, coefficient)
        values: dict[Place, Floats] = {}
        for target, places in zip(TARGETS, given, strict=True):
            for place, series in cast(Mapping[Any, ArrayLike], places or {}).items():
                values[target, place] = np.array(series, np.float64).reshape(-1)
        lengths = {f"{target} of {place}": len(series) for (target, place), series in values.items()}
        if probabilities is not None:
            lengths["probabilities"] = np.size(cast(Any, probabilities))
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{count} in {name}" for name, count in lengths.items())
            raise ValueError(f"the numbers of realisations differ: {counts}")
        count = next(iter(lengths.values()), 1)
        table = np.column_stack(list(values.values())) if values else np.empty((count, 0))
        self._set(tuple(values), table, probabilities)

    @classmethod
    def from_table(
        cls, places: Sequence[Place], table: ArrayLike, probabilities: ArrayLike | None = None
    ) -> Self:
        """Make it from `places` and `table`, one row of ``table`` per realisation.

        >>> Noise.from_table([("rhs", 0)], [[10], [20]]).probabilities
        array([0.5, 0.5])
        """
        array = np.array(table, np.float64)
        if array.ndim != 2 or array.shape[1] != len(places):
            raise ValueError(
                f"a table for {len(places)} places has that many columns; its shape is {array.shape}"
            )
        if probabilities is not None and np.shape(cast(Any, probabilities)) != array.shape[:1]:
            raise ValueError(f"{array.shape[0]} rows, but {np.size(cast(Any, probabilities))} probabilities")
        noise = cls.__new__(cls)
        noise._set(tuple(places), array, probabilities)
        return noise

    def _set(self, places: tuple[Place, ...], table: Floats, probabilities: ArrayLike | None) -> None:
        count = len(table)
        self.places = tuple((target, _plain(place)) for target, place in places)
        self.table = np.ascontiguousarray(table)
        if probabilities is None:
            self.probabilities = np.full(count, 1 / max(count, 1))
        else:
            self.probabilities = np.array(probabilities, np.float64).reshape(-1)
        self.table.flags.writeable = False
        self.probabilities.flags.writeable = False

    def __len__(self) -> int:
        """Return the number of realisations."""
        return len(self.table)

    def findings(self, program: LinearProgram) -> Iterator[str]:
        """Tell everything that is wrong with it as the noise of ``program``, which has no findings itself.

        >>> program = LinearProgram([1.0], [[1.0]])
        >>> for finding in Noise([0.5, 0.6], rhs={0: [1, np.nan]}, cost={4: [1, 2]}).findings(program):
        ...     print(finding)
        the probabilities of the realisations sum to 1.1, not to 1
        cost of 4: there is no column 4
        realisation 1: the rhs of row 'r0' is nan
        """
        if not len(self):
            yield "there are no realisations"
            return
        yield from probability_findings("the probabilities of the realisations", self.probabilities)
        known: dict[Place, Floats] = {}
        for target, place in dict.fromkeys(self.places):
            count = self.places.count((target, place))
            problems = list(_place_findings(program, target, place))
            if count > 1:
                problems.append(f"it is given {count} times")
            yield from (f"{target} of {place}: {problem}" for problem in problems)
            if not problems:
                known[target, place] = self.table[:, self.places.index((target, place))]
        for (target, place), series in known.items():
            one_sided = target.endswith(("_lower", "_upper"))
            for k in np.flatnonzero(np.isnan(series) if one_sided else ~np.isfinite(series)):
                named = place_name(program, place, target)
                yield f"realisation {k}: the {target} of {named} is {series[k]:g}"
        yield from _bound_findings(program, known, len(self))


def _bound_findings(program: LinearProgram, known: Mapping[Place, Floats], count: int) -> Iterator[str]:
    """Tell where bounds that change cross each other, or are given in two ways at once."""
    for kind, names, both in (
        ("row", program.row_names, "rhs"),
        ("column", program.column_names, "fix"),
    ):
        sides = (f"{kind}_lower", f"{kind}_upper")
        for i in sorted({cast(int, place) for target, place in known if target in sides}):
            if (both, i) in known:
                given = " and ".join(side for side in sides if (side, i) in known)
                yield f"{kind} {names[i]!r} is changed by {both}, which sets both bounds, and by {given}"
                continue
            lower, upper = (known.get((side, i), np.full(count, getattr(program, side)[i])) for side in sides)
            labels = [f"realisation {k}: {kind} {names[i]!r}" for k in range(count)]
            told = np.isnan(lower) | np.isnan(upper)  # by the caller, in better words
            yield from bound_findings(labels, np.where(told, 0, lower), np.where(told, 0, upper))


def probability_findings(what: str, probabilities: Floats, *, at_most: bool = False) -> Iterator[str]:
    """Tell what is wrong with probabilities; ``at_most`` allows a sum below 1."""
    if not np.all(np.isfinite(probabilities)) or np.any(probabilities < 0):
        yield f"{what} are {', '.join(f'{p:g}' for p in probabilities)}: each must be a number from 0 to 1"
        return
    total = float(np.sum(probabilities))
    if total > 1 + PROBABILITY_TOLERANCE or (total < 1 - PROBABILITY_TOLERANCE and not at_most):
        yield f"{what} sum to {total:.12g}, " + ("which is above 1" if at_most else "not to 1")


def _place_findings(program: LinearProgram, target: str, place: int | tuple[int, int]) -> Iterator[str]:
    if target not in TARGETS:
        yield f"there is no such target, only {', '.join(TARGETS)}"
        return
    limits = {"row": program.rows, "column": program.columns}
    kinds = ("row", "column") if target == "coefficient" else (_kind(target),)
    indices: tuple[object, ...] = place if isinstance(place, tuple) else (place,)
    if len(indices) != len(kinds) or isinstance(place, tuple) != (target == "coefficient"):
        yield "it takes " + (
            "a pair of a row and a column" if len(kinds) > 1 else f"the number of a {kinds[0]}"
        )
        return
    for kind, index in zip(kinds, indices, strict=True):
        if not isinstance(index, int) or not 0 <= index < limits[kind]:
            yield f"there is no {kind} {index}"


def _plain(place: Any) -> Any:
    """NumPy's whole numbers as Python's; what is no number of a row or column is left for `findings`."""
    if isinstance(place, tuple):
        return tuple(_plain(index) for index in place)
    return int(place) if isinstance(place, np.integer) else place


def _kind(target: str) -> str:
    return "row" if target in ("rhs", "row_lower", "row_upper") else "column"


def place_name(program: LinearProgram, place: int | tuple[int, int], target: str) -> str:
    """Return what a realisation changes, by its name."""
    if isinstance(place, tuple):
        return f"row {program.row_names[place[0]]!r} and column {program.column_names[place[1]]!r}"
    kind = _kind(target)
    return f"{kind} {(program.row_names if kind == 'row' else program.column_names)[place]!r}"
