"""Stage programme of pumping stations: water leaves the source reservoir, power leaves the bus."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.elements.frame import BuildStep, StageFrame, Variable
from cobre.elements.pumping_station.data import PumpingStation


def add_to_stage(frame: StageFrame, stations: Sequence[PumpingStation]) -> None:
    """Add a flow per station and block to the water and power balances; 0 from an absent plant."""
    t = frame.number
    for station in stations:
        is_present = frame.network.is_present(station.source_hydro)
        low, high = (station.min_m3s[t], station.max_m3s[t]) if is_present else (0.0, 0.0)
        for k, column in enumerate(frame.add_per_block(f"pumped:{station.id}", low, high)):
            if is_present:
                frame.water.move(column, k, station.source_hydro, station.target_hydro)
            frame.power[station.bus, k][column] = -station.mw_per_m3s


def _flow(frame: StageFrame, station: PumpingStation, k: int) -> dict[int, float]:
    return {frame.program[f"pumped:{station.id}:{k}"]: 1.0}


def _power(frame: StageFrame, station: PumpingStation, k: int) -> dict[int, float]:
    return {frame.program[f"pumped:{station.id}:{k}"]: station.mw_per_m3s}


STEPS = {BuildStep.WATER: add_to_stage}

VARIABLES = {"pumping_flow": Variable(_flow), "pumping_power": Variable(_power)}
