"""From the statistics of inflows, as files have them, to the model that a stage needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def resolve(
    mean_m3s: Floats,
    std_m3s: Floats,
    coefficients: Sequence[Floats],
    residual_std_ratio: Floats,
    past: Sequence[tuple[float, float]],
) -> tuple[Floats, tuple[Floats, ...], Floats]:
    """The base, the coefficients and the scale of ``a = base + Σ coefficients · past inflows + scale · η``.

    Files have coefficients ``φ`` of standardised inflows, ``(a - mean) / std``. Of inflows in m³/s they are
    ``φ · std / std of the lag``, and 0 where the lag's inflow is certain.

    Args:
        mean_m3s: by stage.
        std_m3s: by stage.
        coefficients: by stage, of standardised inflows, for each lag from 1 on.
        residual_std_ratio: by stage, the part of the standard deviation that the past does not explain.
        past: mean and standard deviation of the stages before the first, the latest first.

    >>> mean, std = np.array([100.0, 80.0]), np.array([10.0, 20.0])
    >>> standardised, ratio = [np.array([0.5]), np.array([0.5])], np.array([1.0, 0.5])
    >>> base, coefficients, scale = resolve(mean, std, standardised, ratio, [(90.0, 5.0)])
    >>> base.tolist(), [lags.tolist() for lags in coefficients], scale.tolist()
    ([10.0, -20.0], [[1.0], [1.0]], [10.0, 10.0])
    """
    base = mean_m3s.copy()
    lags: list[Floats] = []
    for stage, standardised in enumerate(coefficients):
        own = np.zeros(len(standardised))
        for lag in range(1, len(standardised) + 1):
            before = stage - lag
            mean, std = (mean_m3s[before], std_m3s[before]) if before >= 0 else past[-before - 1]
            own[lag - 1] = standardised[lag - 1] * std_m3s[stage] / std if std > 0 else 0.0
            base[stage] -= own[lag - 1] * mean
        lags.append(own)
    return base, tuple(lags), std_m3s * residual_std_ratio
