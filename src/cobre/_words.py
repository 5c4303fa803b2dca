"""How numbers are told to people."""

from __future__ import annotations

import math


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number of things.

    >>> count(1, "bus"), count(2, "bus"), count(3, "trajectory", "trajectories")
    ('1 bus', '2 buses', '3 trajectories')
    """
    return f"{number} {one if number == 1 else many or one + ('es' if one.endswith('s') else 's')}"


def duration(seconds: float) -> str:
    """Return a time as short as it can be understood.

    >>> [duration(seconds) for seconds in (0.04, 5.25, 59.6, 83, 3723, 200_000)]
    ['0.0 s', '5.2 s', '1:00', '1:23', '1:02:03', '2 d 7:33:20']
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    days, rest = divmod(whole, 86_400)
    hours, minutes = rest // 3600, rest // 60 % 60
    clock = f"{hours}:{minutes:02}:{whole % 60:02}" if hours or days else f"{minutes}:{whole % 60:02}"
    return f"{days} d {clock}" if days else clock


def amount(value: float) -> str:
    """Return a cost or a bound, with all digits in front of the point if that is readable.

    >>> [amount(value) for value in (0.00123, 34.5, 15_223_448_102.44, 1e17, float("-inf"))]
    ['0.00123', '34.50', '15,223,448,102', '1e+17', '-inf']
    """
    size = abs(value)
    if not math.isfinite(value) or size >= 1e15 or 0 < size < 0.1:
        return f"{value:.6g}"
    return f"{value:,.0f}" if size >= 1e5 else f"{value:,.2f}"
