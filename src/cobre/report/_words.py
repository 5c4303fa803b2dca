"""Numbers as people read them."""

from __future__ import annotations

import math

_SCALES = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1.0, ""))
#: What stopped a training, by the names of the rules in ``config.json``.
_RULES = {
    "iteration_limit": "the iteration limit",
    "time_limit": "the time limit",
    "bound_stalling": "a bound that no longer moves",
    "statistical": "a bound within the sampling error",
    "simulation": "simulations that no longer change",
    "gap": "a gap that is small enough",
}


def money(value: float, digits: int = 4) -> str:
    """Return an amount with so many digits.

    >>> money(16341184655.3), money(-1234.5), money(0.0)
    ('16.34 billion $', '-1,234 $', '0 $')
    """
    scale, word = _scale(value)
    return f"{_digits(value / scale, digits)}{word} $"


def money_between(mean: float, half: float) -> str:
    """Return an amount and by how much it may be off, to the digits that this leaves certain.

    >>> money_between(16408123456.0, 331234567.0), money_between(5.0, 0.0)
    ('16.41 ± 0.33 billion $', '5.000 ± 0.000 $')
    """
    scale, word = _scale(mean)
    places = 3
    if half > 0:
        places = min(max(1 - math.floor(math.log10(half / scale)), 0), 6)
    return f"{mean / scale:,.{places}f} ± {half / scale:,.{places}f}{word} $"


def percent(share: float) -> str:
    """Return a share in percent: two digits, and a trifle as such.

    >>> percent(0.7149), percent(0.0041), percent(0.0000026), percent(0.0)
    ('71 %', '0.41 %', 'less than 0.001 %', '0 %')
    """
    value = 100 * share
    if 0 < abs(value) < 0.001:
        return "less than 0.001 %"
    if abs(value) >= 10 or value == 0:
        return f"{value:.0f} %"
    return f"{_digits(value, 2)} %"


def duration(seconds: float) -> str:
    """Return a time in its two largest units.

    >>> duration(0.25), duration(25.0), duration(98.4), duration(7265.0)
    ('0.25 s', '25 s', '1 min 38 s', '2 h 1 min')
    """
    if seconds < 59.5:
        return f"{_digits(seconds, 2)} s"
    minutes = round(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {round(seconds) % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"


def count(number: int, name: str) -> str:
    """Return a number of things.

    >>> count(1, "worker"), count(27383, "cut")
    ('1 worker', '27,383 cuts')
    """
    return f"{number:,} {name}{'s'[: number != 1]}"


def stopped(reason: str) -> str:
    """Return what stopped a training, from the name of the rule or rules.

    >>> stopped("iteration_limit+bound_stalling"), stopped("of another kind")
    ('the iteration limit and a bound that no longer moves', 'of another kind')
    """
    return " and ".join(_RULES.get(rule, rule) for rule in reason.split("+"))


def _scale(value: float) -> tuple[float, str]:
    return next(((scale, word) for scale, word in _SCALES if abs(value) >= scale), _SCALES[-1])


def _digits(value: float, digits: int) -> str:
    """So many digits, but all of those before the point."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{places}f}"
