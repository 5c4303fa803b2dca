"""Elementary functions with the same bits on every processor.

Those of C and NumPy choose their code by the processor: with fused multiply-add, the last bit of some powers
and logarithms is another one. Here are only operations that IEEE 754 rounds correctly, in a written order.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# The logarithm of Sun's fdlibm, e_log.c: log(1 + f) by a polynomial in (f / (2 + f))².
_LOG = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10

_PER_LN2 = 1.4426950408889634
#: Far more digits than a double has.
_DIGITS = Context(prec=40)


def square(x: float) -> float:
    """Return ``x * x``; Python computes ``x**2`` by C's ``pow``, which is not always the same.

    >>> square(-1.5)
    2.25
    """
    return x * x


def power(base: float, exponent: float) -> float:
    """Return a positive number raised to a power, as decimal arithmetic has it.

    >>> power(1.21, 0.5)
    1.1
    """
    return float(_DIGITS.power(Decimal(base), Decimal(exponent)))


def natural_log(x: ArrayLike) -> Floats:
    """Return natural logarithms of positive, finite numbers, at most one unit in the last place away.

    >>> float(natural_log(1.0))
    0.0
    """
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))  # mantissas from 1/2 on
    low = mantissa < np.sqrt(0.5)
    f = np.where(low, 2.0 * mantissa, mantissa) - 1.0
    k = exponent - low.astype(np.float64)
    s = f / (2.0 + f)
    half_square = 0.5 * f * f
    remainder = s * (half_square + horner(_LOG, s * s) * (s * s))
    result: Floats = k * _LN2_HIGH - ((half_square - (remainder + k * _LN2_LOW)) - f)
    return result


def log2(x: ArrayLike) -> Floats:
    """Return logarithms to base 2 of positive, finite numbers; exact for powers of two.

    >>> log2([0.125, 1.0, 1024.0]).tolist()
    [-3.0, 0.0, 10.0]
    """
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    result: Floats = (exponent - 1) + natural_log(2.0 * mantissa) * _PER_LN2
    return result


def horner(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """Return the values of a polynomial, its coefficients from the highest power on."""
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
