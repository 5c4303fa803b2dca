"""Stratified and low-discrepancy point sets, each point of them uniform by itself.

All are made of the counter-based generator and of integers, so they have the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cobre.stochastic._counter import uniforms
from cobre.stochastic._linear import Floats

#: The most dimensions that `sobol` has direction numbers for.
MOST_SOBOL = 1111

#: What numbers are for, in the lowest byte of the last coordinate; see `_openings`.
_LATIN, _HALTON, _SHIFT, _SOBOL = 3, 4, 5, 6
_BITS = 32


def latin(seed: int, stage: int, count: int, dimension: int) -> Floats:
    """Return a Latin hypercube (McKay, Beckman and Conover 1979): one point in each of ``count`` layers.

    >>> sorted(np.floor(4 * latin(7, 0, 4, 1)[:, 0]).tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    numbers = uniforms(seed, stage, np.arange(count)[:, None], 0, _purpose(_LATIN, dimension))
    layer = np.argsort(np.argsort(numbers[..., 0], axis=0, kind="stable"), axis=0, kind="stable")
    return _below_one((layer + numbers[..., 1]) / count)


def halton(seed: int, stage: int, count: int, dimension: int) -> Floats:
    """Return a Halton sequence, its digits permuted at random (Braaten and Weller 1979).

    >>> sorted(np.floor(4 * halton(7, 0, 4, 1)[:, 0]).tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    # Digits beyond those that tell the points apart are random too: the same for all, so a shift.
    rest = uniforms(seed, stage, 0, 0, _purpose(_SHIFT, dimension))[..., 0]
    result = np.empty((count, dimension))
    for element, base in enumerate(_primes(dimension)):
        numbers, scale, position = np.arange(count), 1.0, 0
        total = np.zeros(count)
        while base**position < count or position == 0:
            scale /= base
            order = uniforms(seed, stage, np.arange(base), position, (element + 1) * 256 + _HALTON)[:, 0]
            digits = np.argsort(order, kind="stable")
            total += digits[numbers % base] * scale
            numbers, position = numbers // base, position + 1
        result[:, element] = total + rest[element] * scale
    return _below_one(result)


def sobol(seed: int, stage: int, count: int, dimension: int) -> Floats:
    """Return a Sobol' sequence (1967), shifted at random, bit by bit (Cranley and Patterson 1976).

    Direction numbers are those of Joe and Kuo 2008.

    Raises:
        ValueError: there are too many dimensions.

    >>> sorted(np.floor(4 * sobol(7, 0, 4, 1)[:, 0]).tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    if dimension > MOST_SOBOL:
        raise ValueError(f"{dimension} dimensions; there are direction numbers for {MOST_SOBOL}")
    directions = _directions()[:dimension]
    numbers = np.arange(count, dtype=np.uint64)
    points = np.zeros((count, dimension), np.uint64)
    for bit in range(max(count - 1, 1).bit_length()):
        chosen = (numbers >> np.uint64(bit) & np.uint64(1)).astype(bool)
        points[chosen] ^= directions[:, bit]
    shift, rest = np.moveaxis(uniforms(seed, stage, 0, 0, _purpose(_SOBOL, dimension)), -1, 0)
    shifted = points ^ np.floor(shift * 2.0**_BITS).astype(np.uint64)
    return _below_one((shifted + rest) * 2.0**-_BITS)


#: By the name of the method in the case format.
POINTS: dict[str, Callable[[int, int, int, int], Floats]] = {
    "lhs": latin,
    "qmc_halton": halton,
    "qmc_sobol": sobol,
}


def _purpose(purpose: int, dimension: int) -> NDArray[np.int64]:
    return np.arange(1, dimension + 1) * 256 + purpose


def _below_one(points: Floats) -> Floats:
    """Bring numbers that rounding has lifted to 1 back below it."""
    return np.minimum(points, 1 - 2.0**-53)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
        number += 1
    return found


@cache
def _directions() -> NDArray[np.uint64]:
    """Dimensions by bits: what each bit of a point's number does to the point."""
    result = np.zeros((MOST_SOBOL, _BITS), np.uint64)
    result[0] = [1 << _BITS - 1 - bit for bit in range(_BITS)]
    lines = Path(__file__).with_name("joe_kuo.txt").read_text(encoding="utf-8").splitlines()
    for row, line in enumerate((line for line in lines if not line.startswith("#")), 1):
        degree, polynomial, *initial = map(int, line.split())
        own = [number << _BITS - 1 - bit for bit, number in enumerate(initial)]
        for bit in range(degree, _BITS):
            value = own[bit - degree] ^ own[bit - degree] >> degree
            for k in range(1, degree):
                if polynomial >> degree - 1 - k & 1:
                    value ^= own[bit - k]
            own.append(value)
        result[row] = own[:_BITS]
    return result
