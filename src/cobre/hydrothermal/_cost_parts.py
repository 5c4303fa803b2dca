"""The cost of a stage, component by component."""

from __future__ import annotations

import numpy as np

from cobre.hydrothermal._solved import Places, Solved
from cobre.lp import Floats, Ints

#: The component that a column's cost belongs to, by the kind of the column.
COMPONENTS = {
    "thermal": "thermal_cost",
    "contract": "contract_cost",
    "deficit": "deficit_cost",
    "excess": "excess_cost",
    "below": "storage_violation_cost",
    "outflow_below": "outflow_violation_below_cost",
    "outflow_above": "outflow_violation_above_cost",
    "turbined_below": "turbined_violation_cost",
    "generation_below": "generation_violation_cost",
    "negative_generation": "generation_violation_cost",
    "evaporation_below": "evaporation_violation_cost",
    "evaporation_above": "evaporation_violation_cost",
    "withdrawal_below": "withdrawal_violation_cost",
    "withdrawal_above": "withdrawal_violation_cost",
    "inflow_slack": "inflow_penalty_cost",
    "short": "generic_violation_cost",
    "over": "generic_violation_cost",
    "spilled": "spillage_cost",
    "diverted": "spillage_cost",
    "turbined": "fpha_turbined_cost",
    "generation": "fpha_turbined_cost",
    "retained_below": "filling_target_cost",
    "filling_below": "filling_target_cost",
    "source": "curtailment_cost",
    "direct": "exchange_cost",
    "reverse": "exchange_cost",
    "pumped": "pumping_cost",
    "future": "future_cost",  # cuts of another study, in the last stage
}

#: What `hydro_violation_cost` is the sum of.
HYDRO_VIOLATIONS = (
    "outflow_violation_below_cost",
    "outflow_violation_above_cost",
    "turbined_violation_cost",
    "generation_violation_cost",
    "evaporation_violation_cost",
    "withdrawal_violation_cost",
)


class CostParts:
    """Which columns of a stage's programme make which component of its cost.

    Args:
        places: of the programme.

    Raises:
        KeyError: a column costs something and belongs to no component.
    """

    def __init__(self, places: Places) -> None:
        self._parts: dict[str, list[int]] = {part: [] for part in COMPONENTS.values()}
        for column in np.flatnonzero(places.costs):
            kind = places.column_names[column].split(":", 1)[0]
            self._parts[COMPONENTS[kind]].append(int(column))

    def of(self, solved: Solved) -> dict[str, Floats]:
        """Return the components.

        The programme counts a source's curtailment from nothing available: what is generated earns. As a
        component it is counted from what is available, so the components sum to the cost of the stage and
        what generating all that is available would have earned.
        """
        parts = {part: _sum(solved, np.array(columns, np.int64)) for part, columns in self._parts.items()}
        for column in self._parts["curtailment_cost"]:
            parts["curtailment_cost"] -= solved.places.costs[column] * solved.upper(column)
        total = np.zeros(solved.count)
        for part in HYDRO_VIOLATIONS:
            total += parts[part]
        return {**parts, "hydro_violation_cost": total}


def _sum(solved: Solved, columns: Ints) -> Floats:
    """The cost of some columns, in their order: a sum by NumPy would depend on the number of trajectories."""
    total = np.zeros(solved.count)
    for column in columns:
        total += solved.places.costs[column] * solved.visit.columns[:, column]
    return total
