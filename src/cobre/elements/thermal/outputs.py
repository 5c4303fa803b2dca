"""Outputs of thermal plants: their table, cost and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from cobre.elements.solved import SolvedStage, block_series, ids_of, operative_state
from cobre.elements.tables import (
    STATE,
    BoundType,
    Column,
    CostComponent,
    OutputTable,
    Values,
    given,
    keys,
)
from cobre.elements.thermal.data import Thermal

COLUMNS = (
    *keys("thermal_id", "plant"),
    *given("MW", ("generation_mw", "generation")),
    *given("MWh", ("generation_mwh", "energy generated")),
    *given("$", ("generation_cost", "cost of generation")),
    Column("is_gnl", "bool", "", "true if dispatch is decided in advance; always false"),
    Column("gnl_committed_mw", "float64", "MW", "always null", True),
    Column("gnl_decision_mw", "float64", "MW", "always null", True),
    STATE,
)


def rows(solved: SolvedStage, plants: Sequence[Thermal]) -> Values:
    """Return the values of the table ``thermals``."""
    ids = ids_of(plants)
    power = solved.values("thermal", ids)
    limits = block_series(plants, "max_mw", solved.number, power.shape[-1])
    return {
        "thermal_id": np.array(ids)[:, None],
        "generation_mw": power,
        "generation_mwh": power * solved.stage.hours,
        "generation_cost": solved.costs("thermal", ids),
        "is_gnl": False,
        "gnl_committed_mw": None,
        "gnl_decision_mw": None,
        "operative_state_code": operative_state(power, limits),
    }


TABLES = {"thermals": OutputTable(COLUMNS, rows)}

COSTS = (CostComponent(0, "thermal_cost", "generation of thermal plants", ("thermal",), label="fuel"),)

BOUNDS = (
    BoundType(6, "generation_min", attrgetter("min_mw")),
    BoundType(7, "generation_max", attrgetter("max_mw")),
)
