"""Outputs of hydro plants: their table, past inflows, costs, bounds, states and codes."""

from __future__ import annotations

from collections.abc import Sequence
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
    Column("evaporation_m3s", "float64", "m³/s", "what evaporates; null if that is not modelled", True),
    Column("diverted_inflow_m3s", "float64", "m³/s", "what other plants divert here; null if none can", True),
    Column("diverted_outflow_m3s", "float64", "m³/s", "what is diverted; null without a channel", True),
    *given(
        "m³/s",
        ("incremental_inflow_m3s", "natural inflow, before water is added to a negative one"),
        ("inflow_m3s", "all that arrives: natural, from upstream, diverted and pumped"),
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
    *given("$", ("spillage_cost", "cost of what is spilled")),
    *given("$/hm³", ("water_value_per_hm3", "what one more hm³ in the reservoir would save")),
    Column("storage_binding_code", "int8", "code", "which of its limits the final volume is at"),
    STATE,
    *given(
        "m³/s",
        ("turbined_slack_m3s", "turbined flow missing to the least"),
        ("outflow_slack_below_m3s", "outflow missing to the least"),
        ("outflow_slack_above_m3s", "outflow above the most"),
    ),
    *given("MW", ("generation_slack_mw", "generation missing to the least")),
    *given(
        "hm³",
        ("storage_violation_below_hm3", "volume missing to the least"),
        ("filling_target_violation_hm3", "volume missing to what a filling should reach"),
    ),
    *given(
        "m³/s",
        ("evaporation_violation_pos_m3s", "evaporation above the model's"),
        ("evaporation_violation_neg_m3s", "evaporation below the model's"),
        ("inflow_nonnegativity_slack_m3s", "water added to a negative inflow"),
        ("water_withdrawal_violation_pos_m3s", "withdrawal above what is due"),
        ("water_withdrawal_violation_neg_m3s", "withdrawal below what is due"),
    ),
)

_LAG_COLUMNS = (
    STAGE,
    Column("hydro_id", "int32", "id", "id of the plant"),
    Column("lag_index", "int32", "id", "how many stages ago, from 1"),
    *given("m³/s", ("inflow_m3s", "inflow of that stage")),
)


def lag_rows(solved: SolvedStage, plants: Sequence[Hydro]) -> Values:
    """Return the values of the table ``inflow_lags``: the past inflows that are states."""
    cubes = [np.empty((solved.count, 0, 1))]
    ids: list[int] = []
    lags: list[int] = []
    for plant in plants:
        numbers = tuple(range(1, plant.inflow.order + 1))
        cubes.append(solved.values(f"past_inflow:{plant.id}", numbers, "stage"))
        ids += [plant.id] * plant.inflow.order
        lags += numbers
    return {
        "hydro_id": np.array(ids, np.int32)[:, None],
        "lag_index": np.array(lags, np.int32)[:, None],
        "inflow_m3s": np.concatenate(cubes, axis=1),
    }


TABLES = {
    "hydros": OutputTable(COLUMNS, rows),
    "inflow_lags": OutputTable(
        _LAG_COLUMNS, lag_rows, lambda plants: any(plant.inflow.order for plant in plants)
    ),
}

#: What ``hydro_violation_cost`` is the sum of, and the kinds of columns of each.
_VIOLATIONS = (
    ("outflow_violation_below_cost", "outflows below the least", ("outflow_below",)),
    ("outflow_violation_above_cost", "outflows above the most", ("outflow_above",)),
    ("turbined_violation_cost", "turbined flows below the least", ("turbined_below",)),
    (
        "generation_violation_cost",
        "generation of plants below the least",
        ("generation_below", "negative_generation"),
    ),
    (
        "evaporation_violation_cost",
        "evaporation that differs from the model's",
        ("evaporation_below", "evaporation_above"),
    ),
    (
        "withdrawal_violation_cost",
        "withdrawals that differ from what is due",
        ("withdrawal_below", "withdrawal_above"),
    ),
)

#: The column that tells whether two simulations had the same noise.
RANDOM = "incremental_inflow_m3s"

COSTS = (
    CostComponent(4, "storage_violation_cost", "volumes below the least", ("below",), label="least volumes"),
    CostComponent(
        5,
        "filling_target_cost",
        "volumes below what a filling should reach",
        ("retained_below", "filling_below"),
        label="filling",
    ),
    CostComponent(
        6,
        "hydro_violation_cost",
        "sum of the six that follow",
        label="limits of hydros",
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
        15, "spillage_cost", "water that is spilled or diverted", ("spilled", "diverted"), label="spillage"
    ),
    CostComponent(
        16,
        "fpha_turbined_cost",
        "turbined flow of plants whose production is a function of planes",
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
    "storage": StateGroup("storage_states", ("hydro_id",), "hm3", always=True),
    "inflow": StateGroup("inflow_lag_states", ("hydro_id", "lag_index"), "m3s", always=True),
}

CODES = {
    "storage_binding": {"0": "none", "1": "below_minimum", "2": "above_maximum", "3": "both"},
}
