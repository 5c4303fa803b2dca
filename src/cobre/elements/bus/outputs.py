"""Outputs of buses: their table with loads, deficits and prices, and their costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.bus.data import Bus
from cobre.elements.solved import SolvedStage, ids_of
from cobre.elements.tables import CostComponent, OutputTable, Values, given, keys

COLUMNS = (
    *keys("bus_id", "bus"),
    *given("MW", ("load_mw", "load")),
    *given("MWh", ("load_mwh", "energy of the load")),
    *given("MW", ("deficit_mw", "unserved load")),
    *given("MWh", ("deficit_mwh", "unserved energy")),
    *given("MW", ("excess_mw", "surplus generation")),
    *given("MWh", ("excess_mwh", "energy of the surplus")),
    *given("$/MWh", ("spot_price", "marginal cost of load")),
)


def rows(solved: SolvedStage, buses: Sequence[Bus]) -> Values:
    """Return the values of the table ``buses``."""
    ids, hours = ids_of(buses), solved.stage.hours
    load, excess = solved.rhs("load", ids), solved.values("excess", ids)
    deficit = np.zeros_like(load)
    for i, bus in enumerate(buses):
        for segment in range(len(bus.deficit)):
            deficit[:, i] += solved.values(f"deficit:{bus.id}", (segment,))[:, 0]
    return {
        "bus_id": np.array(ids)[:, None],
        "load_mw": load,
        "load_mwh": load * hours,
        "deficit_mw": deficit,
        "deficit_mwh": deficit * hours,
        "excess_mw": excess,
        "excess_mwh": excess * hours,
        "spot_price": solved.duals("load", ids) / hours,
    }


TABLES = {"buses": OutputTable(COLUMNS, rows)}

#: The column that tells whether two simulations had the same noise.
RANDOM = "load_mw"

COSTS = (
    CostComponent(2, "deficit_cost", "unserved load", ("deficit",), label="deficit"),
    CostComponent(3, "excess_cost", "surplus generation", ("excess",), label="excess"),
)
