"""Definition of a figure: the question it answers, its options, data and chart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.errors import InvalidChoice
from cobre.report._source import Source, opened
from cobre.report._theme import Theme

#: Data of a figure by column, as JSON-compatible types.
Columns = dict[str, list[Any]]
#: Options by name: the label of each value; None stands for all together.
Options = dict[str, dict[int | None, str]]
#: Chosen values by option.
Choice = dict[str, int | None]

#: Significant digits of drawn numbers: finer than a pixel, and shorter than full floats.
DIGITS = 6


@dataclass(frozen=True)
class Figure:
    """Figure that can be drawn from results.

    Attributes:
        name: as in ``cobre plot DIR name``.
        title: heading.
        question: the planner's question that it answers.
        choices: names of its options: ``"hydro"``, ``"bus"``, ``"stage"``.
    """

    name: str
    title: str
    question: str
    rows_of: Callable[..., Columns] = field(repr=False)
    chart_of: Callable[[Any, Theme], Any] = field(repr=False)
    caption_of: Callable[..., str] = field(repr=False)
    choices: tuple[str, ...] = ()
    options_of: Callable[[Any], Options] = field(default=lambda results: {}, repr=False)
    size: tuple[int, int] = (720, 320)

    def options(self, source: Source) -> Options:
        """Return the values of each of ``choices`` with their labels, the default first.

        Raises:
            ResultsError: the results lack the data for this figure.
        """
        return self.options_of(opened(source))

    def chosen(self, source: Source, given: Mapping[str, str | int | None]) -> Choice:
        """Resolve ids and names to values of ``options``; an option that is not given has its default.

        Raises:
            InvalidChoice: there is no such option or value.
            ResultsError: the results lack the data for this figure.
        """
        options = self.options(source)
        if unknown := [name for name in given if name not in self.choices]:
            raise InvalidChoice(f"option of figure {self.name}", unknown[0], self.choices)
        return {name: find(name, given.get(name), values) for name, values in options.items()}


def find(what: str, given: str | int | None, values: Mapping[int | None, str]) -> int | None:
    """Return the value for an id, a name or its beginning; the first value if nothing is given.

    Raises:
        InvalidChoice: no value matches, or more than one.

    >>> find("hydro", "lake", {3: "Lake", 4: "River"}), find("hydro", "4", {3: "Lake", 4: "River"})
    (3, 4)
    """
    if given is None:
        return next(iter(values))
    named = [value for value, name in values.items() if name == given]
    alike = [value for value, name in values.items() if name.lower() == str(given).lower()]
    numbered = [value for value in values if value is not None and str(value) == str(given)]
    begun = [value for value, name in values.items() if name.lower().startswith(str(given).lower())]
    for found in (named, numbered, alike, begun):
        if len(found) == 1:
            return found[0]
    raise InvalidChoice(what, str(given), list(values.values()))


def rounded(values: NDArray[np.float64] | Sequence[float]) -> list[float | int | None]:
    """Numbers for drawing: six digits, whole ones as integers, None for what is not finite.

    >>> rounded([1234567.0, 0.1234567, 3.0, math.nan])
    [1234570, 0.123457, 3, None]
    """
    array = np.asarray(values, np.float64)
    return [_short(number) for number in array.tolist()]


def _short(number: float) -> float | int | None:
    if not math.isfinite(number):
        return None
    short = float(f"{number:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def brief(number: float, digits: int = 4) -> str:
    """Amount of money where space is short; `cobre.formatting.money` gives the long form.

    >>> brief(16341184655.3), brief(1234), brief(512e6, 2), brief(0.5), brief(0)
    ('16.34 bn', '1.234 k', '510 M', '0.5', '0')
    """
    short = float(f"{number:.{digits}g}")
    for factor, prefix in ((1e12, " tn"), (1e9, " bn"), (1e6, " M"), (1e3, " k")):
        if abs(short) >= factor:
            return _typeset(f"{short / factor:.12g}{prefix}")
    return _typeset(f"{short:.12g}")


def grouped(number: float, digits: int = 4) -> str:
    """Quantity with thousands separators.

    >>> grouped(102345.6), grouped(3.14159), grouped(-0.0)
    ('102,300', '3.142', '0')
    """
    return _typeset(f"{float(f'{number:.{digits}g}') + 0.0:,.12g}")


def _typeset(number: str) -> str:
    return number.replace("-", "\u2212")  # a minus is as wide as a plus
