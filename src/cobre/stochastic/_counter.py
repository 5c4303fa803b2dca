"""A counter-based generator for whole arrays: Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Words = NDArray[np.uint64]

#: More coordinates do not fit into the counter.
COORDINATES = 4

_LOW = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD251_1F53), np.uint64(0xCD9E_8D57)
_KEY_STEPS = 0x9E37_79B9, 0xBB67_AE85
_ROUNDS = 10


def uniforms(seed: int, *coordinates: ArrayLike) -> NDArray[np.float64]:
    """Return two uniform numbers for each point: a pure function of the seed and the point's coordinates.

    Numbers of different points, and those of one point, are independent for all practical purposes.
    Coordinates that are not given are 0.

    Args:
        seed: from 0 to 2**64 - 1.
        coordinates: up to four integers from 0 to 2**32 - 1, or arrays of them, which are broadcast.

    Returns:
        Numbers in [0, 1), multiples of 2**-53, in the shape of the coordinates and a last axis of length 2.

    Raises:
        ValueError: the seed or a coordinate is negative or too large, or there are too many of them.
        TypeError: they are not integers.

    >>> uniforms(7, 1, 2, 3).shape
    (2,)
    >>> table = uniforms(7, 1, np.arange(5)[:, None], np.arange(12))
    >>> table.shape
    (5, 12, 2)
    >>> bool((table[2, 3] == uniforms(7, 1, 2, 3)).all())
    True
    """
    words = philox(_checked_seed(seed), _counter(coordinates))
    pairs = np.stack([words[0] << _HALF | words[1], words[2] << _HALF | words[3]], axis=-1)
    return (pairs >> np.uint64(11)).astype(np.float64) * 2.0**-53


def generator(seed: int, *coordinates: int) -> np.random.Generator:
    """Return NumPy's generator for one point, for sampling of one's own.

    Different coordinates give streams that do not overlap in the first 2**66 numbers.

    Args:
        seed: from 0 to 2**64 - 1.
        coordinates: up to four integers from 0 to 2**32 - 1.

    Raises:
        ValueError: the seed or a coordinate is negative or too large, or there are too many of them.
        TypeError: they are not integers.

    >>> generator(7, 1, 2).normal() == generator(7, 1, 2).normal()
    True
    """
    words = [int(word) for word in _counter(coordinates)]
    # NumPy counts on from here in the lowest 64 bits, which are left to it.
    counter = sum(word << 64 + 32 * place for place, word in enumerate(words))
    return np.random.Generator(np.random.Philox(counter=counter, key=_checked_seed(seed)))


def philox(key: int, counter: tuple[_Words, _Words, _Words, _Words]) -> tuple[_Words, _Words, _Words, _Words]:
    """Return the four 32-bit words of each counter, in 64-bit integers; the key's low word is its first."""
    keys = [key & 0xFFFF_FFFF, key >> 32]
    a, b, c, d = counter
    for _ in range(_ROUNDS):
        left, right = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (
            right >> _HALF ^ b ^ np.uint64(keys[0]),
            right & _LOW,
            left >> _HALF ^ d ^ np.uint64(keys[1]),
            left & _LOW,
        )
        keys = [word + step & 0xFFFF_FFFF for word, step in zip(keys, _KEY_STEPS, strict=True)]
    return a, b, c, d


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"the seed is {seed!r}; give an integer")
    if not 0 <= seed < 2**64:
        raise ValueError(f"the seed is {seed}; give an integer from 0 to 2**64 - 1")
    return int(seed)


def _counter(coordinates: tuple[Any, ...]) -> tuple[_Words, _Words, _Words, _Words]:
    if len(coordinates) > COORDINATES:
        raise ValueError(f"{len(coordinates)} coordinates; give at most {COORDINATES}")
    given = [_checked(place, np.asarray(value)) for place, value in enumerate(coordinates)]
    absent = [np.zeros((), np.uint64)] * (COORDINATES - len(given))
    first, second, third, fourth = np.broadcast_arrays(*given, *absent)
    return first, second, third, fourth


def _checked(place: int, values: NDArray[Any]) -> _Words:
    # An integer beyond 64 bits comes as an object.
    if values.dtype.kind not in "iu" and not all(type(value) is int for value in values.flat):
        raise TypeError(f"coordinate {place} has elements of type {values.dtype}; give integers")
    wrong = (values < 0) | (values > 0xFFFF_FFFF)
    if np.any(wrong):
        raise ValueError(
            f"coordinate {place} has the value {values[wrong].flat[0]}; give integers from 0 to 2**32 - 1"
        )
    return values.astype(np.uint64)
