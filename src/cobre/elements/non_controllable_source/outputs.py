"""Outputs of non-controllable sources: their table and the cost of curtailment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.elements.solved import SolvedStage, ids_of, operative_state, series
from cobre.elements.tables import STATE, CostComponent, OutputTable, Values, given, keys

COLUMNS = (
    *keys("non_controllable_id", "source"),
    *given("MW", ("generation_mw", "generation")),
    *given("MWh", ("generation_mwh", "energy generated")),
    *given("MW", ("available_mw", "available generation")),
    *given("MW", ("curtailment_mw", "curtailed generation")),
    *given("MWh", ("curtailment_mwh", "energy curtailed")),
    *given("$", ("curtailment_cost", "cost of curtailment")),
    STATE,
)


def rows(solved: SolvedStage, sources: Sequence[NonControllableSource]) -> Values:
    """Return the values of the table ``non_controllables``."""
    ids, hours = ids_of(sources), solved.stage.hours
    power, available = solved.values("source", ids), solved.uppers("source", ids)
    curtailed = available - power
    price = series(sources, "curtailment_cost_per_mwh", solved.number)
    return {
        "non_controllable_id": np.array(ids)[:, None],
        "generation_mw": power,
        "generation_mwh": power * hours,
        "available_mw": available,
        "curtailment_mw": curtailed,
        "curtailment_mwh": curtailed * hours,
        "curtailment_cost": curtailed * hours * price,
        "operative_state_code": operative_state(power, series(sources, "max_generation_mw", solved.number)),
    }


TABLES = {"non_controllables": OutputTable(COLUMNS, rows)}

#: The column that tells whether two simulations had the same noise.
RANDOM = "available_mw"

COSTS = (
    # The programme counts curtailment from nothing available: what is generated earns. The table counts it
    # from what is available, so its components sum to the cost of the stage and what generating all that
    # is available would have earned.
    CostComponent(
        17,
        "curtailment_cost",
        "curtailed generation of non-controllable sources",
        ("source",),
        label="curtailment",
        from_upper=True,
    ),
)
