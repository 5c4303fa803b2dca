"""A case whose inflow models are to be fitted to a history that a known model has made."""

from datetime import date
from functools import cache

import numpy as np

from cobre.stochastic import Correlation, openings
from tests.case.valid_case import valid

HISTORY = "scenarios/inflow_history.parquet"
INFLOWS, COEFFICIENTS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
MONTHS = np.arange(12)
#: Of two rivers, by month.
MEANS = np.column_stack([100 + 40 * np.cos(np.pi * MONTHS / 6), 60 + 20 * np.sin(np.pi * MONTHS / 6)])
STDS = 0.25 * MEANS
#: Of standardised inflows, by river, in odd and even months.
PSI = ([(0.6,), (0.4, 0.3)], [(0.5,), (0.7,)])
TOGETHER = 0.6
SCALE = 0.7


@cache
def simulated(years: int) -> tuple[np.ndarray, np.ndarray]:
    """Inflows by month and river, and their standardised values, whose variance the model leaves open."""
    count = 12 * (years + 20)
    together = Correlation({"both": ([0, 1], [[1, TOGETHER], [TOGETHER, 1]])})
    (noise,) = openings(3, [0], [count], 2, together)
    z = np.zeros((count, 2))
    for t in range(2, count):
        for river in range(2):
            z[t, river] = SCALE * noise[t, river]
            for lag, psi in enumerate(PSI[river][t % 2], 1):
                z[t, river] += psi * z[t - lag, river]
    z = z[12 * 20 :]
    months = np.arange(len(z)) % 12
    return MEANS[months] + STDS[months] * z, z


def table(values: np.ndarray, last_year: int = 2023) -> dict:
    """A history with one row for each month, up to the end of a year."""
    first = last_year + 1 - len(values) // 12
    days = [date(first + t // 12, t % 12 + 1, 1) for t in range(len(values))]
    return {
        "hydro_id": [river for river in range(2) for _ in days],
        "date": days * 2,
        "value_m3s": values.T.ravel().tolist(),
    }


def to_fit(years: int = 60) -> dict:
    """The valid case with a history instead of models."""
    files = valid()
    for file in (INFLOWS, COEFFICIENTS, "scenarios/correlation.json"):
        files.pop(file, None)
    files["stages.json"].pop("pre_study_stages")
    files["initial_conditions.json"]["past_inflows"] = []
    files["config.json"]["modeling"] = {"inflow_non_negativity": {"method": "penalty"}}
    files[HISTORY] = table(simulated(years)[0])
    return files
