"""What differs between the realisations of a stage."""

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

#: How far from 1 a sum of probabilities may be.
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
        self.places = places
        self.table = np.ascontiguousarray(table)
        self.probabilities = (
            np.full(count, 1 / max(count, 1))
            if probabilities is None
            else np.array(probabilities, np.float64)
        )
        self.table.flags.writeable = False
        self.probabilities.flags.writeable = False

    def __len__(self) -> int:
        """How many realisations there are."""
        return len(self.table)

    def findings(self, program: LinearProgram) -> Iterator[str]:
        """Tell everything that is wrong with it as the noise of ``program``, which has no findings itself.

        >>> program = LinearProgram([1.0], [[1.0]])
        >>> list(Noise([0.5, 0.6], rhs={0: [1, np.nan]}, cost={4: [1, 2]}).findings(program))
        ['the probabilities of the realisations sum to 1.1', "cost of 4: there is no column 4",
         "realisation 1: the rhs of row 'r0' is nan"]
        """
        if not len(self):
            yield "there are no realisations"
            return
        yield from probability_findings("the probabilities of the realisations", self.probabilities)
        known = []
        for w, (target, place) in enumerate(self.places):
            problems = list(_place_findings(program, target, place))
            yield from (f"{target} of {place}: {problem}" for problem in problems)
            if not problems:
                known.append(w)
        for w in known:
            target, place = self.places[w]
            needs_finite = target in ("rhs", "fix", "cost", "coefficient")
            wrong = ~np.isfinite(self.table[:, w]) if needs_finite else np.isnan(self.table[:, w])
            for k in np.flatnonzero(wrong):
                yield f"realisation {k}: the {target} of {_name(program, place, target)} is {self.table[k, w]:g}"
        for what, names, lower, upper in (
            ("row", program.row_names, "row_lower", "row_upper"),
            ("column", program.column_names, "column_lower", "column_upper"),
        ):
            changed = sorted(
                {cast(int, self.places[w][1]) for w in known if self.places[w][0] in (lower, upper)}
            )
            for i in changed:
                lows, highs = (self._series(side, i, getattr(program, side)[i]) for side in (lower, upper))
                labels = [f"realisation {k}: {what} {names[i]!r}" for k in range(len(self))]
                yield from (
                    finding for finding in bound_findings(labels, lows, highs) if not finding.endswith("nan")
                )

    def _series(self, target: str, place: int, default: float) -> Floats:
        if (target, place) in self.places:
            return self.table[:, self.places.index((target, place))]
        return np.full(len(self), default)


def probability_findings(what: str, probabilities: Floats, *, at_most: bool = False) -> Iterator[str]:
    """Tell what is wrong with probabilities; ``at_most`` lets them leave something to be desired."""
    if not np.all(np.isfinite(probabilities)) or np.any(probabilities < 0):
        yield f"{what} are {', '.join(f'{p:g}' for p in probabilities)}: each must be a number from 0 to 1"
        return
    total = float(np.sum(probabilities))
    if total > 1 + PROBABILITY_TOLERANCE if at_most else abs(total - 1) > PROBABILITY_TOLERANCE:
        yield f"{what} sum to {total:.12g}" + (", which is above 1" if at_most else "")


def _place_findings(program: LinearProgram, target: str, place: int | tuple[int, int]) -> Iterator[str]:
    if target not in TARGETS:
        yield f"there is no target {target!r}, only {', '.join(TARGETS)}"
        return
    limits = {"row": program.rows, "column": program.columns}
    kinds = ("row", "column") if target == "coefficient" else (_kind(target),)
    indices = place if isinstance(place, tuple) else (place,)
    if len(indices) != len(kinds):
        yield f"it takes {' and '.join(kinds)}"
        return
    for kind, index in zip(kinds, indices, strict=True):
        if not 0 <= index < limits[kind]:
            yield f"there is no {kind} {index}"


def _kind(target: str) -> str:
    return "row" if target in ("rhs", "row_lower", "row_upper") else "column"


def _name(program: LinearProgram, place: int | tuple[int, int], target: str) -> str:
    if isinstance(place, tuple):
        return f"row {program.row_names[place[0]]!r} and column {program.column_names[place[1]]!r}"
    kind = _kind(target)
    return f"{kind} {(program.row_names if kind == 'row' else program.column_names)[place]!r}"
