"""Numbers of an MSPFormat file: constants, names of random numbers, or sums and products of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

INFINITE = {"inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Number:
    """A number that may depend on random ones.

    Attributes:
        steps: what is done one after the other, beginning with 0: ``"ADD"`` or ``"MUL"``, and a constant or a
            name. A product that comes first begins with 1.
    """

    steps: tuple[tuple[str, float | str], ...]

    @classmethod
    def of(cls, written: Any) -> Number:
        """Take a number as it is written.

        Raises:
            ValueError: it is something else.

        >>> Number.of([{"ADD": "demand"}, {"MUL": -1.0}]).at({"demand": 5.0})
        -5.0
        """
        parts = written if isinstance(written, list) else [written]
        if not parts:
            raise ValueError("it is empty")
        if len(parts) == 1 and not isinstance(parts[0], Mapping):
            return cls((("ADD", _operand(parts[0])),))
        steps = []
        for part in parts:
            if not isinstance(part, Mapping) or len(part) != 1 or not part.keys() <= {"ADD", "MUL"}:
                raise ValueError(f"{part!r} is neither a number nor a name, nor an ADD or MUL of one")
            [(operation, operand)] = part.items()
            steps.append((operation, _operand(operand)))
        return cls(tuple(steps))

    @property
    def names(self) -> Iterator[str]:
        """The random numbers that it depends on."""
        return (operand for _, operand in self.steps if isinstance(operand, str))

    def at(self, realization: Mapping[str, float]) -> float:
        """Return its value in a realisation."""
        value = 1.0 if self.steps[0][0] == "MUL" else 0.0
        for operation, operand in self.steps:
            factor = realization[operand] if isinstance(operand, str) else operand
            value = value * factor if operation == "MUL" else value + factor
        return value


def _operand(written: Any) -> float | str:
    if isinstance(written, list) and len(written) == 1:
        written = written[0]
    if isinstance(written, str):
        return INFINITE.get(written.lower(), written)
    if isinstance(written, bool) or not isinstance(written, int | float) or math.isnan(written):
        raise ValueError(f"{written!r} is neither a number nor a name")
    return float(written)
