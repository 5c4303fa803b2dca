"""Outputs of energy contracts: their table, cost, bounds and codes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from cobre.elements.contract.data import Contract
from cobre.elements.solved import SolvedStage, ids_of, operative_state, series
from cobre.elements.tables import STATE, BoundType, CostComponent, OutputTable, Values, given, keys

COLUMNS = (
    *keys("contract_id", "contract"),
    *given("MW", ("power_mw", "power imported; negative for exports")),
    *given("MWh", ("energy_mwh", "energy imported; negative for exports")),
    *given("$/MWh", ("price_per_mwh", "price as in the case; negative is revenue")),
    *given("$", ("total_cost", "cost; negative is revenue")),
    STATE,
)


def rows(solved: SolvedStage, contracts: Sequence[Contract]) -> Values:
    """Return the values of the table ``contracts``."""
    ids = ids_of(contracts)
    power = solved.values("contract", ids)
    signed = power * np.array([1.0 if contract.imports else -1.0 for contract in contracts])[:, None]
    return {
        "contract_id": np.array(ids)[:, None],
        "power_mw": signed,
        "energy_mwh": signed * solved.stage.hours,
        "price_per_mwh": series(contracts, "price_per_mwh", solved.number),
        "total_cost": solved.costs("contract", ids),
        "operative_state_code": operative_state(power, series(contracts, "max_mw", solved.number)),
    }


TABLES = {"contracts": OutputTable(COLUMNS, rows)}

COSTS = (
    CostComponent(
        1,
        "contract_cost",
        "imports of contracts; revenue of exports is negative",
        ("contract",),
        label="contracts",
    ),
)

BOUNDS = (
    BoundType(8, "flow_min", attrgetter("min_mw")),
    BoundType(9, "flow_max", attrgetter("max_mw")),
)

CODES = {"contract_type": {"0": "import", "1": "export"}}
