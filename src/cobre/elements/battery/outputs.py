"""Outputs of batteries: their table, cost, bounds and states."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from cobre.elements.battery.data import Battery
from cobre.elements.solved import SolvedStage, ids_of, operative_state, series
from cobre.elements.tables import (
    LAST,
    STATE,
    BoundType,
    CostComponent,
    OutputTable,
    StateGroup,
    Values,
    given,
    keys,
)

COLUMNS = (
    *keys("battery_id", "battery"),
    *given(
        "MW", ("charge_mw", "charging power, at the bus"), ("discharge_mw", "discharging power, at the bus")
    ),
    *given(
        "MWh",
        ("soc_initial_mwh", "stored energy at the beginning of the stage, or of a chronological block"),
        ("soc_final_mwh", "stored energy at its end"),
    ),
    *given("$", ("cycle_cost", "cost of charging and discharging")),
    STATE,
)


def rows(solved: SolvedStage, batteries: Sequence[Battery]) -> Values:
    """Return the values of the table ``batteries``."""
    ids = ids_of(batteries)
    charge, discharge = solved.values("charge", ids), solved.values("discharge", ids)
    initial, final = solved.stored("energy", ids)
    return {
        "battery_id": np.array(ids)[:, None],
        "charge_mw": charge,
        "discharge_mw": discharge,
        "soc_initial_mwh": initial,
        "soc_final_mwh": final,
        "cycle_cost": solved.costs("charge", ids) + solved.costs("discharge", ids),
        "operative_state_code": np.maximum(
            operative_state(charge, series(batteries, "max_charge_mw", solved.number)),
            operative_state(discharge, series(batteries, "max_discharge_mw", solved.number)),
        ),
    }


TABLES = {"batteries": OutputTable(COLUMNS, rows)}

COSTS = (
    CostComponent(
        LAST,
        "battery_cost",
        "charging and discharging of batteries",
        ("charge", "discharge"),
        label="batteries",
    ),
)

BOUNDS = (
    BoundType(1, "storage_max", attrgetter("capacity_mwh")),
    BoundType(6, "generation_min", lambda battery: 0.0 - battery.max_charge_mw),
    BoundType(7, "generation_max", attrgetter("max_discharge_mw")),
)

STATES = {"energy": StateGroup("battery_states", ("battery_id",), "mwh", column="soc_final_mwh")}
