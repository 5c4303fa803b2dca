"""What whole scenarios cost."""

from __future__ import annotations

import numpy as np

from cobre.report._panel import Floats, panel
from cobre.report._source import remembered
from cobre.results import Results


@remembered
def totals(results: Results) -> Floats:
    """The discounted cost of each scenario, what another study's cuts say of its end included.

    Raises:
        ResultsError: there is no simulation.
    """
    costs = panel(results, "costs")
    last = costs.stage == costs.stages - 1

    def add(immediate: Floats, future: Floats, discount: Floats) -> Floats:
        return np.asarray((discount * (immediate + future * last)).sum(axis=1))

    return costs.gather(("immediate_cost", "future_cost", "discount_factor"), add)
