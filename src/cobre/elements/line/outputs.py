"""Outputs of transmission lines: their table, cost and bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.line.data import Line
from cobre.elements.solved import SolvedStage, block_series, ids_of, operative_state
from cobre.elements.tables import STATE, BoundType, CostComponent, OutputTable, Values, given, keys

COLUMNS = (
    *keys("line_id", "line"),
    *given(
        "MW",
        ("direct_flow_mw", "flow sent from the source bus"),
        ("reverse_flow_mw", "flow sent from the target bus"),
        ("net_flow_mw", "direct flow minus reverse flow"),
    ),
    *given("MWh", ("net_flow_mwh", "energy of the net flow")),
    *given("MW", ("losses_mw", "transmission losses")),
    *given("MWh", ("losses_mwh", "energy lost")),
    *given("$", ("exchange_cost", "cost of exchange")),
    STATE,
)


def rows(solved: SolvedStage, lines: Sequence[Line]) -> Values:
    """Return the values of the table ``exchanges``."""
    ids, hours = ids_of(lines), solved.stage.hours
    direct, reverse = solved.values("direct", ids), solved.values("reverse", ids)
    lost = np.array([1.0 - line.efficiency for line in lines])[:, None] * (direct + reverse)
    limits = [block_series(lines, name, solved.number, len(hours)) for name in ("direct_mw", "reverse_mw")]
    states = [operative_state(*pair) for pair in zip((direct, reverse), limits, strict=True)]
    return {
        "line_id": np.array(ids)[:, None],
        "direct_flow_mw": direct,
        "reverse_flow_mw": reverse,
        "net_flow_mw": direct - reverse,
        "net_flow_mwh": (direct - reverse) * hours,
        "losses_mw": lost,
        "losses_mwh": lost * hours,
        "exchange_cost": solved.costs("direct", ids) + solved.costs("reverse", ids),
        "operative_state_code": np.maximum(*states),
    }


TABLES = {"exchanges": OutputTable(COLUMNS, rows)}

COSTS = (CostComponent(18, "exchange_cost", "exchange over lines", ("direct", "reverse"), label="exchange"),)

BOUNDS = (  # of the net flow
    BoundType(8, "flow_min", lambda line: [-mw for mw in line.reverse_mw]),
    BoundType(9, "flow_max", lambda line: line.direct_mw),
)
