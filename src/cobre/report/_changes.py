"""Differences between two sets of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.report._panel import Floats


@dataclass(frozen=True)
class Change:
    """Setting, version or file that differs; None where a result does not have it."""

    name: str
    a: Any
    b: Any


def changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Change, ...]:
    """Entries that differ, in the order of the first mapping."""
    names = dict.fromkeys([*a, *b])
    return tuple(Change(name, a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name))


def same_bits(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Mask of numbers that are equal to the last bit; -0 and 0 differ."""
    one, two = (np.ascontiguousarray(values, np.float64).view(np.int64) for values in (a, b))
    return np.asarray(one == two)
