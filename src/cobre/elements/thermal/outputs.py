"""Outputs of thermal plants: their table, cost, bounds and states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np

from cobre.elements.solved import Cube, SolvedStage, block_series, ids_of, operative_state
from cobre.elements.tables import (
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
from cobre.elements.thermal.data import AdvanceCommitment, Thermal

COLUMNS = (
    *keys("thermal_id", "plant"),
    *given("MW", ("generation_mw", "generation")),
    *given("MWh", ("generation_mwh", "energy generated")),
    *given("$", ("generation_cost", "cost of generation")),
    Column("is_gnl", "bool", "", "true if generation is committed in advance"),
    Column("gnl_committed_mw", "float64", "MW", "committed before for this stage; null unless GNL", True),
    Column(
        "gnl_decision_mw",
        "float64",
        "MW",
        "committed in this stage, for the one ``lag_stages`` later; null unless GNL",
        True,
    ),
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
        "is_gnl": np.array([plant.commitment is not None for plant in plants])[:, None],
        "gnl_committed_mw": _committed(solved, plants, lambda _ahead: ("committed_in", 1)),
        "gnl_decision_mw": _committed(solved, plants, lambda ahead: ("committed", ahead.lag_stages)),
        "operative_state_code": operative_state(power, limits),
    }


def _committed(
    solved: SolvedStage, plants: Sequence[Thermal], place: Callable[[AdvanceCommitment], tuple[str, int]]
) -> Cube:
    """One of the commitments of each plant; NaN of those without."""
    found = np.full((solved.count, len(plants), 1), np.nan)
    for i, plant in enumerate(plants):
        if plant.commitment is not None:
            kind, offset = place(plant.commitment)
            found[:, i] = solved.values(f"{kind}:{plant.id}", (offset,), "stage")[:, 0]
    return found


TABLES = {"thermals": OutputTable(COLUMNS, rows)}

COSTS = (CostComponent(0, "thermal_cost", "generation of thermal plants", ("thermal",), label="fuel"),)

BOUNDS = (
    BoundType(6, "generation_min", attrgetter("min_mw")),
    BoundType(7, "generation_max", attrgetter("max_mw")),
)

STATES = {"committed": StateGroup("gnl_states", ("thermal_id", "stage_offset"), "mw")}
