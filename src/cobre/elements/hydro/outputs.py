"""Outputs of hydro plants: their table, past inflows, costs, bounds, states and codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np

from cobre.elements.hydro._operation import rows
from cobre.elements.hydro.data import Hydro
from cobre.elements.solved import SolvedStage
from cobre.elements.tables import (
    STAGE,
    STATE,
    BoundType,
    Column,
    CostComponent,
    OutputTable,
    StateGroup,
    Values,
    given,
    keys,
)

COLUMNS = (
    *keys("hydro_id", "plant"),
    *given(
        "m³/s",
        ("turbined_m3s", "turbined flow"),
        ("spillage_m3s", "spilled flow"),
        ("outflow_m3s", "turbined and spilled flow"),
    ),
    Column("evaporation_m3s", "float64", "m³/s", "evaporated flow; null if it is not modelled", True),
    Column(
        "diverted_inflow_m3s", "float64", "m³/s", "flow diverted here by other plants; null if none can", True
    ),
    Column(
        "diverted_outflow_m3s",
        "float64",
        "m³/s",
        "flow diverted from here; null without a diversion channel",
        True,
    ),
    *given(
        "m³/s",
        ("incremental_inflow_m3s", "natural inflow, before water is added to a negative one"),
        ("inflow_m3s", "total inflow: natural, from upstream, diverted and pumped"),
    ),
    *given(
        "hm³",
        ("storage_initial_hm3", "volume at the beginning of the stage, or of a block in a chronological one"),
        ("storage_final_hm3", "volume at its end"),
    ),
    *given("MW", ("generation_mw", "generation")),
    *given("MWh", ("generation_mwh", "energy generated")),
    Column(
        "productivity_mw_per_m3s", "float64", "MW/(m³/s)", "productivity; null if it is not constant", True
    ),
    *given("$", ("spillage_cost", "cost of spillage")),
    *given("$/hm³", ("water_value_per_hm3", "water value: marginal saving of stored water")),
    Column("storage_binding_code", "int8", "code", "limits that the final volume is at"),
    STATE,
    *given(
        "m³/s",
        ("turbined_slack_m3s", "shortfall of turbined flow below its minimum"),
        ("outflow_slack_below_m3s", "shortfall of outflow below its minimum"),
        ("outflow_slack_above_m3s", "excess of outflow above its maximum"),
    ),
    *given("MW", ("generation_slack_mw", "shortfall of generation below its minimum")),
    *given(
        "hm³",
        ("storage_violation_below_hm3", "shortfall of storage below its minimum"),
        ("filling_target_violation_hm3", "shortfall of storage below the target of the filling"),
    ),
    *given(
        "m³/s",
        ("evaporation_violation_pos_m3s", "evaporation above that of the model"),
        ("evaporation_violation_neg_m3s", "evaporation below that of the model"),
        ("inflow_nonnegativity_slack_m3s", "water added to a negative inflow"),
        ("water_withdrawal_violation_pos_m3s", "withdrawal above its target"),
        ("water_withdrawal_violation_neg_m3s", "withdrawal below its target"),
    ),
)

_LAG_COLUMNS = (
    STAGE,
    Column("hydro_id", "int32", "id", "id of the plant"),
    Column("lag_index", "int32", "id", "lag in stages, or in seasons if those are defined, from 1"),
    *given("m³/s", ("inflow_m3s", "inflow of that stage or season")),
)
_MEAN_COLUMNS = (
    STAGE,
    Column("hydro_id", "int32", "id", "id of the plant"),
    Column("mean_index", "int32", "id", "which of the seasons that have begun, from 1"),
    *given("m³/s", ("inflow_m3s", "part of the mean inflow of the season that is known")),
)


def _lags(plant: Hydro) -> int:
    return plant.inflow.order


def _means(plant: Hydro) -> int:
    return plant.inflow.state_count - plant.inflow.order


def _states(
    name: str, index: str, count: Callable[[Hydro], int]
) -> Callable[[SolvedStage, Sequence[Hydro]], Values]:
    """Return what makes the rows of a table of past inflows that are states."""

    def rows(solved: SolvedStage, plants: Sequence[Hydro]) -> Values:
        cubes = [np.empty((solved.count, 0, 1))]
        ids: list[int] = []
        places: list[int] = []
        for plant in plants:
            numbers = tuple(range(1, count(plant) + 1))
            cubes.append(solved.values(f"past_{name}:{plant.id}", numbers, "stage"))
            ids += [plant.id] * len(numbers)
            places += numbers
        return {
            "hydro_id": np.array(ids, np.int32)[:, None],
            index: np.array(places, np.int32)[:, None],
            "inflow_m3s": np.concatenate(cubes, axis=1),
        }

    return rows


TABLES = {
    "hydros": OutputTable(COLUMNS, rows),
    "inflow_lags": OutputTable(
        _LAG_COLUMNS, _states("inflow", "lag_index", _lags), lambda plants: any(map(_lags, plants))
    ),
    "inflow_means": OutputTable(
        _MEAN_COLUMNS, _states("inflow_mean", "mean_index", _means), lambda plants: any(map(_means, plants))
    ),
}

#: What ``hydro_violation_cost`` is the sum of, and the kinds of columns of each.
_VIOLATIONS = (
    ("outflow_violation_below_cost", "outflow below its minimum", ("outflow_below",)),
    ("outflow_violation_above_cost", "outflow above its maximum", ("outflow_above",)),
    ("turbined_violation_cost", "turbined flow below its minimum", ("turbined_below",)),
    (
        "generation_violation_cost",
        "generation of hydro plants below its minimum",
        ("generation_below", "negative_generation"),
    ),
    (
        "evaporation_violation_cost",
        "evaporation that deviates from that of the model",
        ("evaporation_below", "evaporation_above"),
    ),
    (
        "withdrawal_violation_cost",
        "withdrawals that deviate from their targets",
        ("withdrawal_below", "withdrawal_above"),
    ),
)

#: The column that tells whether two simulations had the same noise.
RANDOM = "incremental_inflow_m3s"

COSTS = (
    CostComponent(
        4, "storage_violation_cost", "storage below its minimum", ("below",), label="storage minimum"
    ),
    CostComponent(
        5,
        "filling_target_cost",
        "storage below the targets of fillings",
        ("retained_below", "filling_below"),
        label="filling",
    ),
    CostComponent(
        6,
        "hydro_violation_cost",
        "sum of the six hydro violations that follow",
        label="hydro limits",
        sum_of=tuple(name for name, _, _ in _VIOLATIONS),
    ),
    *(CostComponent(7 + i, *violation) for i, violation in enumerate(_VIOLATIONS)),
    CostComponent(
        13,
        "inflow_penalty_cost",
        "water added to negative inflows",
        ("inflow_slack",),
        label="negative inflows",
    ),
    CostComponent(
        15, "spillage_cost", "spilled and diverted flow", ("spilled", "diverted"), label="spillage"
    ),
    CostComponent(
        16,
        "fpha_turbined_cost",
        "turbined flow of plants with a piecewise-linear production function",
        ("turbined", "generation"),
        label="turbining",
    ),
)

BOUNDS = tuple(
    BoundType(code, f"{what}_{side}", attrgetter(f"{side}_{what}_{unit}"))
    for code, (what, unit, side) in enumerate(
        (what, unit, side)
        for what, unit in (("storage", "hm3"), ("turbined", "m3s"), ("outflow", "m3s"), ("generation", "mw"))
        for side in ("min", "max")
    )
)

STATES = {
    "storage": StateGroup("storage_states", ("hydro_id",), "hm3", always=True, column="storage_final_hm3"),
    "inflow": StateGroup("inflow_lag_states", ("hydro_id", "lag_index"), "m3s", always=True),
    "inflow_mean": StateGroup("inflow_mean_states", ("hydro_id", "mean_index"), "m3s"),
}

CODES = {
    "storage_binding": {"0": "none", "1": "below_minimum", "2": "above_maximum", "3": "both"},
}
