"""Differences between two results, as such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.report._panel import Floats


@dataclass(frozen=True)
class Change:
    """A setting, version or file that is not the same; None where a result does not have it."""

    name: str
    a: Any
    b: Any


def changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Change, ...]:
    """What is not the same in both, in the order of the first."""
    names = dict.fromkeys([*a, *b])
    return tuple(Change(name, a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name))


def same_bits(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Where numbers are the same to the last bit, which tells even -0 from 0."""
    one, two = (np.ascontiguousarray(values, np.float64).view(np.int64) for values in (a, b))
    return np.asarray(one == two)
