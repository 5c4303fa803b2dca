"""What every figure has: a question, choices, numbers and a drawing."""

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
from cobre.results import Results

#: The rows of a figure, column by column, in JSON's types.
Columns = dict[str, list[Any]]
#: What may be chosen, by its name: the words for each value. None stands for all together.
Options = dict[str, dict[int | None, str]]
#: What was chosen.
Choice = dict[str, int | None]

#: To how many digits numbers are rounded for drawing: finer than a picture, coarser than a file of floats.
DIGITS = 6


@dataclass(frozen=True)
class Figure:
    """A figure that can be drawn from results.

    Attributes:
        name: by which it is asked for.
        title: above it.
        question: of a planner's, which it answers.
        choices: what may be chosen: ``"hydro"``, ``"bus"``, ``"stage"``.
    """

    name: str
    title: str
    question: str
    rows_of: Callable[..., Columns] = field(repr=False)
    chart_of: Callable[[Results, Theme], Any] = field(repr=False)
    caption_of: Callable[..., str] = field(repr=False)
    choices: tuple[str, ...] = ()
    options_of: Callable[[Results], Options] = field(default=lambda results: {}, repr=False)
    size: tuple[int, int] = (720, 320)

    def options(self, source: Source) -> Options:
        """Return what may be chosen: by each of ``choices``, values with words for them, the default first.

        Raises:
            ResultsError: the results have not what the figure shows.
        """
        return self.options_of(opened(source))

    def chosen(self, source: Source, given: Mapping[str, str | int | None]) -> Choice:
        """Turn ids and names into what ``options`` has; what is not given is the default.

        Raises:
            InvalidChoice: there is no such choice, or nothing is called so.
            ResultsError: the results have not what the figure shows.
        """
        options = self.options(source)
        if unknown := [name for name in given if name not in self.choices]:
            raise InvalidChoice(f"choice of figure {self.name}", unknown[0], self.choices)
        return {name: find(name, given.get(name), values) for name, values in options.items()}


def find(what: str, given: str | int | None, values: Mapping[int | None, str]) -> int | None:
    """Return the value that is meant by an id, a name or its beginning; the first if nothing is given.

    Raises:
        InvalidChoice: none is.

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
    """Numbers for drawing: to six digits, whole ones without a point, None for what is not finite.

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
    """A sum of money where there is little room for it; `cobre._words.money` has more.

    >>> brief(16341184655.3), brief(1234), brief(512e6, 2), brief(0.5), brief(0)
    ('16.34 bn', '1.234 k', '510 M', '0.5', '0')
    """
    short = float(f"{number:.{digits}g}")
    for factor, prefix in ((1e12, " tn"), (1e9, " bn"), (1e6, " M"), (1e3, " k")):
        if abs(short) >= factor:
            return _typeset(f"{short / factor:.12g}{prefix}")
    return _typeset(f"{short:.12g}")


def grouped(number: float, digits: int = 4) -> str:
    """A quantity in words: its thousands apart.

    >>> grouped(102345.6), grouped(3.14159), grouped(-0.0)
    ('102,300', '3.142', '0')
    """
    return _typeset(f"{float(f'{number:.{digits}g}') + 0.0:,.12g}")


def _typeset(number: str) -> str:
    return number.replace("-", "\u2212")  # a minus is as wide as a plus
