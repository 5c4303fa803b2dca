"""Comparisons that say what was expected. No bare asserts: ``python -O`` would remove them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def expect(condition: object, message: str) -> None:
    """Fail with ``message`` unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def equal(actual: object, expected: object, what: str) -> None:
    """Fail unless both are equal."""
    expect(actual == expected, f"{what}: expected {expected!r}, got {actual!r}")


def difference(actual: NDArray[Any], expected: NDArray[Any], what: str) -> str:
    """Say in which dtype, length or element, bit for bit, two arrays first differ; empty if in none."""
    if (actual.dtype, actual.size) != (expected.dtype, expected.size):
        return f"{what}: expected {expected.size} × {expected.dtype}, got {actual.size} × {actual.dtype}"  # noqa: RUF001
    if actual.tobytes() == expected.tobytes():
        return ""
    size = actual.dtype.itemsize
    as_rows = [np.frombuffer(array.tobytes(), np.uint8).reshape(-1, size) for array in (actual, expected)]
    first = int(np.flatnonzero((as_rows[0] != as_rows[1]).any(axis=1))[0])
    return f"{what}: element {first} should be {expected.flat[first]!r}, is {actual.flat[first]!r}"


def same_bits(actual: NDArray[Any], expected: NDArray[Any], what: str) -> None:
    """Fail unless both arrays have the same dtype, length and bytes; name the first that differs."""
    found = difference(actual, expected, what)
    expect(not found, found)


def same_bits_on_all_ranks(results: Iterable[NDArray[Any]], expected: NDArray[Any], what: str) -> None:
    """Fail unless every rank's result has the expected bits."""
    for rank, result in enumerate(results):
        same_bits(result, expected, f"{what} on rank {rank}")


def raised_by(call: Callable[..., object], /, *args: Any, **kwargs: Any) -> Exception | None:
    """Return what a call raises, for comparison where all ranks' results are at hand."""
    try:
        call(*args, **kwargs)
    except Exception as exc:  # noqa: BLE001  which error it is, is what is checked
        return exc
    return None


def mixed_magnitudes(seed: int, rank: int, count: int) -> NDArray[np.float64]:
    """Return doubles of very different size and both signs, whose sum depends on the order."""
    generator = np.random.default_rng([seed, rank])
    numbers: NDArray[np.float64] = generator.standard_normal(count) * 10.0 ** generator.integers(
        -12, 13, count
    )
    return numbers
