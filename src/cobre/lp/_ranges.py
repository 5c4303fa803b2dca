"""The sizes of a programme's numbers, as they are written and as the solver gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from cobre.lp._noise import Noise
from cobre.lp._program import Floats, LinearProgram
from cobre.lp._scaling import scales_of


class Extreme(NamedTuple):
    """The least or the greatest number of some.

    Attributes:
        size: its absolute value.
        scaled: the same in the units in which the programme is solved.
        place: whose it is: a column, a row, or a row and a column.
    """

    size: float
    scaled: float
    place: str


class NumberRange(NamedTuple):
    """The extremes of the numbers of one part of a programme that are neither 0 nor infinite.

    Attributes:
        part: ``"coefficients"``, ``"costs"``, ``"bounds"`` or ``"right-hand sides"``.
        least: as written.
        greatest: as written.
        scaled_least: as solved.
        scaled_greatest: as solved.
    """

    part: str
    least: Extreme
    greatest: Extreme
    scaled_least: Extreme
    scaled_greatest: Extreme

    def joined(self, other: NumberRange) -> NumberRange:
        """Return the range of the numbers of both."""
        return NumberRange(
            self.part,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            min(self.scaled_least, other.scaled_least, key=_by_scaled),
            max(self.scaled_greatest, other.scaled_greatest, key=_by_scaled),
        )

    def at(self, owner: str) -> NumberRange:
        """Return the range with a name before all places."""
        extremes = [one._replace(place=f"{owner}, {one.place}") for one in self[1:]]
        return NumberRange(self.part, *extremes)


def _by_scaled(extreme: Extreme) -> float:
    return extreme.scaled


#: A part, the factors of its numbers when solved, and how each is called.
_Part = tuple[str, Floats, Callable[[int], str]]


class _Numbers(NamedTuple):
    """Some numbers, their factors when solved, and how each is called."""

    values: Floats
    factors: Floats
    name: Callable[[int], str]


def number_ranges(program: LinearProgram, noise: Noise) -> Iterator[NumberRange]:
    """Yield the ranges of all parts that have numbers, over all realisations.

    >>> program = LinearProgram([2.0, 0.5], [[1024, 2048]], row_lower=4096)
    >>> [(one.part, one.least.size, one.greatest.place) for one in number_ranges(program, Noise())]
    [('coefficients', 1024.0, 'r0, x1'), ('costs', 0.5, 'x0'), ('right-hand sides', 4096.0, 'r0')]
    """
    for part, several in _parts(program, noise).items():
        found = [one for one in map(_extremes, several) if one]
        if found:
            least, greatest = min(one[0] for one in found), max(one[1] for one in found)
            scaled = [extreme for one in found for extreme in one[2:]]
            low, high = min(scaled, key=_by_scaled), max(scaled, key=_by_scaled)
            yield NumberRange(part, least, greatest, low, high)


def _parts(program: LinearProgram, noise: Noise) -> dict[str, list[_Numbers]]:
    scales, matrix = scales_of(program, noise), program.matrix
    row, column = program.row_names.__getitem__, program.column_names.__getitem__

    def entry(k: int) -> str:
        return f"{row(int(matrix.rows[k]))}, {column(int(matrix.columns[k]))}"

    coefficients = scales.row[matrix.rows] * scales.column[matrix.columns]
    costs: _Part = ("costs", scales.column * scales.cost, column)
    bounds: _Part = ("bounds", 1 / scales.column, column)
    sides: _Part = ("right-hand sides", scales.row, row)
    found = {
        "coefficients": [_Numbers(matrix.values, coefficients, entry)],
        "costs": [_Numbers(program.costs, *costs[1:])],
        "bounds": [_Numbers(one, *bounds[1:]) for one in (program.column_lower, program.column_upper)],
        "right-hand sides": [_Numbers(one, *sides[1:]) for one in (program.row_lower, program.row_upper)],
    }
    changed = dict.fromkeys(("fix", "column_lower", "column_upper"), bounds)
    changed |= {"cost": costs, "rhs": sides, "row_lower": sides, "row_upper": sides}
    for values, (target, place) in zip(noise.table.T, noise.places, strict=True):
        if isinstance(place, tuple):
            i, j = place
            part, factor, name = "coefficients", scales.row[i] * scales.column[j], f"{row(i)}, {column(j)}"
        else:
            part, factors, names = changed[target]
            factor, name = factors[place], names(place)
        found[part].append(_Numbers(values, np.full(len(values), factor), partial(_same, name)))
    return found


def _same(name: str, _number: int) -> str:
    return name


def _extremes(numbers: _Numbers) -> tuple[Extreme, Extreme, Extreme, Extreme] | None:
    sizes = np.abs(numbers.values)
    where = np.flatnonzero(np.isfinite(sizes) & (sizes > 0))
    if not len(where):
        return None
    scaled = sizes * numbers.factors

    def extreme(k: int) -> Extreme:
        return Extreme(float(sizes[k]), float(scaled[k]), numbers.name(k))

    least, greatest = where[np.argmin(sizes[where])], where[np.argmax(sizes[where])]
    low, high = where[np.argmin(scaled[where])], where[np.argmax(scaled[where])]
    return extreme(int(least)), extreme(int(greatest)), extreme(int(low)), extreme(int(high))
