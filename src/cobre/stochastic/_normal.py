"""The inverse of the standard normal distribution function, by arithmetic that has the same bits everywhere.

Only operations that IEEE 754 rounds correctly are used. NumPy's own logarithm is not among them: its last bit
depends on the processor, and two nodes of one cluster may have different ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.elementary import horner, natural_log

_Floats = NDArray[np.float64]
#: No number of `standard_normals` is further from 0.
MOST_NORMAL = 8.21

# Wichura 1988, AS 241, PPND16: numerator and denominator of three rational functions, highest power first.
_CENTRE = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_TAIL = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_FAR_TAIL = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)


def normal_quantile(probabilities: ArrayLike) -> _Floats:
    """Return the numbers below which a standard normal variable lies with the given probabilities.

    The relative error is about 1e-15 (Wichura 1988, AS 241, PPND16). Each element depends on its own
    probability only, so whole arrays have the bits of their elements one by one.

    Raises:
        ValueError: a probability is not between 0 and 1; the bounds themselves have no finite quantile.

    >>> normal_quantile([0.5, 0.975]).round(6).tolist()
    [0.0, 1.959964]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    wrong = ~((p > 0) & (p < 1))
    if np.any(wrong):
        raise ValueError(f"{p[wrong].flat[0]} is no probability strictly between 0 and 1")
    q = p - 0.5
    centre = _ratio(_CENTRE, 0.180625 - q * q) * q
    r = np.sqrt(-natural_log(np.where(q <= 0, p, 1.0 - p)))
    tail = np.where(r <= 5.0, _ratio(_TAIL, r - 1.6), _ratio(_FAR_TAIL, r - 5.0))
    return np.where(np.abs(q) <= 0.425, centre, np.where(q < 0, -tail, tail))


def standard_normals(uniforms: ArrayLike) -> _Floats:
    """Return standard normal numbers made of uniform ones in [0, 1), by inversion.

    Of a uniform number 52 bits are used, and it stands for the middle of its cell: the result is finite, and
    its distribution exactly symmetric.

    >>> standard_normals([0.0, 0.25, 1 - 2**-53]).round(4).tolist()
    [-8.2095, -0.6745, 8.2095]
    """
    cells = np.floor(np.asarray(uniforms, dtype=np.float64) * 2.0**52)
    return normal_quantile((cells + 0.5) * 2.0**-52)


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: _Floats) -> _Floats:
    # Outside its own range a rational function means nothing and may overflow; np.where drops it.
    with np.errstate(all="ignore"):
        return horner(coefficients[0], x) / horner(coefficients[1], x)
