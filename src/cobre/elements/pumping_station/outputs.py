"""Outputs of pumping stations: their table, cost and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from cobre.elements.pumping_station.data import PumpingStation
from cobre.elements.solved import SolvedStage, ids_of, operative_state, series
from cobre.elements.tables import STATE, BoundType, CostComponent, OutputTable, Values, given, keys

COLUMNS = (
    *keys("pumping_station_id", "station"),
    *given("m³/s", ("pumped_flow_m3s", "pumped flow")),
    *given("hm³", ("pumped_volume_hm3", "volume pumped in the block")),
    *given("MW", ("power_consumption_mw", "power consumed")),
    *given("MWh", ("energy_consumption_mwh", "energy consumed")),
    *given("$", ("pumping_cost", "cost of pumping itself, which is 0")),
    STATE,
)


def rows(solved: SolvedStage, stations: Sequence[PumpingStation]) -> Values:
    """Return the values of the table ``pumping_stations``."""
    ids, stage = ids_of(stations), solved.stage
    flow = solved.values("pumped", ids)
    power = flow * np.array([station.mw_per_m3s for station in stations])[:, None]
    return {
        "pumping_station_id": np.array(ids)[:, None],
        "pumped_flow_m3s": flow,
        "pumped_volume_hm3": flow * stage.hm3_per_m3s,
        "power_consumption_mw": power,
        "energy_consumption_mwh": power * stage.hours,
        "pumping_cost": solved.costs("pumped", ids),
        "operative_state_code": operative_state(flow, series(stations, "max_m3s", solved.number)),
    }


TABLES = {"pumping_stations": OutputTable(COLUMNS, rows)}

COSTS = (
    CostComponent(
        19,
        "pumping_cost",
        "pumping itself, without its power",
        ("pumped",),
        label="pumping",
    ),
)

BOUNDS = (
    BoundType(8, "flow_min", attrgetter("min_m3s")),
    BoundType(9, "flow_max", attrgetter("max_m3s")),
)
