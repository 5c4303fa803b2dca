"""Numbers for tests that have the same bits on every processor.

NumPy's powers, exponentials and sines, BLAS's products and the mathematical library round their last bit as
the processor's instructions suit them. What is made here comes from integers by steps that are exact, or
rounded once in an order that is written down.
"""

import numpy as np


def fractions(rng, low, high, size=None):
    """Multiples of a millionth, in binary, from ``low`` to ``high``, which are integers."""
    return np.ldexp(np.asarray(rng.integers(low << 20, high << 20, size, endpoint=True), float), -20)


def sizes(rng, low, high, shape):
    """Numbers of all sizes from two to the ``low`` to two to the ``high``."""
    return np.ldexp(1 + fractions(rng, 0, 1, shape), rng.integers(low, high, shape))


def product(left, right):
    """The matrix product, summed from the first column of ``left`` to the last."""
    total = np.zeros((len(left), right.shape[1]))
    for k in range(len(right)):
        total += left[:, k, None] * right[k]
    return total
